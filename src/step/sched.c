/* SPDX-License-Identifier: MIT */
/* cc_sched: first-class schedulers, stepped by their owner.
 *
 * A strand is one pushed function: a 64-byte record with no stack until it first runs. Strands that can
 * run stand in one queue, in the order of their pushes and reschedules; that is all the scheduling.
 *
 * Who switches to whom. While the owner is in cc_sched_run(), a strand that reschedules switches
 * straight to the next one: half the switches of going through the owner. In cc_sched_next() it goes
 * home to the owner, which is `home` in both cases. A strand that ends hands its stack to the next one
 * that has none yet, without any switch; else it goes home, where its stack is put away (it cannot put
 * away the stack it stands on).
 *
 * Invariants: every strand that is alive and not running is in `ready`. `home` is set exactly while the
 * owner is inside next or run. Only code in place (see sched_in_place) touches a scheduler, so there is
 * nothing to lock; a handle is checked by its serial against a record that stays mapped as long as the
 * scheduler.
 *
 * Rejected: binding stacks at push (a million waiting strands would commit a million pages); a switch
 * home at every reschedule (7 ns more); recording the owner's thread id (a fiber that owns a scheduler
 * may change threads).
 *
 * Prev: fiber/overflow.c */
#include <ccrt/sched.h>

#include "../base/assert.h"
#include "../base/list.h"
#include "../fiber/fiber.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#ifndef CC_FIBER_STACK_SIZE
#define CC_FIBER_STACK_SIZE 196608
#endif
_Static_assert(CC_FIBER_STACK_SIZE > 0 && CC_FIBER_STACK_SIZE <= CC_STACK_BYTES_MAX,
               "CC_FIBER_STACK_SIZE is out of range");

enum strand_state { STRAND_FREE, STRAND_ALIVE, STRAND_ENDED };

struct cc__strand {
    struct cc__link link;    /* in ready, or on the free list */
    struct cc__fiber *fiber; /* NULL before the first run and after the end */
    cc_sched *sched;
    void *(*fn)(void *);
    void *value; /* argument, then result */
    char *name;  /* own copy, or NULL */
    uint64_t serial;
    uint32_t used; /* stack bytes at the end, if measured */
    uint8_t cls;   /* of its stack */
    uint8_t flags; /* CC_FIBER_* */
    uint8_t state;
    bool kept; /* somebody holds a handle: the record stays until the result is taken */
};
_Static_assert(sizeof(struct cc__strand) == 64, "a strand is one cache line");

enum { IDLE_STACKS = 4 }; /* kept by a scheduler with no fibers: there may be thousands */
enum { CHUNK_MIN = 32, CHUNK_MAX = 4096, FLAGS_ALL = CC_FIBER_OWN_FPU | CC_FIBER_MEASURE_STACK };

/* Records are made by the chunk and live until the scheduler is destroyed. */
struct chunk {
    struct chunk *next;
    size_t count;
    struct cc__strand strand[];
};

struct cc_sched {
    struct cc__fifo ready;
    struct cc__fiber *home; /* who is in next or run; NULL: nobody */
    bool stepping;          /* in next: come home after every step */
    int error;              /* why the run must stop, or 0 */
    int alive;
    struct cc__fiber *ended; /* just went home for good: its stack is to be put away */
    struct cc__fiber *owner;

    struct cc__strand *free;
    struct chunk *chunks;
    uint64_t serial; /* of the strand pushed last */
    uint8_t cls, flags;
    struct cc__stack_cache cache;
};

/* Whether the caller is the scheduler's owner, or runs inside it: the owner is somewhere up the chain of
 * who stepped whom. */
static bool sched_in_place(const cc_sched *s) {
    const struct cc__fiber *f = cc__fiber_current();
    while (f != NULL && f != s->owner) f = f->strand == NULL ? NULL : f->strand->sched->home;
    return f != NULL;
}

