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
    SLAB_BYTES = 192 * 1024, /* 1024 records */
    CACHE_MAX = 256,
    MOVE = 128, /* records moved at once between cache and pool */
};

static struct {
    cc__lock lock;
    struct cc__task *free; /* guarded by lock */
} pool = {.lock = CC__LOCK_INIT};

static bool pool_grow(void) {
    void *at;
    if (cc__vm_map(&at, SLAB_BYTES) != 0) return false;
    struct cc__task *t = at;
    for (size_t i = SLAB_BYTES / sizeof *t; i-- > 0;) {
        t[i].next = pool.free;
        pool.free = &t[i];
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
    t->priority = 0;
    t->resumed = false;
    t->stack_class = 0;
    t->serial = 0;
    t->name = NULL;
    t->scope = NULL;
    t->nursery = NULL;
    t->older = t->younger = NULL;
    t->body = NULL;
    t->future = NULL;
    t->heap_args = NULL;
    t->label = NULL;
    CC_ASSERT(t->joiners.first == NULL);
    CC_ASSERT((cc__load_relaxed(&t->control) & (CC__CONTROL_GENERATION - 1)) == CC__IDLE);
}

struct cc__task *cc__task_alloc(struct cc__task_cache *cache) {
    if (cache->free == NULL) cache_refill(cache);
    struct cc__task *t = cache->free;
    if (t == NULL) return NULL;
    cache->free = t->next;
    cache->count--;
    record_reset(t);
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
    CC_ASSERT(t->joiners.first == NULL);
    cc__state_free(t);
    if (cc__task_generation(cc__load_relaxed(&t->control)) == UINT32_MAX) return; /* worn out */
    t->next = cache->free;
    cache->free = t;
    if (++cache->count > CACHE_MAX) cache_shed(cache, MOVE);
}

void cc__task_cache_drain(struct cc__task_cache *cache) {
    if (cache->count > 0) cache_shed(cache, cache->count);
}
