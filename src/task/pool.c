/* SPDX-License-Identifier: MIT */
/* Task records: made by the slab, kept by owners in small caches, shared through one locked list, and never
 * unmapped: a stale handle may look at one at any time.
 *
 * A record that is freed keeps its control word (the generation goes on) and its outcome word (the epoch goes
 * on); everything else is reset when it is taken, by one function. One whose generation would wrap is left
 * out for good.
 *
 * Prev: task/wait.c  Next: driver/timer.c */
#include "../base/assert.h"
#include "../plat/thread.h"
#include "../plat/vm.h"
#include "task.h"

#include <string.h>

enum {
    SLAB_RECORDS = 1023, /* and one more for the slab's own words: 192 KiB */
    CACHE_MAX = 256,
    MOVE = 128, /* records moved at once between cache and pool */
};

struct slab {
    struct slab *next;
    struct cc__task record[SLAB_RECORDS];
};

static struct {
    cc__lock lock;
    struct cc__task *free; /* guarded by lock */
    struct slab *slabs;    /* all there ever were; the same */
} pool = {.lock = CC__LOCK_INIT};

static bool pool_grow(void) {
    void *at;
    if (cc__vm_map(&at, sizeof(struct slab)) != 0) return false;
    struct slab *s = at;
    s->next = pool.slabs;
    pool.slabs = s;
    for (size_t i = SLAB_RECORDS; i-- > 0;) {
        s->record[i].next = pool.free;
        pool.free = &s->record[i];
    }
    return true;
}

static void cache_refill(struct cc__task_cache *cache) {
    cc__lock_take(&pool.lock);
    for (unsigned n = 0; n < MOVE; n++) {
        if (pool.free == NULL && !pool_grow()) break;
        struct cc__task *t = pool.free;
        pool.free = t->next;
        t->next = cache->free;
        cache->free = t;
        cache->count++;
    }
    cc__lock_drop(&pool.lock);
}

/* The one place where a record is reset: all but the words that outlive its tasks. */
static void record_reset(struct cc__task *t) {
    t->next = NULL;
    t->fiber = NULL;
    t->fn = NULL;
    t->value = NULL;
    t->runtime = NULL;
    t->serial = 0;
    t->pinned = 0;
    t->stack_class = 0;
    t->priority = 0;
    t->has_heap = 0;
    t->no_handle = 0;
    t->name = NULL;
    t->scope = NULL;
    t->nursery = NULL;
    t->older = t->younger = NULL;
    t->body = NULL;
    t->future = NULL;
    t->site = NULL;
    t->locals = NULL;
    CC_ASSERT(t->joiners.first == NULL);
    /* [FN1] release: who finds the mark clear sees the new generation, which was set before. */
    cc__store_release(&t->joiners.mark, 0);
    cc__state_begin(t);
}

/* One from the pool itself, for who has no cache. */
static struct cc__task *pool_take(void) {
    cc__lock_take(&pool.lock);
    struct cc__task *t = pool.free != NULL || pool_grow() ? pool.free : NULL;
    if (t != NULL) pool.free = t->next;
    cc__lock_drop(&pool.lock);
    return t;
}

struct cc__task *cc__task_alloc(struct cc__task_cache *cache) {
    struct cc__task *t;
    if (cache == NULL) {
        t = pool_take();
    } else {
        if (cache->free == NULL) cache_refill(cache);
        t = cache->free;
        if (t != NULL) cache->free = t->next;
        cache->count -= t != NULL;
    }
    if (t != NULL) record_reset(t);
    return t;
}

/* Give the first n of a cache to the pool. */
static void cache_shed(struct cc__task_cache *cache, unsigned n) {
    cc__lock_take(&pool.lock);
    for (; n > 0 && cache->free != NULL; n--) {
        struct cc__task *t = cache->free;
        cache->free = t->next;
        cache->count--;
        t->next = pool.free;
        pool.free = t;
    }
    cc__lock_drop(&pool.lock);
}

void cc__task_free(struct cc__task_cache *cache, struct cc__task *t) {
    CC_ASSERT(t->joiners.first == NULL && t->locals == NULL);
    cc__state_free(t);
    if (cc__task_generation(cc__load_relaxed(&t->control)) == UINT32_MAX) return; /* worn out */
    struct cc__task_cache none = {0};
    struct cc__task_cache *to = cache != NULL ? cache : &none;
    t->next = to->free;
    to->free = t;
    to->count++;
    if (cache == NULL)
        cache_shed(to, 1);
    else if (cache->count > CACHE_MAX)
        cache_shed(cache, MOVE);
}

void cc__task_cache_drain(struct cc__task_cache *cache) {
    if (cache->count > 0) cache_shed(cache, cache->count);
}

/* ---- all of them, for reports and for the end of a runtime ---- */

void cc__task_each(void (*fn)(struct cc__task *t, void *arg), void *arg) {
    cc__lock_take(&pool.lock);
    struct slab *slabs = pool.slabs; /* they are never unmapped, and new ones come in front */
    cc__lock_drop(&pool.lock);
    for (struct slab *s = slabs; s != NULL; s = s->next)
        for (size_t i = 0; i < SLAB_RECORDS; i++) fn(&s->record[i], arg);
}