/* Copy a name; NULL stays NULL. */
static int name_copy(char **out, const char *name) {
    *out = name == NULL ? NULL : strdup(name);
    return name != NULL && *out == NULL ? -ENOMEM : 0;
}

static int stack_bytes_class(size_t bytes, uint8_t *cls) {
    if (bytes > CC_STACK_BYTES_MAX) return -EINVAL;
    *cls = (uint8_t)cc__stack_class(bytes);
    return 0;
}

int cc_sched_create(cc_sched **out, const cc_sched_attr *attr) {
    static const cc_sched_attr defaults = {0};
    if (out == NULL) return -EINVAL;
    if (attr == NULL) attr = &defaults;
    if ((attr->flags & ~(unsigned)FLAGS_ALL) != 0) return -EINVAL;
    uint8_t cls;
    int rc = stack_bytes_class(attr->stack_bytes == 0 ? CC_FIBER_STACK_SIZE : attr->stack_bytes, &cls);
    if (rc != 0) return rc;
    struct cc__fiber *owner;
    rc = cc__fiber_attach(&owner);
    if (rc != 0) return rc;

    cc_sched *s = calloc(1, sizeof *s);
    if (s == NULL) return -ENOMEM;
    cc__fifo_init(&s->ready);
    s->owner = owner;
    s->cls = cls;
    s->flags = (uint8_t)attr->flags;
    *out = s;
    return 0;
}

void cc_sched_destroy(cc_sched *s) {
    if (s == NULL) return;
    CC_CHECK(s->home == NULL, "a cc_sched was destroyed while it runs");
    for (struct chunk *c = s->chunks, *next; c != NULL; c = next) {
        next = c->next;
        for (size_t i = 0; i < c->count; i++) {
            struct cc__strand *t = &c->strand[i];
            if (t->fiber != NULL) cc__fiber_destroy(t->fiber, &s->cache);
            free(t->name);
        }
        free(c);
    }
    cc__stack_cache_shrink(&s->cache, 0);
    free(s);
}

static int strand_grow(cc_sched *s) {
    size_t count = s->chunks == NULL ? CHUNK_MIN : s->chunks->count * 2;
    if (count > CHUNK_MAX) count = CHUNK_MAX;
    struct chunk *c = malloc(sizeof *c + count * sizeof c->strand[0]);
    if (c == NULL) return -ENOMEM;
    c->next = s->chunks;
    c->count = count;
    s->chunks = c;
    for (size_t i = count; i-- > 0;) { /* backwards: the first is taken first */
        struct cc__strand *t = &c->strand[i];
        *t = (struct cc__strand){.link.next = s->free == NULL ? NULL : &s->free->link, .sched = s};
        s->free = t;
    }
    return 0;
}

static struct cc__strand *strand_of(struct cc__link *l) {
    return l == NULL ? NULL : CC__CONTAINER_OF(l, struct cc__strand, link);
}

static void strand_free(cc_sched *s, struct cc__strand *t) {
    CC_ASSERT(t->fiber == NULL);
    free(t->name);
    t->name = NULL;
    t->state = STRAND_FREE;
    t->link.next = s->free == NULL ? NULL : &s->free->link;
    s->free = t;
}

/* Take a record and queue it; the caller has checked its arguments and place. */
static int strand_push(cc_sched *s, void *(*fn)(void *), void *arg, struct cc__strand **out) {
    if (s->alive == INT_MAX) return -ENOMEM;
    if (s->free == NULL) {
        int rc = strand_grow(s);
        if (rc != 0) return rc;
    }
    struct cc__strand *t = s->free;
    CC_ASSERT(t != NULL);
    s->free = strand_of(t->link.next);
    t->fn = fn;
    t->value = arg;
    t->serial = ++s->serial;
    t->used = 0;
    t->cls = s->cls;
    t->flags = s->flags;
    t->state = STRAND_ALIVE;
    t->kept = false;
    cc__fifo_append(&s->ready, &t->link);
    s->alive++;
    *out = t;
    return 0;
}

