/* SPDX-License-Identifier: MIT */
/* Stacks.
 *
 * Slabs. Stacks of one size class lie side by side in slabs, each stack with its guard below:
 *
 *     | guard | stack 0 | guard | stack 1 | ...        64 KiB and the class's size, again and again
 *
 * A slab is one mapping, committed page by page as its stacks are touched. Its slots get their guards when first given
 * out, a batch in one system call, and their first pages in another (docs/decisions/0001-stack-slabs.md). That is done
 * without the lock, and the slots count as in use meanwhile. Slabs of a class double in size, from few slots to many,
 * so that a small program maps little and a million stacks take a thousand mappings; where the system refuses a large
 * one, a smaller one is tried.
 *
 * Three places an idle stack can be in, from warm to gone:
 *   1. its owner's cache: no lock, last used first, at most CACHE_MAX of a class
 *   2. the pool, under one lock, on its slab's list. The first WARM_MAX of a class keep their memory, and
 *      four times as many as are in use; beyond that a slab whose idle warm stacks are a quarter of it, and
 *      that nobody came back to for a fifth of a second, gives theirs back
 *   3. unmapped: when all of a slab is idle, except for one such slab a class
 * So idle memory is bounded by the caches, WARM_MAX, one slab, and four times what is in use. Less, or
 * at once, would be dear, because every stack given back interrupts all cpus that run the program: a million tasks that
 * sleep for up to a second and end, while others begin, took twice as long.
 *
 * Homes. All this there is once for each node of memory that workers are bound to, and for stacks in huge pages: a
 * stack that ends elsewhere goes back to its own slab's list, and who takes it from there is near the memory. (What
 * decides where memory is, is who touches it first: a refill does, for those it takes.)
 *
 * Huge pages. A guard in the middle of a huge page would break it up. So stacks that are smaller than one lie side by
 * side without guards, which is said once; larger ones begin and end at its boundaries, with a guard below that has
 * address space of its own.
 *
 * Invariant: a slot is in exactly one of: fresh (index >= slab->fresh), slab->idle, some cache, in use.
 *
 * Rejected: one mapping a stack (65,530 maps at most, two a guarded stack); links inside idle stacks
 * (they would commit a page of a cold one); timers that trim (an idle process makes no system call).
 *
 * Prev: fiber/current.c  Next: fiber/fiber.c */
#include "stack.h"

#include "../base/assert.h"
#include "../base/text.h"
#include "../plat/clock.h"
#include "../plat/thread.h"
#include "../plat/vm.h"
#include "hooks.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CACHE_MAX = 64,        /* idle stacks of a class an owner keeps */
    REFILL_MAX = 32,       /* stacks moved at once between cache and pool; refills grow from 1 to this */
    COMMIT_MIN = 8,        /* a refill of so many new stacks commits their first pages at once */
    WARM_MAX = 256,        /* idle stacks of a class that keep their memory in the pool in any case, */
    WARM_TIMES = 4,        /* or as many as this times those in use */
    SEARCH_MAX = 64,       /* slabs looked at for one to trim */
    SLAB_SLOTS_MIN = 16,   /* of a class's first slab, memory permitting */
    SLAB_SLOTS_MAX = 1024, /* of its later ones */
};
#define TRIM_AGE_NS INT64_C(200000000)
#define SLAB_BYTES_MAX ((size_t)512 << 20) /* fewer slots for large classes */

struct cc__slab {
    struct cc__node node; /* on its class's list while it has idle or fresh slots */
    unsigned cls;
    uint8_t home;
    unsigned slots;
    unsigned fresh;         /* slots from here on were never given out */
    unsigned idle;          /* how many are on the list below */
    unsigned warm;          /* how many of those have memory */
    struct cc__stack *list; /* idle ones, last used first */
    int64_t touched_ns;     /* when one came back last */
    char *base;
    struct cc__stack slot[]; /* records of all */
};

struct stack_class {
    struct cc__list open; /* slabs with idle or fresh slots, fuller ones first */
    unsigned next_slots;  /* of the slab to be made next */
    unsigned spare;       /* slabs all of whose slots are idle or fresh */
    size_t warm;          /* idle warm stacks in all slabs */
    size_t slabs, slots, idle;
    size_t out; /* given out, to callers and their caches */
};

static struct {
    cc__lock lock; /* guards all of this, and all slabs */
    bool said_no_maps, said_no_guards;
    struct stack_class cls[CC__STACK_HOMES][CC__STACK_CLASSES];
} pool = {.lock = CC__LOCK_INIT};

