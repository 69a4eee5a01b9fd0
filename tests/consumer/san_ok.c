/* SPDX-License-Identifier: MIT */
/* Goal: a user's program under a sanitizer, with the installed library that was built without, draws no
 *   report for what is right.
 * Method: what fibers do to a sanitizer's picture of a thread: thousands of switches among frames of all
 *   sizes, long jumps, stacks left in the middle and used again, schedulers inside fibers, schedulers
 *   handed from thread to thread, and at the end, by exit() in a fiber, memory that only stacks lead to
 *   which no thread is on. */
#include <ccrt.h>

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(cond) ((void)((cond) || (fprintf(stderr, "san_ok.c:%d: not true: %s\n", __LINE__, #cond), exit(1), 0)))
#define NOINLINE __attribute__((noinline))

enum { FIBERS = 100, TURNS = 50, DEPTH = 6, THREADS = 3, HANDOVERS = 20 };

static cc_sched *new_sched(void) {
    cc_sched *s;
    CHECK(cc_sched_create(&s, NULL) == 0);
    return s;
}

/* ---- frames large and small, left and come back to at every depth ---- */

static NOINLINE unsigned dig(unsigned depth, unsigned seed) {
    unsigned char large[4096], small[3];
    memset(large, (int)seed, sizeof large);
    memset(small, (int)(seed + depth), sizeof small);
    cc_resched();
    unsigned below = depth == 0 ? 0 : dig(depth - 1, seed + 1);
    cc_resched();
    CHECK(large[0] == (unsigned char)seed && large[sizeof large - 1] == (unsigned char)seed);
    CHECK(small[2] == (unsigned char)(seed + depth));
    return below + large[seed % sizeof large];
}

/* A long jump out of nested frames, with a switch on the way: the sanitizer must know this stack's bounds. */
static NOINLINE void jump_from(jmp_buf *to, int depth) {
    char frame[256];
    memset(frame, depth, sizeof frame);
    cc_resched();
    CHECK(frame[0] == depth);
    if (depth == 0) longjmp(*to, 1);
    if (depth > 0) jump_from(to, depth - 1);
}

static void *work(void *arg) {
    unsigned seed = *(unsigned *)arg;
    jmp_buf place;
    for (unsigned i = 0; i < TURNS; i++) {
        unsigned char *heap = malloc(64 + i);
        CHECK(heap != NULL);
        memset(heap, (int)i, 64 + i);
        CHECK(dig(i % DEPTH, seed) < 256u * (DEPTH + 1));
        if (setjmp(place) == 0) jump_from(&place, 3);
        CHECK(heap[63] == (unsigned char)i);
        free(heap);
    }
    return arg;
}

static void many_switches(void) {
    static unsigned seeds[FIBERS];
    cc_sched *s = new_sched();
    cc_sched_fiber fiber[FIBERS];
    for (unsigned i = 0; i < FIBERS; i++) {
        seeds[i] = i;
        CHECK(cc_sched_spawn(s, NULL, work, &seeds[i], &fiber[i]) == 0);
    }
    CHECK(cc_sched_run(s) == 0);
    for (unsigned i = 0; i < FIBERS; i++) {
        void *result;
        CHECK(cc_sched_take(s, fiber[i], &result) == 0 && result == &seeds[i]);
    }
    cc_sched_destroy(s);
}

/* ---- stacks left in the middle, then used by others ---- */

static void *endless(void *arg) {
    char frame[2000];
    for (;;) {
        memset(frame, 1, sizeof frame);
        dig(3, frame[7]);
        CHECK(arg == NULL);
    }
}

/* Address space in use. */
static size_t mapped_bytes(void) {
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%zu", &pages) == 1);
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What a sanitizer keeps for a fiber goes with it, however it goes: ASan's fake stack of 3 MB, say. */
static void left_in_the_middle(void) {
    size_t before = 0;
    for (unsigned round = 0; round < 10; round++) {
        cc_sched *s = new_sched();
        for (unsigned i = 0; i < FIBERS; i++) CHECK(cc_sched_push(s, endless, NULL) == 0);
        for (unsigned i = 0; i < FIBERS * (round % 3) + round; i++) CHECK(cc_sched_next(s) == FIBERS);
        cc_sched_destroy(s);
        many_switches();
        if (round == 0) before = mapped_bytes();
    }
    CHECK(mapped_bytes() < before + ((size_t)1 << 30));
}

/* ---- schedulers inside fibers ---- */

static void *nest(void *arg) {
    unsigned depth = *(unsigned *)arg;
    if (depth == 0) return work(arg);
    cc_sched *inner = new_sched();
    unsigned next[2] = {depth - 1, depth - 1};
    CHECK(cc_sched_push(inner, nest, &next[0]) == 0 && cc_sched_push(inner, nest, &next[1]) == 0);
    while (cc_sched_next(inner) > 0) cc_resched();
    cc_sched_destroy(inner);
    return arg;
}

static void nested(void) {
    cc_sched *s = new_sched();
    unsigned depth = 3;
    CHECK(cc_sched_push(s, nest, &depth) == 0 && cc_sched_push(s, nest, &depth) == 0);
    CHECK(cc_sched_run(s) == 0);
    cc_sched_destroy(s);
}

/* ---- threads: schedulers of their own, and one that goes round ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cc_sched *traveller;  /* guarded by lock */
static unsigned guarded_sum; /* the same */

static void *add(void *arg) {
    for (unsigned i = 0; i < HANDOVERS; i++) {
        guarded_sum += dig(2, *(unsigned *)arg) != 0;
        cc_resched();
    }
    return arg;
}

static void *thread_main(void *arg) {
    cc_sched *own = new_sched();
    CHECK(cc_sched_push(own, work, arg) == 0);
    for (unsigned i = 0; i < HANDOVERS; i++) {
        pthread_mutex_lock(&lock);
        CHECK(cc_sched_adopt(traveller) == 0);
        for (unsigned step = 0; step < 10; step++) CHECK(cc_sched_next(traveller) >= 0);
        pthread_mutex_unlock(&lock);
        CHECK(cc_sched_next(own) >= 0);
    }
    CHECK(cc_sched_run(own) == 0);
    cc_sched_destroy(own);
    return NULL;
}

static void threads(void) {
    pthread_t thread[THREADS];
    static unsigned seeds[THREADS] = {1, 2, 3};
    traveller = new_sched();
    for (unsigned i = 0; i < 4; i++) CHECK(cc_sched_push(traveller, add, &seeds[i % THREADS]) == 0);
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_create(&thread[i], NULL, thread_main, &seeds[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++) CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(cc_sched_adopt(traveller) == 0 && cc_sched_run(traveller) == 0);
    CHECK(guarded_sum == 4 * HANDOVERS);
    cc_sched_destroy(traveller);
}

/* ---- when the program ends: memory that only a stack leads to which no thread is on just then ---- */

static cc_sched *kept;
static sem_t asleep;

/* In a register, which the switch saves; and in a frame. */
static void *hold(void *arg) {
    (void)arg;
    char *in_register = malloc(100);
    char *in_frame[4];
    CHECK(in_register != NULL);
    for (unsigned i = 0; i < 4; i++) {
        in_frame[i] = malloc(100);
        CHECK(in_frame[i] != NULL);
        in_frame[i][0] = in_register[0] = 'x';
    }
    for (;;) {
        cc_resched();
        for (unsigned i = 0; i < 4; i++) CHECK(in_frame[i][0] == in_register[0]);
    }
}

static void held_by_fibers(void) {
    kept = new_sched();
    for (unsigned i = 0; i < 3; i++) CHECK(cc_sched_push(kept, hold, NULL) == 0);
    for (unsigned i = 0; i < 7; i++) CHECK(cc_sched_next(kept) == 3);
}

static void *sleep_on(void *arg) {
    CHECK(*(char **)arg != NULL);
    sem_post(&asleep);
    for (;;) pause();
}

static void *leave(void *arg) {
    CHECK(*(char **)arg != NULL);
    printf("ok\n");
    exit(0);
}

/* A thread's own frames, while a fiber of its scheduler runs fn and does not come back. */
static void held_by_thread(void *(*fn)(void *)) {
    char *in_frame[2] = {malloc(100), malloc(100)};
    cc_sched *s = new_sched();
    CHECK(cc_sched_push(s, fn, &in_frame[0]) == 0);
    CHECK(cc_sched_run(s) == 0);
    free(in_frame[1]);
}

static void *sleeper_main(void *arg) {
    held_by_thread(sleep_on);
    return arg;
}

int main(void) {
    many_switches();
    left_in_the_middle();
    nested();
    threads();
    held_by_fibers();
    pthread_t sleeper;
    CHECK(sem_init(&asleep, 0, 0) == 0 && pthread_create(&sleeper, NULL, sleeper_main, NULL) == 0);
    pthread_detach(sleeper);
    sem_wait(&asleep);
    held_by_thread(leave);
    return 1;
}
