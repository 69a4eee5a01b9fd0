/* SPDX-License-Identifier: MIT */
/* Goal: descriptors (src/driver/fd.c, src/sched/fdwait.c): who waits for one goes on when something arrives, when it is
 * closed, and when it is cancelled, however these meet; nothing that arrived is waited for.
 * Method: the kernel is a lock and a few words: whether the descriptor is open, whether there is something to read, in
 * which generation it is watched, and whether that is to be told. A reader tries and waits as src/io does. Others have
 * something arrive, poll, close, cancel, open a new one with the same number. A reader that waits for ever is a
 * deadlock.
 *
 * Sources: src/driver/fd.c src/sched/fdwait.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c
 * Sources: src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Break: src/driver/fd_hot.h: if (cc__load_relaxed(&e->ready[way]) != 0 || => if (
 * Break: src/driver/fd.c: (void)cc__claims_first(woken, cc__fd_list(e, way), CC__MATCHED); => (void)woken;
 * Break: src/driver/fd_hot.h: if (cc__fd_generation(e) != generation) return CC__FD_GONE; => (void)generation;
 * Break: src/driver/fd_hot.h: (void)cc__cas_release(&e->life, &life, life + CC__FD_GENERATION); => (void)life;
 * Break: src/driver/fd_hot.h: e->out.first != NULL)) cc__fd_end_waits(e, woken); => e->out.first != NULL)) return was;
 * Break: src/driver/fd_hot.h: (made && !cc__fd_is_odd(was) ? 2 : 1) => (made ? 2 : 1)
 * Break: src/driver/fd_hot.h: if ((cc__load_relaxed(&e->ready[way]) & bits) != bits) => if (bits == 0)
 * Break: src/driver/fd_hot.h: same && (uint32_t)cc__fd_begin_anew => same && cc__fd_begin_anew
 * Break: src/driver/fd_hot.h: CC__LIKELY((uint32_t)(life >> 32) == generation)) => generation < UINT32_MAX)
 * Break: src/driver/fd_hot.h: CC__UNLIKELY(cc__fd_is_odd(was)) && (uint32_t)was == 1 => false && was != 0
 * Break: src/driver/fd_hot.h: CC__POLL_IN) != 0) cc__fd_tell => CC__POLL_IN) != 0 && e->in.first) cc__fd_tell
 * Break: src/driver/fd.c: cc__claims_all(woken, &e->in, CC__MATCHED); => ;
 * Break: src/sched/fdwait.c: cc__fd_leave(e, way, w); => ;
 * Break: src/driver/fd.c: (void)cc__claims_first(woken, next, CC__MATCHED); => (void)next;
 */
#include "locks.h"
#include "plat/fdio.h"
#include "plat/poll.h"
#include "sched/claims.h"

enum { NUMBER = 3 };

static struct cc__fd e;
static int got[MC_THREADS];

static uint32_t first_generation;

/* ---- the kernel ---- */

static struct {
    pthread_mutex_t lock;
    bool open, watched, told;
    int something;       /* messages to read */
    int file;            /* which one has the number: 1 the first */
    uint32_t generation; /* in which it is watched, */
    uint32_t event;      /* and that of an event to be told */
} kernel;

static void polls(void) {
    struct cc__claims woken = {0};
    pthread_mutex_lock(&kernel.lock);
    bool any = kernel.told;
    uint32_t generation = kernel.event;
    kernel.told = false;
    pthread_mutex_unlock(&kernel.lock);
    if (any) cc__fd_event(&e, generation, CC__POLL_IN, &woken);
    cc__claims_wake(&woken);
}

/* With the lock: an edge. */
static void edge(void) {
    if (kernel.something == 0 || !kernel.watched) return;
    kernel.told = true;
    kernel.event = kernel.generation;
}

int cc__poll_watch_anew(struct cc__fd *of, int fd, uint32_t generation, uint32_t *home) {
    mc_assert(of == &e && fd == NUMBER);
    if (!cc__fd_hold(of, generation)) return -EBADF;
    pthread_mutex_lock(&kernel.lock);
    mc_assert(generation != first_generation || (kernel.open && kernel.file == 1));
    bool open = kernel.open;
    if (open) {
        kernel.watched = true;
        kernel.generation = generation;
        edge();
    }
    pthread_mutex_unlock(&kernel.lock);
    cc__fd_release(of, fd);
    if (!open) return -EBADF;
    *home = 1;
    cc__fd_watched(of, generation, *home);
    polls(); /* as some worker does */
    return 0;
}
int cc__poll_one(int fd, int events, int ms) {
    (void)fd, (void)events, (void)ms;
    return 0;
}

int cc__fdio_close(int fd) {
    mc_assert(fd == NUMBER);
    pthread_mutex_lock(&kernel.lock);
    mc_assert(kernel.open && kernel.file == 1); /* once */
    kernel.open = kernel.watched = false;
    kernel.something = 0;
    pthread_mutex_unlock(&kernel.lock);
    return 0;
}

