/* SPDX-License-Identifier: MIT */
/* Goal: the monitor takes no cpu while nothing happens, though the worker for tasks that were begun is still there.
 * Method: tasks compute on all workers while another beats, so that this worker is started; then they end, and it stays
 * for as long as an idle one may. Meanwhile the process should use next to no cpu. It was found by looking at which
 * workers count as idle: for one look all did, for the other that one did not, and the monitor looked again at once.
 */
#include "runtimes.h"

#include <time.h>

static _Atomic int over;

CC_TASK(computes) {
    while (cc__load_relaxed(&over) == 0) cc__cpu_relax();
    return 0;
}
CC_TASK(beats) {
    for (int i = 0; i < 20; i++) cc_sleep_ms(1);
    return 0;
}
static void *noise(void *arg) {
    CC_NURSERY(all) {
        CC_NURSERY(n) {
            test_must(cc_spawn(n, beats) == 0);
            cc_yield();
            for (int i = 0; i < 3; i++) test_must(cc_spawn(all, computes) == 0);
        }
        cc__store_relaxed(&over, 1);
    }
    return arg;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}
static int64_t cpu_ms(void) {
    struct timespec ts;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void an_idle_express_costs_nothing(void **state) {
    (void)state;
    if (!test_monitored()) skip();
    cc_runtime *rt = NULL;
    cc_task t;
    cc_runtime_stats s;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .max_workers = 1, .idle_ms = 60000}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, noise, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_stats_get(rt, &s);
    assert_int_equal(s.workers, 2); /* one of them the express */
    pause_ms(100);                  /* until the monitor would sleep */
    int64_t before = cpu_ms();
    pause_ms(500);
    assert_in_range(cpu_ms() - before, 0, 100);
    cc_runtime_destroy(rt);
}

TEST_MAIN(cmocka_unit_test(an_idle_express_costs_nothing))
