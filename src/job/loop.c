/* SPDX-License-Identifier: MIT */
/* Parallel loops, by forks, split as thieves ask.
 *
 * Who has a range forks its upper half and works through the lower one, a grain at a time. As long as nobody has taken
 * the upper half there is no need for more parts; once it was taken, what is left of the lower half is split in turn.
 * If it was not taken at all, it is joined, which costs nothing, and goes on as the range. So without thieves a loop
 * makes as many forks as its range can be halved, and with them some more for each theft.
 *
 * A grain that is chosen is a part in 64 for each worker, or what takes some 10 us if that is less: who wants a part is
 * answered between two steps. How long a step takes is found out before the first fork, while nobody helps, and so by
 * as few indices as can be timed; if the rest would take less time than to wake somebody, it is done alone. The first
 * indices may be quicker than the others: so that is done in pieces, each twice the one before but a small part of
 * all, and as soon as they have taken too long together, the rest is split after all.
 *
 * What is split at once (CC_STATIC) is split by the numbers of its parts, which differ by one index at most.
 *
 * Loops come in rows over the same data, and who begins them is not always the same worker: it goes on where the last
 * part ended. So a range is somebody's: the lower half is for the lower half of the workers, and so on down to one. Who
 * splits it forks the half that is not its own, whichever that is, and finds what it had the last time in its caches
 * (a sum of 10 million numbers by two workers: 3.7 ms, and 5.0 if they change places each time). Thieves take what they
 * find all the same.
 *
 * Prev: job/frame.c  Next: job/sort.c */
#include <ccrt/parallel.h>

#include "../plat/clock.h"
#include "../sched/leave.h"
#include "../sched/sched.h"

#include <errno.h>

enum {
    PARTS = 64, /* for each worker, */
    PARTS_MAX = 1024,
    REDUCE_PARTS = 1024,
    TRY_FIRST = 4096, /* a part in so many is tried first, and in so many at most */
    TRY = 64,
    TRY_NS = 300, /* less than that tells nothing */
    ALONE_NS = 10000,
    ALONE_PIECES = 8, /* what is done alone is done in so many at least */
    STEP_NS = 8000
};

struct loop {
    int (*body)(size_t lo, size_t hi, void *args);
    void *args;
    size_t grain;
    size_t from, each, longer; /* split at once: from there on parts of so many indices, the first few of one more */
    _Atomic int rc;            /* 0; the first error: what has not begun is left out.  W, R: who runs a part */
};

struct part {
    cc_priv_fork fork; /* first */
    struct loop *loop;
    size_t lo, hi;     /* indices; or numbers of parts, if it is split at once */
    cc_priv_crew crew; /* whose it is */
};

static void part_run(cc_priv_fork *f);
static void part_run_static(cc_priv_fork *f);
static const cc_priv_forkable lazily = {part_run, {__FILE__, __LINE__, "parallel loop"}};
static const cc_priv_forkable at_once = {part_run_static, {__FILE__, __LINE__, "parallel loop"}};

/* Call the body once, unless the loop is over. */
static void step(struct loop *l, size_t lo, size_t hi) {
    if (cc__load_relaxed(&l->rc) != 0) return;
    struct cc__task *self = cc__self_here();
    int rc = self != NULL && (self->scope != NULL || self->runtime != NULL) ? cc__cancel_code(self) : 0, none = 0;
    if (rc == 0) rc = l->body(lo, hi, l->args);
    if (rc < 0) (void)cc__cas_relaxed(&l->rc, &none, rc);
}

/* Whether the newest fork of the running task is not its own any more. If somebody wants one, it is for thieves. */
static bool is_taken(const struct part *p) {
    struct cc__worker *w = cc__worker_current();
    if (w == NULL || !cc__forks_own_any(&w->forks)) return true; /* it went with a switch, or to the global queue */
    cc__store_relaxed(&w->forks.looks, cc__load_relaxed(&w->forks.looks) + 1);
    if (CC__UNLIKELY(cc__forks_wanted(&w->forks))) cc__forks_offer(w);
    return p->fork.priv_at < cc__load_relaxed(&w->forks.tail) || p->fork.priv_at < w->forks.base;
}

int cc_priv_crew_is_upper(cc_priv_crew *own, cc_priv_crew *other) {
    const struct cc__worker *w = cc__worker_current();
    uint32_t here = w == NULL ? UINT32_MAX : w->id, lower = (own->priv_count + 1) / 2;
    cc_priv_crew low = {own->priv_first, lower}, high = {own->priv_first + lower, own->priv_count - lower};
    bool is_upper = here - high.priv_first < high.priv_count;
    *other = is_upper ? low : high;
    *own = is_upper ? high : here - low.priv_first < lower ? low : (cc_priv_crew){0};
    return is_upper;
}

/* All of it is the caller's, which is of the crew, or not. */
static void run_range(struct loop *l, size_t lo, size_t hi, cc_priv_crew crew) {
    size_t grain = l->grain;
    while (hi - lo > grain) {
        size_t mid = lo + (hi - lo) / 2;
        struct part other = {.loop = l, .lo = mid, .hi = hi};
        size_t at = lo, end = mid;
        bool is_upper = crew.priv_count > 1 && cc_priv_crew_is_upper(&crew, &other.crew);
        if (is_upper) {
            at = other.hi = mid;
            other.lo = lo;
            end = hi;
        }
        other.fork.priv_what = &lazily;
        cc_priv_fork_call(&other.fork);
        while (at < end) {
            if (is_taken(&other) && end - at > grain) { /* in this order: who wants it waits for a step at most */
                run_range(l, at, end, crew);
                break;
            }
            size_t n = end - at < grain ? end - at : grain;
            step(l, at, at + n);
            at += n;
        }
        if (!cc_priv_join_call(&other.fork)) return;
        lo = other.lo;
        hi = other.hi;
        crew = other.crew;
    }
    if (lo < hi) step(l, lo, hi);
}