int cc_sched_push(cc_sched *s, void *(*fn)(void *), void *arg) {
    struct cc__strand *t;
    if (s == NULL || fn == NULL) return -EINVAL;
    if (!sched_in_place(s)) return -EPERM;
    return strand_push(s, fn, arg, &t);
}

int cc_sched_spawn(cc_sched *s, const cc_sched_fiber_attr *attr, void *(*fn)(void *), void *arg, cc_sched_fiber *out) {
    static const cc_sched_fiber_attr defaults = {0};
    if (s == NULL || fn == NULL || out == NULL) return -EINVAL;
    if (attr == NULL) attr = &defaults;
    if ((attr->flags & ~(unsigned)FLAGS_ALL) != 0) return -EINVAL;
    if (!sched_in_place(s)) return -EPERM;
    uint8_t cls = s->cls;
    char *name;
    int rc = attr->stack_bytes == 0 ? 0 : stack_bytes_class(attr->stack_bytes, &cls);
    if (rc == 0) rc = name_copy(&name, attr->name);
    if (rc != 0) return rc;
    struct cc__strand *t;
    rc = strand_push(s, fn, arg, &t);
    if (rc != 0) {
        free(name);
        return rc;
    }
    t->name = name;
    t->cls = cls;
    t->flags |= (uint8_t)attr->flags;
    t->kept = true;
    *out = (cc_sched_fiber){.priv_record = t, .priv_serial = t->serial};
    return 0;
}

/* Bind a strand to a fiber: from now on it runs there. */
static void strand_bind(struct cc__strand *t, struct cc__fiber *f) {
    t->fiber = f;
    f->strand = t;
    f->up = &t->sched->home;
    cc__fiber_describe(f, t->serial, t->name);
}

/* The strand's function has returned: from here on the record may belong to the next push. */
static void strand_end(cc_sched *s, struct cc__strand *t) {
    if ((t->flags & CC_FIBER_MEASURE_STACK) != 0) t->used = (uint32_t)cc__fiber_stack_used(t->fiber);
    t->fiber = NULL;
    t->state = STRAND_ENDED;
    s->alive--;
    if (!t->kept) strand_free(s, t);
}

/* If the next strand is new and wants just such a stack, take it over. */
static bool strand_continue(cc_sched *s, struct cc__fiber *f, uint8_t cls, uint8_t flags) {
    struct cc__strand *next = strand_of(s->ready.first);
    if (s->stepping || next == NULL || next->fiber != NULL) return false;
    if (next->cls != cls || (next->flags | flags) != 0) return false;
    cc__fifo_take_first(&s->ready);
    strand_bind(next, f);
    return true;
}

/* What a fiber runs: strand after strand, as long as they can share it, then home for good. */
static void strand_main(void *arg) {
    struct cc__fiber *f = arg;
    cc_sched *s = f->strand->sched;
    uint8_t cls, flags;
    do {
        struct cc__strand *t = f->strand;
        cls = t->cls;
        flags = t->flags;
        t->value = t->fn(t->value);
        strand_end(s, t);
    } while (strand_continue(s, f, cls, flags));
    s->ended = f;
    cc__fiber_exit(f, s->home);
}

/* Give a new strand a fiber. */
static CC__NOINLINE int strand_begin(cc_sched *s, struct cc__strand *t) {
    struct cc__fiber *f;
    int rc = cc__fiber_create(&f, &s->cache, cc__stack_class_bytes(t->cls), (t->flags & CC_FIBER_OWN_FPU) != 0,
                              (t->flags & CC_FIBER_MEASURE_STACK) != 0);
    if (rc != 0) return rc;
    strand_bind(t, f);
    cc__fiber_start(f, strand_main, f);
    return 0;
}

/* Take the next strand's fiber off the queue; home, if there is none or it cannot begin. */
static struct cc__fiber *sched_pick(cc_sched *s) {
    struct cc__strand *t = strand_of(cc__fifo_take_first(&s->ready));
    if (CC__UNLIKELY(t == NULL)) return s->home;
    if (CC__UNLIKELY(t->fiber == NULL)) {
        s->error = strand_begin(s, t);
        if (s->error != 0) {
            cc__fifo_prepend(&s->ready, &t->link);
            return s->home;
        }
    }
    return t->fiber;
}