unsigned cc__stack_class(size_t bytes) {
    CC_ASSERT(bytes <= CC__STACK_BYTES_MAX);
    unsigned cls = 0;
    while (cc__stack_class_bytes(cls) < bytes) cls++;
    return cls;
}

size_t cc__stack_class_bytes(unsigned cls) {
    if (cls == CC__STACK_CLASS_192K) return (size_t)192 * 1024;
    return CC__STACK_BYTES_MIN << (cls < CC__STACK_CLASS_192K ? cls : cls - 1);
}

size_t cc__stack_bytes(const struct cc__stack *s) {
    return cc__stack_class_bytes(s->slab->cls);
}

size_t cc__stack_index(const struct cc__stack *s) {
    return (size_t)(s - s->slab->slot);
}

bool cc__stack_lives(const struct cc__stack *s, const struct cc__stack_cache *cache) {
    return s->slab->home == cache->home;
}

/* The size of the pages of a home; 0: they are small. */
static size_t huge_bytes(uint8_t home) {
    return home < CC__STACK_NODES ? 0 : cc__vm_huge_bytes();
}

bool cc__stack_guarded(uint8_t home, unsigned cls) {
    return cc__stack_class_bytes(cls) >= huge_bytes(home);
}

/* From the beginning of a slot to its stack. */
static size_t slab_lead(uint8_t home, unsigned cls) {
    if (!cc__stack_guarded(home, cls)) return 0;
    size_t huge = huge_bytes(home);
    return huge != 0 ? huge : CC__STACK_GUARD_BYTES;
}

static size_t slab_stride(uint8_t home, unsigned cls) {
    return slab_lead(home, cls) + cc__stack_class_bytes(cls);
}

static size_t slab_bytes(const struct cc__slab *b) {
    size_t bytes = b->slots * slab_stride(b->home, b->cls), huge = huge_bytes(b->home);
    return huge == 0 ? bytes : cc__align_up(bytes, huge);
}

static bool slab_all_idle(const struct cc__slab *b) {
    return b->idle == b->fresh;
}

static int slab_map(struct cc__slab *b) {
    void *base = NULL;
    int rc = huge_bytes(b->home) == 0 ? cc__vm_map(&base, slab_bytes(b)) : cc__vm_map_huge(&base, slab_bytes(b));
    b->base = base;
    return rc;
}

/* Map a slab of about that many slots, or fewer. NULL: not even one. */
static struct cc__slab *slab_create(uint8_t home, unsigned cls, unsigned slots) {
    size_t stride = slab_stride(home, cls), huge = huge_bytes(home);
    size_t fit = SLAB_BYTES_MAX / stride;
    if (slots > fit) slots = fit == 0 ? 1 : (unsigned)fit;
    for (; slots > 0; slots /= 2) {
        /* What is left of the last huge page is room for some more. */
        unsigned room = huge == 0 ? slots : (unsigned)(cc__align_up(slots * stride, huge) / stride);
        struct cc__slab *b = calloc(1, sizeof *b + room * sizeof b->slot[0]);
        if (b == NULL) continue;
        b->home = home;
        b->cls = cls;
        b->slots = room;
        if (slab_map(b) == 0) return b;
        free(b);
    }
    return NULL;
}

/* Unmap slabs that were taken off all lists. */
static void slabs_destroy(struct cc__list *doomed) {
    struct cc__node *n;
    while ((n = cc__list_take_first(doomed)) != NULL) {
        struct cc__slab *b = CC__CONTAINER_OF(n, struct cc__slab, node);
        for (unsigned i = 0; i < b->fresh; i++) cc__hooks_stack_end(b->slot[i].valgrind);
        cc__vm_unmap(b->base, slab_bytes(b));
        free(b);
    }
}

static struct stack_class *class_of(uint8_t home, unsigned cls) {
    struct stack_class *c = &pool.cls[home][cls];
    if (c->open.head.next == NULL) { /* first use: statically zero */
        cc__list_init(&c->open);
        c->next_slots = SLAB_SLOTS_MIN;
    }
    return c;
}

/* Whether this is the first time. */
static bool say_first(bool *said) {
    cc__lock_take(&pool.lock);
    bool first = !*said;
    *said = true;
    cc__lock_drop(&pool.lock);
    return first;
}