static void part_run(cc_priv_fork *f) {
    struct part *p = (struct part *)(void *)f;
    run_range(p->loop, p->lo, p->hi, p->crew);
}

/* Where that part begins. */
static size_t part_at(const struct loop *l, size_t part) {
    return l->from + part * l->each + (part < l->longer ? part : l->longer);
}

/* Parts have the numbers of the workers they are for. */
static void run_static(struct loop *l, size_t first, size_t end) {
    if (end - first == 1) {
        step(l, part_at(l, first), part_at(l, end));
        return;
    }
    size_t mid = first + (end - first + 1) / 2;
    struct part other = {.loop = l, .lo = mid, .hi = end};
    cc_priv_crew crew = {(uint32_t)first, (uint32_t)(end - first)};
    bool is_upper = cc_priv_crew_is_upper(&crew, &other.crew);
    if (is_upper) {
        other.lo = first;
        other.hi = mid;
    }
    other.fork.priv_what = &at_once;
    cc_priv_fork_call(&other.fork);
    run_static(l, is_upper ? mid : first, is_upper ? end : mid);
    if (cc_priv_join_call(&other.fork)) run_static(l, other.lo, other.hi);
}

static void part_run_static(cc_priv_fork *f) {
    struct part *p = (struct part *)(void *)f;
    run_static(p->loop, p->lo, p->hi);
}

/* So many share the work. */
static size_t workers_here(void) {
    struct cc__worker *w = cc__worker_current();
    struct cc__runtime *rt = w != NULL ? w->runtime : NULL;
    if (rt == NULL && cc__runtime_default(&rt) != 0) return 1;
    return rt->base_count;
}

cc_priv_crew cc_priv_crew_here(void) {
    const struct cc__worker *w = cc__worker_current();
    return (cc_priv_crew){0, w == NULL ? 0 : w->runtime->base_count};
}

static size_t static_parts(size_t indices) {
    size_t workers = workers_here();
    return indices < workers ? indices : workers;
}

/* A step is not to take long, if `few` indices take that long. */
static void shorten(struct loop *l, size_t least, size_t few, int64_t took_ns) {
    size_t took = (size_t)took_ns, fit = few / (took / STEP_NS + 1);
    if (took < STEP_NS) {
        size_t times = STEP_NS / (took + 1);
        if (l->grain / few <= times) return;
        fit = few * times;
    }
    if (fit < l->grain) l->grain = fit > least ? fit : least;
}

/* The next few, of [*lo, hi); how long they took. */
static int64_t step_timed(struct loop *l, size_t *lo, size_t few, int64_t *begun) {
    step(l, *lo, *lo + few);
    *lo += few;
    int64_t now = cc__now_ns(), took = now - *begun;
    *begun = now;
    return took;
}

/* The first few indices of a loop whose grain is to be chosen, or all; what is left. The very first are not what the
 * others are: code and data may be far away. */
static size_t try_alone(struct loop *l, size_t lo, size_t hi) {
    size_t all = hi - lo, few = all / TRY_FIRST + 1, least = l->grain / (PARTS_MAX / PARTS) + 1;
    if (all < TRY) return lo;
    int64_t begun = cc__now_ns(), took, together = 0;
    for (bool first = true;; first = false) {
        took = step_timed(l, &lo, few, &begun);
        if (took >= ALONE_NS || (!first && (took >= TRY_NS || few > all / TRY / 4))) break;
        if (!first) few *= 2;
    }
    if ((uint64_t)took * ((hi - lo) / few) <= ALONE_NS) {
        for (size_t most = all / ALONE_PIECES; lo < hi && together <= ALONE_NS; together += took) {
            few = 2 * few < most ? 2 * few : most;
            if (few > hi - lo) few = hi - lo;
            took = step_timed(l, &lo, few, &begun);
        }
    }
    if (lo < hi) shorten(l, least, few, took);
    return lo;
}

int cc_priv_parallel_for(size_t lo, size_t hi, size_t grain, int (*body)(size_t lo, size_t hi, void *args),
                         void *args) {
    struct loop l = {.body = body, .args = args, .grain = grain};
    if (lo >= hi) return 0;
    if (grain == CC_STATIC) {
        l.from = lo;
        size_t parts = static_parts(hi - lo);
        l.each = (hi - lo) / parts;
        l.longer = (hi - lo) % parts;
        run_static(&l, 0, parts);
        return cc__load_relaxed(&l.rc);
    }
    if (grain == 0) {
        size_t parts = PARTS * workers_here();
        l.grain = (hi - lo) / parts + ((hi - lo) % parts != 0);
        lo = try_alone(&l, lo, hi);
    }
    if (lo < hi) run_range(&l, lo, hi, cc_priv_crew_here());
    return cc__load_relaxed(&l.rc);
}

size_t cc_priv_reduce_parts(size_t lo, size_t hi, size_t grain) {
    size_t all = hi - lo;
    if (grain == CC_STATIC) return static_parts(all);
    if (grain == 0) return all < REDUCE_PARTS ? all : REDUCE_PARTS;
    return (all - 1) / grain + 1;
}
