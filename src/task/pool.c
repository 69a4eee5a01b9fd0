/* SPDX-License-Identifier: MIT */
/* Task records: cut from slabs, kept by owners in small caches, shared through one locked list, and never unmapped: a
 * stale handle may look at one at any time.
 *
 * Between caches and the pool they move as chains of up to MOVE, by one pointer, so that the lock is held for a few
 * instructions. A cache has two chains, one in use and one full, so that an owner at the edge of one does not move it
 * to and fro.
 *
 * Records that one worker fills and another runs come back in the other's cache, and a chain of pointers cannot be
 * fetched ahead: so a free record in a cache also points to the one that will be taken AHEAD records later. A hint: it
 * may be out of date, but then it still points to a record.
 *
 * A record that is freed keeps its control word (the generation goes on), its outcome word (the epoch goes on) and its
 * joiners (marked as released); everything else is reset when it is taken, by one function. One whose generation would
 * wrap is left out for good.
 *
 * Prev: task/wait.c  Next: task/local.c */
#include "../base/assert.h"
#include "../fiber/hooks.h"
#include "../plat/thread.h"
#include "../plat/vm.h"
#include "task.h"

#include <string.h>

enum {
    SLAB_RECORDS = 1023, /* and one more for the slab's own words: 192 KiB */
    MOVE = 64,           /* records in a chain */
    AHEAD = CC__TASK_AHEAD,
};

struct slab {
    struct slab *next;
    size_t cut; /* records given out so far; the rest has never been touched */
    struct cc__task record[SLAB_RECORDS] __attribute__((aligned(CC__CACHE_LINE)));
};

/* A chain is linked by `next`; chains, by the `older` of their first, whose `serial` is their length. */
static struct {
    cc__lock lock;
    struct cc__task *chains; /* guarded by lock */
    struct cc__task *loose;  /* single ones; the same */
    struct slab *slabs;      /* all there ever were, the one to cut from first; the same */
} records = {.lock = CC__LOCK_INIT};

/* With the lock: a chain of new records. NULL: no memory. */
static struct cc__task *cut_chain(void) {
    struct cc__task *chain = NULL;
    uint32_t n = 0;
    struct slab *s = records.slabs;
    if (s == NULL || s->cut == SLAB_RECORDS) {
        void *at;
        if (cc__vm_map(&at, cc__align_up(sizeof *s, cc__vm_page_bytes())) != 0) return NULL;
        s = at;
        cc__hooks_memory(s, sizeof *s);
        s->next = records.slabs;
        records.slabs = s;
    }
    do {
        s->record[s->cut].next = chain;
        cc__task_release(&s->record[s->cut]);
        chain = &s->record[s->cut++];
    } while (++n < MOVE && s->cut < SLAB_RECORDS);
    chain->serial = n;
    return chain;
}

/* A chain for an empty cache. */
static struct cc__task *chain_take(void) {
    cc__lock_take(&records.lock);
    struct cc__task *chain = records.chains;
    if (chain != NULL)
        records.chains = chain->older;
    else
        chain = cut_chain();
    cc__lock_drop(&records.lock);
    return chain;
}

static void chain_give(struct cc__task *chain, uint32_t length) {
    chain->serial = length;
    cc__lock_take(&records.lock);
    chain->older = records.chains;
    records.chains = chain;
    cc__lock_drop(&records.lock);
}

/* One, for who has no cache. */
static struct cc__task *loose_take(void) {
    cc__lock_take(&records.lock);
    if (records.loose == NULL && records.chains != NULL) {
        records.loose = records.chains;
        records.chains = records.loose->older;
    }
    struct cc__task *t = records.loose != NULL ? records.loose : cut_chain();
    if (t != NULL) records.loose = t->next;
    cc__lock_drop(&records.lock);
    return t;
}

static void loose_give(struct cc__task *t) {
    cc__lock_take(&records.lock);
    t->next = records.loose;
    records.loose = t;
    cc__lock_drop(&records.lock);
}

/* The one place where a record is reset: all but the words that outlive its tasks. What bits say is in the third line
 * is not there. */
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
    t->has_name = t->has_heap = t->has_future = t->has_locals = 0;
    t->no_handle = 0;
    t->counts_out = 0;
    t->listed = 0;
    t->is_fork = 0;
    t->scope = NULL;
    t->nursery = NULL;
    t->site = NULL;
    t->body = NULL;
    cc__state_begin(t);
}

void cc__task_hold(struct cc__task *t) {
    CC_ASSERT(t->joiners.first == NULL);
    /* [FN1] release: who finds the mark clear sees the new generation, which was set before. */
    cc__store_release(&t->joiners.mark, 0);
}

void cc__task_release(struct cc__task *t) {
    cc__store_relaxed(&t->joiners.mark, CC__RELEASED);
}

static struct cc__task *cache_take(struct cc__task_cache *cache) {
    if (CC__UNLIKELY(cache->free == NULL)) {
        cache->free = cache->full != NULL ? cache->full : chain_take();
        cache->full = NULL;
        if (cache->free == NULL) return NULL;
        cache->count = cache->free->serial;
    }
    struct cc__task *t = cache->free;
    cache->free = t->next;
    cache->count--;
    uintptr_t ahead = (uintptr_t)t->value; /* all tasks write its first two lines */
    cc__prefetch_to_write(ahead);
    cc__prefetch_to_write(ahead + CC__CACHE_LINE);
    return t;
}

struct cc__task *cc__task_alloc(struct cc__task_cache *cache) {
    struct cc__task *t = cache == NULL ? loose_take() : cache_take(cache);
    if (t != NULL) record_reset(t);
    return t;
}

void cc__task_free(struct cc__task_cache *cache, struct cc__task *t) {
    CC_ASSERT(t->joiners.first == NULL && cc__load_relaxed(&t->joiners.mark) == CC__RELEASED && !t->has_locals);
    cc__state_free(t);
    if (cc__task_generation(cc__load_relaxed(&t->control)) == UINT32_MAX) return; /* worn out */
    if (cache == NULL) {
        loose_give(t);
        return;
    }
    t->next = cache->free;
    t->value = cache->recent[cache->count % AHEAD];
    cache->recent[cache->count % AHEAD] = t;
    cache->free = t;
    if (CC__LIKELY(++cache->count < MOVE)) return;
    if (cache->full != NULL) chain_give(cache->full, MOVE);
    cache->full = cache->free;
    cache->full->serial = MOVE;
    cache->free = NULL;
    cache->count = 0;
}

void cc__task_cache_drain(struct cc__task_cache *cache) {
    if (cache->full != NULL) chain_give(cache->full, MOVE);
    if (cache->free != NULL) chain_give(cache->free, cache->count);
    *cache = (struct cc__task_cache){0};
}

/* ---- all of them, for reports and for the end of a runtime ---- */

void cc__task_each(void (*fn)(struct cc__task *t, void *arg), void *arg) {
    cc__lock_take(&records.lock);
    struct slab *slabs = records.slabs; /* they are never unmapped, and new ones come in front */
    cc__lock_drop(&records.lock);
    for (struct slab *s = slabs; s != NULL; s = s->next)
        for (size_t i = 0; i < SLAB_RECORDS; i++) fn(&s->record[i], arg);
}