static CC__COLD void say_no_maps(void) {
    if (cc__vm_guard_kind() == CC__VM_GUARD_LIGHT || !say_first(&pool.said_no_maps)) return;
    char buf[384];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    size_t slots = cc__stack_stats().in_use;
    cc__text_str(&t, "ccrt: out of memory maps for stack guards with about ");
    cc__text_dec(&t, slots);
    cc__text_str(&t, " stacks in use; raise the limit (sysctl vm.max_map_count), or use Linux 6.13 or newer,"
                     " where guards need no maps\n");
    cc__text_print(&t);
}

static CC__COLD void say_no_guards(const struct cc__slab *b) {
    if (!say_first(&pool.said_no_guards)) return;
    char buf[256];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__text_str(&t, "ccrt: stacks of ");
    cc__text_dec(&t, cc__stack_class_bytes(b->cls) / 1024);
    cc__text_str(&t, " KiB in huge pages have no guards: one that overflows damages its neighbour; from ");
    cc__text_dec(&t, huge_bytes(b->home) / 1024);
    cc__text_str(&t, " KiB on they have\n");
    cc__text_print(&t);
}

/* Guards of n slots, the first of which begins there; of how many it were. */
static unsigned slab_guard(const struct cc__slab *b, char *at, unsigned n) {
    size_t lead = slab_lead(b->home, b->cls), stride = slab_stride(b->home, b->cls);
    if (lead == 0) {
        say_no_guards(b);
        return n;
    }
    at += lead - CC__STACK_GUARD_BYTES;
    while (n > 0 && cc__vm_guard_install(at, CC__STACK_GUARD_BYTES, stride, n) != 0) n /= 2;
    if (n == 0) say_no_maps();
    return n;
}

/* Without the lock: guards of n slots side by side, and if so wished their first pages. Of how many it were: fewer than
 * n if the system refuses, and then the lowest. */
static unsigned slab_prepare(struct cc__stack *lowest, unsigned n, bool commit) {
    const struct cc__slab *b = lowest->slab;
    size_t stride = slab_stride(b->home, b->cls), page = cc__vm_page_bytes();
    char *at = b->base + cc__stack_index(lowest) * stride;
    n = slab_guard(b, at, n);
    if (commit && n >= COMMIT_MIN) cc__vm_commit(at + stride - page, page, stride, n);
    for (unsigned i = 0; i < n; i++) lowest[i].guarded = true;
    return n;
}

/* How many of the first n of a list are not prepared and lie side by side, each below the one before: new ones do. */
static unsigned count_new(const struct cc__stack *s, unsigned n) {
    unsigned count = 1;
    for (; count < n && s->next == s - 1 && !s->next->guarded; count++) s = s->next;
    return count;
}

/* Without the lock: prepare those of the first n of a list that are not. Returns those that the system refused, which
 * are no longer on it. */
static struct cc__stack *prepare_all(struct cc__stack **list, unsigned n, bool commit) {
    struct cc__stack *refused = NULL;
    while (n > 0) {
        struct cc__stack *s = *list;
        unsigned count = s->guarded ? 1 : count_new(s, n);
        unsigned ready = s->guarded ? 1 : slab_prepare(s - (count - 1), count, commit);
        for (unsigned i = ready; i < count; i++) {
            s = *list;
            *list = s->next;
            s->next = refused;
            refused = s;
        }
        for (unsigned i = 0; i < ready; i++) list = &(*list)->next;
        n -= count;
    }
    return refused;
}

/* Put the next n fresh slots of a slab on the caller's list. */
static void slab_open_fresh(struct cc__slab *b, unsigned n, struct cc__stack **list) {
    size_t stride = slab_stride(b->home, b->cls), lead = slab_lead(b->home, b->cls);
    for (unsigned i = 0; i < n; i++) {
        struct cc__stack *s = &b->slot[b->fresh];
        s->slab = b;
        s->lo = b->base + b->fresh++ * stride + lead;
        s->valgrind = cc__hooks_stack_begin(s->lo, s->lo + cc__stack_class_bytes(b->cls));
        s->next = *list;
        *list = s;
    }
}

/* Take up to n stacks of one slab that has some. */
static unsigned slab_take(struct stack_class *c, struct cc__slab *b, unsigned n, struct cc__stack **list) {
    bool was_spare = slab_all_idle(b);
    unsigned got = 0;
    for (; got < n && b->list != NULL; got++) {
        struct cc__stack *s = b->list;
        b->list = s->next;
        b->idle--;
        c->idle--;
        if (s->warm) b->warm--, c->warm--;
        s->next = *list;
        *list = s;
    }
    unsigned fresh = b->slots - b->fresh;
    if (fresh > n - got) fresh = n - got;
    slab_open_fresh(b, fresh, list);
    got += fresh;
    if (b->idle == 0 && b->fresh == b->slots) cc__list_remove(&b->node);
    if (was_spare && !slab_all_idle(b)) c->spare--;
    c->out += got;
    return got;
}