/* Who began with the first must not get at another. */
static int kernel_read(uint32_t generation) {
    pthread_mutex_lock(&kernel.lock);
    mc_assert(generation != first_generation || (kernel.open && kernel.file == 1));
    int k = !kernel.open ? -EBADF : kernel.something > 0 ? 1 : -EAGAIN;
    if (k == 1) kernel.something--;
    pthread_mutex_unlock(&kernel.lock);
    return k;
}

/* ---- who reads ---- */

static int read_of(uint32_t generation) {
    int rc = 0;
    while (rc == 0) {
        if (cc__fd_may_try(&e, CC__FD_IN)) {
            if (!cc__fd_hold(&e, generation)) return -EBADF;
            uint32_t was = cc__fd_take(&e, CC__FD_IN);
            int k = kernel_read(generation);
            if (k != -EAGAIN) cc__fd_may_be_more(&e, CC__FD_IN, was | CC__FD_READY);
            cc__fd_release(&e, NUMBER);
            if (k != -EAGAIN) return k;
        }
        rc = cc__fd_wait(&e, NUMBER, CC__FD_IN, generation);
    }
    return rc;
}
static void reads(void) {
    uint32_t generation;
    (void)become();
    int rc = cc__fd_which(&e, &generation);
    got[mc_self()] = rc != 0 ? rc : read_of(generation);
}
static void has_begun_to_read(void) {
    (void)become();
    got[mc_self()] = read_of(first_generation);
}

/* As a select does: it only says that there may be something. */
static void selects(void) {
    struct cc__task *self = become();
    struct cc__wait w;
    uint32_t generation, home;
    got[mc_self()] = 1;
    if (cc__fd_which(&e, &generation) != 0 || cc__poll_watch(&e, NUMBER, generation, &home) != 0) return;
    if (cc__fd_join(&e, CC__FD_IN, &w, self, generation, home) != CC__FD_WAITS) return;
    struct cc__claims woken = {0};
    int rc = cc__wait_cancellable_here(&w, CC__NEVER);
    if (rc != 0 && rc != -EPIPE) cc__fd_leave(&e, CC__FD_IN, &w);
    if (rc != 0) return;
    cc__fd_pass_on(&e, CC__FD_IN, &woken);
    cc__claims_wake(&woken);
}

/* It cannot make use of what there is, for a while. */
static void naps(void) {
    (void)become();
    got[mc_self()] = cc__fd_nap(&e, NUMBER, CC__FD_IN, first_generation, 1000); /* no time passes */
}

/* ---- and the others ---- */

static void arrives(void) {
    pthread_mutex_lock(&kernel.lock);
    if (kernel.open) kernel.something++;
    edge();
    pthread_mutex_unlock(&kernel.lock);
    polls();
}
/* One that began before the others came has read its share, and left something. */
static void leaves_some(void) {
    cc__fd_may_be_more(&e, CC__FD_IN, CC__FD_READY);
}
static void closes(void) {
    mc_assert(cc__fd_close(&e, NUMBER) == 0);
}
static void arrive_two(void) {
    pthread_mutex_lock(&kernel.lock);
    kernel.something = 2;
    edge();
    pthread_mutex_unlock(&kernel.lock);
    polls();
}
/* Closed, and another made, which has something to read; without a word to us. It has the same number if that is free
 * by then. */
static bool replaced;
static void replaces_elsewhere(void) {
    closes();
    pthread_mutex_lock(&kernel.lock);
    replaced = !kernel.open;
    if (replaced) {
        kernel.open = true;
        kernel.something = 1;
        kernel.file = 2;
    }
    pthread_mutex_unlock(&kernel.lock);
}
/* And with one. */
static void replaces(void) {
    struct cc__claims woken = {0};
    replaces_elsewhere();
    if (!replaced) return;
    cc__fd_made(&e, CC__FD_OURS, &woken);
    cc__claims_wake(&woken);
}
/* By one that is drained, and watched by the same reactor. */
static void replaces_drained(void) {
    replaces();
    if (!replaced) return;
    kernel.something = 0;
    cc__fd_watched(&e, cc__fd_generation(&e), 1);
    (void)cc__fd_take(&e, CC__FD_IN);
}
static void forgets(void) {
    struct cc__claims woken = {0};
    pthread_mutex_lock(&kernel.lock);
    kernel.watched = false;
    pthread_mutex_unlock(&kernel.lock);
    cc__fd_forget(&e, 1, &woken);
    cc__claims_wake(&woken);
}
static void forgets_and_arrives(void) {
    forgets();
    arrives();
}

/* ---- before and after ---- */

