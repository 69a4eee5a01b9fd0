/* SPDX-License-Identifier: MIT */
/* Goal: calls on files that the kernel makes (src/driver/files.c, src/sched/filewait.c): a caller comes back when its
 * call is over, and not before, whoever takes what is over, and whatever cancels it meanwhile; what was done is told.
 * Method: the kernel is a lock and a few words: what was asked for, whether it is over, with what result, and whether
 * that was taken. When a call is done it writes into the caller's memory, which the caller uses again at once when it
 * is back: a race if it is back too early. A caller that waits for ever is a deadlock.
 *
 * Sources: src/driver/files.c src/sched/filewait.c src/sched/park.c src/sched/cancel.c src/task/state.c
 * Sources: src/task/wait.c src/plat/thread.c src/plat/file.c src/plat/futex.c src/plat/clock.c src/base/assert.c
 * Sources: src/base/text.c src/fiber/ctx_x86_64.S
 * Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave cc__now_ns
 * Break: src/driver/files.c: call->over = true; => ;
 * Break: src/driver/files.c: bool over = call->over; => bool over = false;
 * Break: src/driver/files.c: cc__claims_add(woken, &call->wait, CC__MATCHED); => (void)woken;
 * Break: src/sched/filewait.c: cc__files_give_up(f, call); => ;
 * Break: src/sched/filewait.c: if (cc__files_join(f, call, self, CC__BY_LIST)) { => if (false) {
 */
#include "locks.h"
#include "plat/uring.h"
#include "sched/claims.h"

static char buffer;
static int64_t got;

/* ---- the kernel ---- */

static struct {
    pthread_mutex_t lock;
    uint64_t asked; /* under which number; 0: nothing, or it is over */
    char *into;
    struct cc__uring_over over;
    bool taken;
    bool at_once;         /* what is asked for is in memory */
    struct mc_sem events; /* something is over */
} kernel;

/* With the lock. */
static void ends(int result) {
    kernel.over = (struct cc__uring_over){.number = kernel.asked, .result = result};
    kernel.asked = 0;
    kernel.taken = false;
    mc_sem_post(&kernel.events);
}

int cc__uring_ask(struct cc__uring *u, const struct cc__file_call *c, uint64_t number) {
    (void)u;
    pthread_mutex_lock(&kernel.lock);
    kernel.asked = number;
    kernel.into = c->buf;
    if (kernel.at_once) {
        *kernel.into = 'x';
        ends(1);
    }
    pthread_mutex_unlock(&kernel.lock);
    return 0;
}
int cc__uring_ask_to_give_up(struct cc__uring *u, uint64_t number) {
    (void)u;
    pthread_mutex_lock(&kernel.lock);
    if (kernel.asked == number) ends(-ECANCELED);
    pthread_mutex_unlock(&kernel.lock);
    return 0;
}
unsigned cc__uring_reap(struct cc__uring *u, struct cc__uring_over *over, unsigned most) {
    (void)u, (void)most;
    pthread_mutex_lock(&kernel.lock);
    bool any = kernel.over.number != 0 && !kernel.taken;
    if (any) *over = kernel.over;
    kernel.taken = true;
    pthread_mutex_unlock(&kernel.lock);
    return any ? 1 : 0;
}

/* It is done, if it was not given up before; nothing is asked for: it is done as soon as it is. */
static void done(void) {
    pthread_mutex_lock(&kernel.lock);
    kernel.at_once = true;
    if (kernel.asked != 0) {
        *kernel.into = 'x';
        ends(1);
    }
    pthread_mutex_unlock(&kernel.lock);
}

/* ---- who reads, and who else looks ---- */

/* The frame of the call is another's by now. */
static __attribute__((noinline)) void scribble(void) {
    volatile char frame[512];
    for (size_t i = 0; i < sizeof frame; i += 8) frame[i] = 1;
}

static void reads(void) {
    struct cc__file_call c = {.what = CC__FILE_READ, .buf = &buffer, .n = 1};
    (void)become();
    got = cc__files_make(&c);
    mc_assert(got != 1 || buffer == 'x');
    buffer = 'y';
    scribble();
}

static void look(void) {
    struct cc__claims woken = {0};
    cc__files_reap(&mine[0].worker.reactor.files, &woken);
    cc__claims_wake(&woken);
}
static void looks_when_told(void) {
    mc_sem_wait(&kernel.events);
    look();
}

/* ---- before and after ---- */

static void setup(void) {
    static char ring;
    tasks_begin(1);
    pthread_mutex_init(&kernel.lock, NULL);
    mc_sem_init(&kernel.events, 0);
    rt.rings = true;
    cc__files_init(&mine[0].worker.reactor.files);
    cc__store_relaxed(&mine[0].worker.reactor.files.uring, (struct cc__uring *)(void *)&ring);
}
static void setup_at_once(void) {
    setup();
    kernel.at_once = true;
}

static void at_rest(void) {
    mc_assert(!cc__files_any_pending(&mine[0].worker.reactor.files) && kernel.asked == 0 && buffer == 'y');
}
static void was_read(void) {
    mc_assert(got == 1);
    at_rest();
}
static void was_cancelled(void) {
    mc_assert(got == -ECANCELED);
    at_rest();
}
static void read_or_cancelled(void) {
    mc_assert(got == 1 || got == -ECANCELED);
    at_rest();
}

/* ---- of the layers around ---- */

int cc__reactor_start_files(struct cc__reactor *r) {
    (void)r;
    mc_assert(false);
    return -ENOSYS;
}
void cc__idle_notify(struct cc__runtime *runtime) {
    (void)runtime;
}
int cc__uring_open(struct cc__uring **out) {
    (void)out;
    return -ENOSYS;
}
void cc__uring_close(struct cc__uring *u) {
    (void)u;
}

const struct mc_scenario mc_scenarios[] = {
    {"it is in memory", setup_at_once, {reads}, was_read},
    {"it is in memory, and another looks", setup_at_once, {reads, looks_when_told}, was_read},
    {"it is done", setup, {reads, done, looks_when_told}, was_read},
    {"it is done, and two look", setup, {reads, done, looks_when_told, look}, was_read},
    {"it is done, a stray unpark", setup, {reads, done, looks_when_told, unparks_first}, was_read},
    {"it is cancelled", setup, {reads, looks_when_told, cancels_first}, was_cancelled, .first = 1, .fences = true},
    {"it is in memory, and cancelled",
     setup_at_once,
     {reads, looks_when_told, cancels_first},
     read_or_cancelled,
     .fences = true},
    {"it is done, and cancelled",
     setup,
     {reads, looks_when_told, done, cancels_first},
     read_or_cancelled,
     .first = 1,
     .fences = true},
    {"it is cancelled, perhaps before",
     setup,
     {reads, looks_when_told, cancels_first},
     was_cancelled,
     .full = true,
     .fences = true},
    {0},
};