static void pool_put(struct cc__stack *list);

static int pool_refill(struct cc__stack_cache *cache, unsigned cls) {
    cc__lock_take(&pool.lock);
    struct stack_class *c = class_of(cache->home, cls);
    struct cc__node *n = cc__list_first(&c->open);
    if (n == NULL) {
        struct cc__slab *b = slab_create(cache->home, cls, c->next_slots);
        if (b != NULL) {
            if (c->next_slots < SLAB_SLOTS_MAX) c->next_slots *= 2;
            c->slabs++;
            c->slots += b->slots;
            c->spare++;
            n = &b->node;
            cc__list_append(&c->open, n);
        }
    }
    unsigned got = 0, want = cache->batch[cls] * 2u;
    if (want == 0) want = 1;
    if (want > REFILL_MAX) want = REFILL_MAX;
    cache->batch[cls] = (uint8_t)want;
    if (n != NULL) got = slab_take(c, CC__CONTAINER_OF(n, struct cc__slab, node), want, &cache->idle[cls]);
    cc__lock_drop(&pool.lock);
    struct cc__stack *refused = prepare_all(&cache->idle[cls], got, !cache->crowded);
    for (struct cc__stack *s = refused; s != NULL; s = s->next) got--;
    pool_put(refused);
    cache->count[cls] = (uint8_t)(cache->count[cls] + got);
    return got > 0 ? 0 : -ENOMEM;
}

int cc__stack_get(struct cc__stack_cache *cache, unsigned cls, struct cc__stack **out) {
    if (cache->idle[cls] == NULL) {
        int rc = pool_refill(cache, cls);
        if (rc != 0) return rc;
    }
    struct cc__stack *s = cache->idle[cls];
    cache->idle[cls] = s->next;
    cache->count[cls]--;
    s->next = NULL;
    *out = s;
    return 0;
}

/* One stack comes back to its slab. */
static void slab_put(struct stack_class *c, struct cc__stack *s, struct cc__list *doomed) {
    struct cc__slab *b = s->slab;
    if (!cc__node_linked(&b->node)) cc__list_prepend(&c->open, &b->node);
    s->next = b->list;
    b->list = s;
    b->idle++;
    c->idle++;
    c->out--;
    if (s->warm) b->warm++, c->warm++;
    if (!slab_all_idle(b)) return;
    cc__list_remove(&b->node);
    if (c->spare > 0) {
        c->slabs--;
        c->slots -= b->slots;
        c->idle -= b->idle;
        c->warm -= b->warm;
        cc__list_append(doomed, &b->node);
    } else {
        c->spare++;
        cc__list_append(&c->open, &b->node); /* the last to be taken from */
    }
}

/* Take the idle warm stacks of a slab off its list, give their memory back without the lock, and put
 * them back cold. Meanwhile they count as in use, so the slab stays. */
static void slab_trim(struct stack_class *c, struct cc__slab *b, struct cc__list *doomed) {
    struct cc__stack *cold = NULL, *keep = NULL, *s;
    bool was_spare = slab_all_idle(b);
    while ((s = b->list) != NULL) {
        b->list = s->next;
        struct cc__stack **to = s->warm ? &cold : &keep;
        s->next = *to;
        *to = s;
    }
    b->list = keep;
    b->idle -= b->warm;
    c->idle -= b->warm;
    c->out += b->warm;
    c->warm -= b->warm;
    b->warm = 0;
    if (was_spare && !slab_all_idle(b)) c->spare--;
    if (b->idle == 0 && b->fresh == b->slots) cc__list_remove(&b->node);

    cc__lock_drop(&pool.lock);
    for (s = cold; s != NULL; s = s->next) {
        cc__vm_discard(s->lo, cc__stack_class_bytes(b->cls));
        s->warm = false;
    }
    cc__lock_take(&pool.lock);
    while ((s = cold) != NULL) {
        cold = s->next;
        slab_put(c, s, doomed);
    }
}

static bool slab_holds_much(const struct cc__slab *b) {
    return b->warm * 4 >= b->slots;
}

/* If there is plenty, trim a slab that holds much and that no stack has come back to for a while: when many stacks end
 * one after the other, slabs become idle as a whole, and are unmapped at once for the price of one stack. */