int cc_resched(void) {
    struct cc__fiber *f = cc__fiber_current();
    if (CC__UNLIKELY(f == NULL || f->strand == NULL)) return -EPERM;
    struct cc__strand *t = f->strand;
    cc_sched *s = t->sched;
    cc__fifo_append(&s->ready, &t->link);
    struct cc__fiber *to = s->stepping ? s->home : sched_pick(s);
    if (to != f) cc__fiber_switch(f, to);
    return 0;
}

/* Step once, or until nothing is left. */
static int sched_drive(cc_sched *s, bool stepping) {
    if (s == NULL) return -EINVAL;
    if (!sched_in_place(s)) return -EPERM;
    if (s->home != NULL) return -EDEADLK; /* in place and running: the caller is inside it */
    struct cc__fiber *home = cc__fiber_current(), *to;
    s->home = home;
    s->stepping = stepping;
    s->error = 0;
    while ((to = sched_pick(s)) != home) {
        cc__fiber_switch(home, to);
        if (s->ended != NULL) cc__fiber_destroy(s->ended, &s->cache);
        s->ended = NULL;
        if (stepping || s->error != 0) break;
    }
    s->home = NULL;
    if (s->alive == 0) cc__stack_cache_shrink(&s->cache, IDLE_STACKS);
    return s->error != 0 ? s->error : s->alive;
}

int cc_sched_next(cc_sched *s) {
    return sched_drive(s, true);
}

int cc_sched_run(cc_sched *s) {
    return sched_drive(s, false);
}

int cc_sched_count(const cc_sched *s) {
    if (s == NULL) return -EINVAL;
    return sched_in_place(s) ? s->alive : -EPERM;
}

/* The strand a handle names, if there still is one. */
static int sched_find(const cc_sched *s, cc_sched_fiber f, struct cc__strand **out) {
    if (s == NULL) return -EINVAL;
    if (!sched_in_place(s)) return -EPERM;
    struct cc__strand *t = f.priv_record;
    if (t == NULL || t->sched != s || t->serial != f.priv_serial || t->state == STRAND_FREE) return -ESRCH;
    *out = t;
    return 0;
}

int cc_sched_take(cc_sched *s, cc_sched_fiber f, void **result) {
    struct cc__strand *t;
    int rc = sched_find(s, f, &t);
    if (rc != 0) return rc;
    if (t->state == STRAND_ALIVE) return -EAGAIN;
    if (result != NULL) *result = t->value;
    strand_free(s, t);
    return 0;
}

int cc_sched_stack_used(cc_sched *s, cc_sched_fiber f, size_t *bytes) {
    struct cc__strand *t;
    int rc = bytes == NULL ? -EINVAL : sched_find(s, f, &t);
    if (rc != 0) return rc;
    *bytes = t->fiber != NULL ? cc__fiber_stack_used(t->fiber) : t->used;
    return 0;
}

const char *cc_sched_fiber_name(cc_sched *s, cc_sched_fiber f) {
    struct cc__strand *t;
    return sched_find(s, f, &t) == 0 ? t->name : NULL;
}

int cc_sched_adopt(cc_sched *s) {
    if (s == NULL) return -EINVAL;
    if (s->home != NULL) return -EBUSY;
    struct cc__fiber *self;
    int rc = cc__fiber_attach(&self);
    if (rc == 0) s->owner = self;
    return rc;
}

int cc_sched_self(cc_sched_fiber *out) {
    if (out == NULL) return -EINVAL;
    struct cc__fiber *f = cc__fiber_current();
    if (f == NULL || f->strand == NULL) return -EPERM;
    *out = (cc_sched_fiber){.priv_record = f->strand, .priv_serial = f->strand->serial};
    return 0;
}