static void setup(void) {
    struct cc__claims woken = {0};
    tasks_begin(1);
    pthread_mutex_init(&kernel.lock, NULL);
    kernel.open = true;
    kernel.file = 1;
    cc__fd_made(&e, CC__FD_OURS, &woken);
    first_generation = cc__fd_generation(&e);
}
/* It is known to be drained, and watched. */
static void setup_drained(void) {
    setup();
    cc__store_relaxed(&e.ready[CC__FD_IN], 0);
    cc__store_relaxed(&e.out.mark, 1);
    kernel.watched = true;
    kernel.generation = cc__fd_generation(&e);
}
static void setup_one(void) {
    setup();
    kernel.something = 1;
}
static void setup_two(void) {
    setup_drained();
    kernel.something = 2;
    cc__store_relaxed(&e.ready[CC__FD_IN], CC__FD_READY);
}
/* It has something, and somebody has begun to read. */
static void setup_left(void) {
    setup_drained();
    kernel.something = 1;
}
static void setup_foreign(void) {
    tasks_begin(1);
    pthread_mutex_init(&kernel.lock, NULL);
    kernel.open = true;
    kernel.file = 1;
    first_generation = 0;
}
/* It was closed while it was in use: the last who uses it closes it. */
static void setup_closing(void) {
    setup();
    mc_assert(cc__fd_hold(&e, first_generation));
    closes();
    mc_assert(kernel.open);
}
static void drops(void) {
    cc__fd_release(&e, NUMBER);
}

static void at_rest(void) {
    mc_assert((uint32_t)cc__load_relaxed(&e.life) == 0 && cc__fd_generation(&e) % 2 == 0);
    mc_assert(e.in.first == NULL && e.out.first == NULL);
}
static void was_read(void) {
    mc_assert(got[0] == 1);
    at_rest();
}
static void was_closed(void) {
    mc_assert(got[0] == -EBADF);
    at_rest();
}
static void read_or_closed(void) {
    mc_assert(got[0] == 1 || got[0] == -EBADF);
    at_rest();
}
static void read_or_cancelled(void) {
    mc_assert(got[0] == 1 || got[0] == -ECANCELED);
    mc_assert((got[0] == 1) == (kernel.something == 0));
    at_rest();
}
static void any(void) {
    mc_assert(got[0] == 1 || got[0] == -EBADF || got[0] == -ECANCELED);
    at_rest();
}
static void napped(void) {
    mc_assert(got[0] == 0 || got[0] == -EBADF || got[0] == -ECANCELED);
    at_rest();
}
static void second_read(void) {
    mc_assert(got[1] == 1);
    at_rest();
}
static void both_read(void) {
    mc_assert(got[0] == 1 && got[1] == 1);
    at_rest();
}
/* What arrived was read by one of them; both have gone on. */
static void both_went_on(void) {
    mc_assert((got[0] == 1) + (got[1] == 1) <= 1 && got[0] != 0 && got[1] != 0);
    at_rest();
}

const struct mc_scenario mc_scenarios[] = {
    {"something arrives", setup, {reads, arrives}, was_read},
    {"something arrives at a drained one", setup_drained, {reads, arrives}, was_read},
    {"something arrives at one that was made elsewhere", setup_foreign, {reads, arrives}, was_read},
    {"it is closed", setup, {reads, closes}, was_closed},
    {"it is closed, drained", setup_drained, {reads, closes}, was_closed},
    {"it is being closed", setup_closing, {reads, drops}, was_closed},
    {"something arrives, and it is closed", setup_drained, {reads, arrives, closes}, read_or_closed},
    {"something arrives, and it is cancelled",
     setup_drained,
     {reads, arrives, cancels_first},
     read_or_cancelled,
     .first = 1,
     .fences = true},
    {"it is closed, and cancelled", setup_drained, {reads, closes, cancels_first}, any, .first = 1, .fences = true},
    {"it is replaced", setup_drained, {reads, replaces}, read_or_closed},
    {"two read, something arrives, it is closed",
     setup_drained,
     {reads, reads, arrives, closes},
     both_went_on,
     .first = 2,
     .alike = true,
     .full = true},
    {"it is replaced by a drained one", setup_drained, {has_begun_to_read, replaces_drained}, was_closed},
    {"two read, it is closed", setup_drained, {reads, reads, closes}, both_went_on, .alike = true},
    {"it is replaced by one made elsewhere, while it is read", setup_one, {reads, replaces_elsewhere}, read_or_closed},
    {"it is replaced while it is read", setup_one, {reads, replaces}, read_or_closed},
    {"two read, two have arrived", setup_two, {reads, reads}, both_read},
    {"two read, two arrive", setup_drained, {reads, reads, arrive_two}, both_read, .alike = true, .full = true},
    {"a select does not read what it is woken for", setup_left, {selects, reads, leaves_some}, second_read},
    {"a select, one that reads, two arrive", setup_drained, {selects, reads, arrive_two}, second_read},
    {"something arrives, it is closed, and cancelled",
     setup_drained,
     {reads, arrives, closes, cancels_first},
     any,
     .fences = true},
    {"something arrives, it is closed, and cancelled: made elsewhere",
     setup_foreign,
     {reads, arrives, closes, cancels_first},
     any,
     .fences = true,
     .full = true},
    {"one naps, it is closed", setup_one, {naps, closes}, napped},
    {"one naps, something arrives", setup_drained, {naps, arrives, cancels_first}, napped, .fences = true},
    {"one naps, is cancelled, one reads",
     setup_one,
     {naps, reads, cancels_first},
     second_read,
     .fences = true,
     .full = true},
    {"its reactor ends", setup_drained, {reads, forgets_and_arrives}, was_read},
    {0},
};