static void pool_trim(struct stack_class *c, int64_t now_ns, struct cc__list *doomed) {
    if (c->warm <= WARM_MAX || c->warm <= WARM_TIMES * c->out) return;
    struct cc__node *n = cc__list_first(&c->open);
    for (int i = 0; n != NULL && i < SEARCH_MAX; n = cc__list_next(&c->open, n), i++) {
        struct cc__slab *b = CC__CONTAINER_OF(n, struct cc__slab, node);
        if (!slab_holds_much(b) || now_ns - b->touched_ns < TRIM_AGE_NS) continue;
        slab_trim(c, b, doomed);
        return;
    }
}

static void pool_put(struct cc__stack *list) {
    struct cc__list doomed;
    cc__list_init(&doomed);
    if (list == NULL) return;
    int64_t now = cc__now_ns();
    cc__lock_take(&pool.lock);
    struct stack_class *c = class_of(list->slab->home, list->slab->cls); /* of all of them */
    while (list != NULL) {
        struct cc__stack *s = list;
        list = s->next;
        s->slab->touched_ns = now;
        slab_put(c, s, &doomed);
    }
    pool_trim(c, now, &doomed);
    cc__lock_drop(&pool.lock);
    slabs_destroy(&doomed);
}

/* Keep the first `keep` of a cache's idle stacks, the warmest. The rest goes, longest idle first, so that
 * stacks which ended in the order they were made come back to their slabs in that order. */
static void cache_shed(struct cc__stack_cache *cache, unsigned cls, unsigned keep) {
    struct cc__stack **cut = &cache->idle[cls], *oldest_first = NULL;
    for (unsigned i = 0; i < keep; i++) cut = &(*cut)->next;
    struct cc__stack *rest = *cut;
    *cut = NULL;
    cache->count[cls] = (uint8_t)keep;
    while (rest != NULL) {
        struct cc__stack *next = rest->next;
        rest->next = oldest_first;
        oldest_first = rest;
        rest = next;
    }
    pool_put(oldest_first);
}

void cc__stack_put(struct cc__stack_cache *cache, struct cc__stack *s) {
    unsigned cls = s->slab->cls;
    if (CC__UNLIKELY(!cc__stack_lives(s, cache))) {
        s->next = NULL;
        pool_put(s);
        return;
    }
    s->next = cache->idle[cls];
    cache->idle[cls] = s;
    if (++cache->count[cls] > CACHE_MAX) cache_shed(cache, cls, CACHE_MAX / 2);
}

void cc__stack_cache_shrink(struct cc__stack_cache *cache, unsigned keep) {
    for (unsigned cls = 0; cls < CC__STACK_CLASSES; cls++)
        if (cache->count[cls] > keep) cache_shed(cache, cls, keep);
}

static struct cc__slab *class_find_warm(struct stack_class *c) {
    struct cc__node *n = cc__list_first(&c->open);
    for (; n != NULL; n = cc__list_next(&c->open, n)) {
        struct cc__slab *b = CC__CONTAINER_OF(n, struct cc__slab, node);
        if (b->warm > 0) return b;
    }
    return NULL;
}

void cc__stack_trim(void) {
    struct cc__list doomed;
    cc__list_init(&doomed);
    cc__lock_take(&pool.lock);
    for (unsigned i = 0; i < CC__STACK_HOMES * CC__STACK_CLASSES; i++) {
        struct stack_class *c = class_of((uint8_t)(i / CC__STACK_CLASSES), i % CC__STACK_CLASSES);
        struct cc__slab *b;
        while ((b = class_find_warm(c)) != NULL) slab_trim(c, b, &doomed);
    }
    cc__lock_drop(&pool.lock);
    slabs_destroy(&doomed);
}

struct cc__stack_stats cc__stack_stats(void) {
    struct cc__stack_stats st = {0};
    cc__lock_take(&pool.lock);
    for (unsigned i = 0; i < CC__STACK_HOMES * CC__STACK_CLASSES; i++) {
        struct stack_class *c = class_of((uint8_t)(i / CC__STACK_CLASSES), i % CC__STACK_CLASSES);
        struct cc__node *n = cc__list_first(&c->open);
        size_t fresh = 0;
        for (; n != NULL; n = cc__list_next(&c->open, n)) {
            struct cc__slab *b = CC__CONTAINER_OF(n, struct cc__slab, node);
            fresh += b->slots - b->fresh;
        }
        st.slabs += c->slabs;
        st.slots += c->slots;
        st.in_use += c->slots - c->idle - fresh;
        st.idle_warm += c->warm;
    }
    cc__lock_drop(&pool.lock);
    return st;
}
