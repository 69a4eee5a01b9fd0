/* SPDX-License-Identifier: MIT */
/* Goal: an idle runtime makes no system call, wakes nobody and starts no thread, however many tasks are parked in it
 * or sleep for long (lessons 30, 37).
 * Method: runtimes of 1, 2, 7 and 16 workers with 1,000 parked tasks and a sleeper of an hour in all; once they have
 * come to rest, /proc says how often their threads were switched to, twice a second apart. A thread that does anything
 * is switched to; a busy machine only delays the time of rest, so there are several tries. Then all are woken.
 */
#include "runtimes.h"

#include <dirent.h>

enum { PARKED = 250, RUNTIMES = 4 }; /* tasks in each */

struct bed {
    _Atomic int up;
    _Atomic int known;
    cc_parker parker;
};
static struct bed beds[RUNTIMES][PARKED];

static void *lies(void *arg) {
    struct bed *b = arg;
    b->parker = cc_parker_self();
    cc__store_release(&b->known, 1);
    while (cc__load_acquire(&b->up) == 0) cc_park_if(&b->up, 0);
    return arg;
}

static struct {
    _Atomic int asleep[RUNTIMES];
    cc_nursery *_Atomic nursery[RUNTIMES];
} sleepers;

CC_TASK(sleeps_an_hour, (int, k)) {
    cc__store_release(&sleepers.asleep[k], 1);
    return cc_sleep_ms(3600 * 1000);
}
static void *has_a_sleeper(void *arg) {
    int k = (int)(intptr_t)arg, rc = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, sleeps_an_hour, k) == 0);
        cc__store_release(&sleepers.nursery[k], n);
        rc = cc_nursery_wait(n);
    }
    return (void *)(intptr_t)rc;
}

/* How often the workers' threads were switched to, and how many there are. */
struct activity {
    long switches, threads;
};
static void read_thread(const char *task, struct activity *a) {
    char path[300], line[200];
    long n;
    bool ours = false;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *f = fopen(path, "r");
    if (f == NULL) return;
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "Name:\tccrt-", 11) == 0) ours = true;
        if (ours && (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
                     sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1))
            a->switches += n;
    }
    fclose(f);
    a->threads += ours;
}
static struct activity read_threads(void) {
    struct activity a = {0};
    DIR *d = opendir("/proc/self/task");
    test_must(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') read_thread(e->d_name, &a);
    closedir(d);
    return a;
}

static bool comes_to_rest(long workers) {
    for (int i = 0; i < 20; i++) {
        struct activity before = read_threads();
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        struct activity after = read_threads();
        assert_int_equal(after.threads, workers + test_monitored()); /* and the monitor */
        if (after.switches == before.switches) return true;
    }
    return false;
}

static void lesson_37_idle_runtimes_do_nothing(void **state) {
    (void)state;
    cc_runtime *rt[RUNTIMES];
    static cc_task t[RUNTIMES][PARKED];
    cc_task s[RUNTIMES];
    long workers = 0;
    if (read_threads().threads != 0 || access("/proc/self/task", R_OK) != 0) skip();
    for (int k = 0; k < RUNTIMES; k++) {
        assert_int_equal(cc_runtime_create(&rt[k], &(cc_runtime_attr){.workers = test_workers[k]}), 0);
        workers += (long)test_workers[k];
        for (int i = 0; i < PARKED; i++)
            assert_int_equal(cc_runtime_spawn(rt[k], &t[k][i], NULL, lies, &beds[k][i]), 0);
        assert_int_equal(cc_runtime_spawn(rt[k], &s[k], NULL, has_a_sleeper, (void *)(intptr_t)k), 0);
    }
    for (int k = 0; k < RUNTIMES; k++) {
        for (int i = 0; i < PARKED; i++)
            while (cc__load_acquire(&beds[k][i].known) == 0) cc_sleep_ms(1);
        while (cc__load_acquire(&sleepers.asleep[k]) == 0 || cc__load_acquire(&sleepers.nursery[k]) == NULL)
            cc_sleep_ms(1);
    }
    assert_true(comes_to_rest(workers));
    for (int k = 0; k < RUNTIMES; k++) {
        void *result = NULL;
        for (int i = 0; i < PARKED; i++) {
            cc__store_release(&beds[k][i].up, 1);
            cc_unpark(beds[k][i].parker);
        }
        for (int i = 0; i < PARKED; i++) assert_int_equal(cc_task_join(t[k][i], NULL), 0);
        cc_nursery_cancel(cc__load_acquire(&sleepers.nursery[k]));
        assert_int_equal(cc_task_join(s[k], &result), 0);
        assert_int_equal((intptr_t)result, -ECANCELED);
        cc_runtime_destroy(rt[k]);
    }
}

TEST_MAIN(cmocka_unit_test(lesson_37_idle_runtimes_do_nothing))
