/* SPDX-License-Identifier: MIT */
/* Stacks: memory for fibers, guarded, committed on first touch, kept warm and given back.
 *
 * Prev: fiber/current.h  Next: fiber/fiber.h */
#ifndef CC__FIBER_STACK_H
#define CC__FIBER_STACK_H

#include "../base/base.h"
#include "../base/list.h"

/* Sizes are powers of two from 16 KiB to 1 GiB, and 192 KiB, which with its guard is 256; each has a class. */
enum { CC__STACK_CLASSES = 18, CC__STACK_CLASS_192K = 4 };
#define CC__STACK_BYTES_MIN ((size_t)16 * 1024)
#define CC__STACK_BYTES_MAX (CC__STACK_BYTES_MIN << (CC__STACK_CLASSES - 2))

/* Below every stack; no frame up to this size can step over it. */
#define CC__STACK_GUARD_BYTES ((size_t)64 * 1024)

/* Where stacks belong: stacks of different homes are not mixed. Of each node of memory, from 1 on (many nodes share
 * some), so that who runs there finds stacks that were first touched there; 0 is anywhere. In huge pages, or not. */
enum { CC__STACK_NODES = 9, CC__STACK_HOMES = 2 * CC__STACK_NODES };
static inline uint8_t cc__stack_home(unsigned node, bool huge) {
    if (node >= CC__STACK_NODES) node = 1 + (node - 1) % (CC__STACK_NODES - 1);
    return (uint8_t)(node + (huge ? CC__STACK_NODES : 0));
}

/* One stack, in use or idle. Its record never moves and outlives its use. */
struct cc__stack {
    struct cc__stack *next; /* while idle */
    struct cc__slab *slab;
    char *lo;          /* lowest usable byte; the guard is below */
    unsigned valgrind; /* an id */
    bool warm;         /* has been used since its memory was last given back */
    bool guarded;      /* nothing is left to do for its guard */
};

/* An owner's own few idle stacks: no lock, last used first. Zero is an empty one. */
struct cc__stack_cache {
    struct cc__stack *idle[CC__STACK_CLASSES];
    uint8_t count[CC__STACK_CLASSES];
    uint8_t batch[CC__STACK_CLASSES]; /* how many the last refill asked for */
    uint8_t home;                     /* of all of them */
    bool crowded; /* others want new stacks at the same time: the first pages are left to whoever touches them */
};

/* The class whose stacks hold at least `bytes`; bytes is at most CC__STACK_BYTES_MAX. */
unsigned cc__stack_class(size_t bytes);
size_t cc__stack_class_bytes(unsigned cls);

size_t cc__stack_bytes(const struct cc__stack *s);
/* Which stack of its slab it is: spreads what lies at the tops over the cache. */
size_t cc__stack_index(const struct cc__stack *s);

bool cc__stack_lives(const struct cc__stack *s, const struct cc__stack_cache *cache); /* whether that is its home */
/* Whether stacks of a class and home have guards: those in huge pages that are smaller than such a page have none. */
bool cc__stack_guarded(uint8_t home, unsigned cls);

/* Take a stack of a class.
 *   Returns    0; -ENOMEM: also when the kernel allows no more maps (then stderr says so, once) */
int cc__stack_get(struct cc__stack_cache *cache, unsigned cls, struct cc__stack **out);
/* Give it back: to the cache, and half a full cache to the others; one of another home to those who live there. */
void cc__stack_put(struct cc__stack_cache *cache, struct cc__stack *s);
/* Give all but `keep` of each class back: 0 before the cache goes, few when its owner has nothing to run. */
void cc__stack_cache_shrink(struct cc__stack_cache *cache, unsigned keep);

/* Return the memory of all idle stacks that are in no owner's cache. */
void cc__stack_trim(void);

struct cc__stack_stats {
    size_t slabs;     /* mapped */
    size_t slots;     /* stacks they have room for */
    size_t in_use;    /* given out, those in owners' caches included */
    size_t idle_warm; /* idle in the pool, memory committed */
};
struct cc__stack_stats cc__stack_stats(void);

#endif /* CC__FIBER_STACK_H */
