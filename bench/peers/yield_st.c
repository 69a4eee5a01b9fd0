/* SPDX-License-Identifier: MIT */
/* yield: State Threads, two threads of the process, a million yields each.
 *
 * The library has no call named yield. Its quickest way to let the other thread run is to signal the
 * condition that one waits for and wait for one's own; st_usleep(0) goes through the timer heap, the
 * idle thread and a poll of all descriptors, and takes eight times as long. */
#include <st.h>

#include "common.h"

enum { TIMES = 3, YIELDS = 1000000 };

struct side {
    st_cond_t mine, others;
    long yields;
};

static void *yield_many(void *arg) {
    struct side *side = arg;
    for (long n = side->yields; n > 0; n--) {
        st_cond_signal(side->others);
        st_cond_wait(side->mine);
    }
    st_cond_signal(side->others);
    return NULL;
}

static void run(long yields) {
    st_cond_t a = st_cond_new(), b = st_cond_new();
    struct side sides[2] = {{a, b, yields}, {b, a, yields}};
    st_thread_t threads[2];
    for (int i = 0; i < 2; i++) threads[i] = st_thread_create(yield_many, &sides[i], 1, 0);
    for (int i = 0; i < 2; i++) st_thread_join(threads[i], NULL);
    st_cond_destroy(a);
    st_cond_destroy(b);
}

int main(void) {
    bench_check(st_init() == 0, "cannot start State Threads");
    bench_report("yield", bench_quickest_ns(run, YIELDS, TIMES) / (2.0 * YIELDS), "ns");
    return 0;
}
