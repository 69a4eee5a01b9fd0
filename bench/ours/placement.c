/* SPDX-License-Identifier: MIT */
/* placement: three shapes of work under one policy of where spawned tasks go: the spawner's own worker, or, with
 * BENCH_SPAWN=roundrobin, all workers in turn.
 *
 *   pairs   16 tasks that each spawn a partner; the two hand a turn to and fro. Time a handing over
 *   fan     one task spawns 4,000 that compute for some microseconds. Time a task
 *   tree    a task spawns two, down to 4,096 leaves that compute for less. Time a task */
#include "inside.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { PAIRS = 16, TURNS = 5000, FAN = 4000, FAN_WORK = 2000, DEPTH = 12, LEAF_WORK = 200, TIMES = 5 };

/* ---- pairs ---- */

struct pair {
    _Atomic int turn; /* whose it is */
    cc_parker side[2];
    long handed[2];
};

static long handed[PAIRS];

static void hand_over_often(struct pair *p, int mine, long turns) {
    for (long i = 0; i < turns; i++) {
        while (atomic_load(&p->turn) != mine) cc_park_if(&p->turn, !mine);
        p->handed[mine]++;
        atomic_store(&p->turn, !mine);
        cc_unpark(p->side[!mine]);
    }
}

CC_TASK(partner, (struct pair *, p), (long, turns)) {
    p->side[1] = cc_parker_self();
    hand_over_often(p, 1, turns);
    return 0;
}

CC_TASK(pair, (int, id), (long, turns)) {
    struct pair p = {.turn = 1, .side = {cc_parker_self()}}; /* the partner begins: it is known by then */
    CC_NURSERY(n) {
        bench_check(cc_spawn(n, partner, &p, turns) == 0, "cannot spawn");
        hand_over_often(&p, 0, turns);
    }
    handed[id] = p.handed[0] + p.handed[1];
    return 0;
}

static void run_pairs(long turns) {
    memset(handed, 0, sizeof handed);
    CC_NURSERY(n) {
        for (int i = 0; i < PAIRS; i++) bench_check(cc_spawn(n, pair, i, turns) == 0, "cannot spawn");
    }
    for (int i = 0; i < PAIRS; i++) bench_check(handed[i] == 2 * turns, "a pair did not hand over so often");
}

/* ---- fan and tree ---- */

/* Something to do that no compiler leaves out; never 0. */
static unsigned compute(int steps) {
    volatile unsigned x = 1;
    for (int i = 0; i < steps; i++) x = x * 1664525 + 1013904223;
    return x | 1;
}

static unsigned results[1 << DEPTH];

static void check_results(long count) {
    for (long i = 0; i < count; i++) bench_check(results[i] != 0, "a task did not run");
    memset(results, 0, sizeof results);
}

CC_TASK(work, (int, id)) {
    results[id] = compute(FAN_WORK);
    return 0;
}

static void run_fan(long tasks) {
    CC_NURSERY(n) {
        for (int i = 0; i < tasks; i++) bench_check(cc_spawn(n, work, i) == 0, "cannot spawn");
    }
    check_results(tasks);
}

CC_TASK(grow, (int, from), (int, leaves)) {
    if (leaves == 1) {
        results[from] = compute(LEAF_WORK);
        return 0;
    }
    CC_NURSERY(n) {
        bench_check(cc_spawn(n, grow, from, leaves / 2) == 0, "cannot spawn");
        bench_check(cc_spawn(n, grow, from + leaves / 2, leaves - leaves / 2) == 0, "cannot spawn");
    }
    return 0;
}

static void run_tree(long leaves) {
    CC_NURSERY(n) {
        bench_check(cc_spawn(n, grow, 0, (int)leaves) == 0, "cannot spawn");
    }
    check_results(leaves);
}

static void *run(void *arg) {
    (void)arg;
    bench_report("pairs", bench_quickest_ns(run_pairs, TURNS, TIMES) / (2.0 * PAIRS * TURNS), "ns");
    bench_report("fan", bench_quickest_ns(run_fan, FAN, TIMES) / FAN, "ns");
    bench_report("tree", bench_quickest_ns(run_tree, 1 << DEPTH, TIMES) / (2.0 * (1 << DEPTH) - 1), "ns");
    return NULL;
}

int main(void) {
    const char *spawn = getenv("BENCH_SPAWN");
    bool in_turn = spawn != NULL && strcmp(spawn, "roundrobin") == 0;
    cc_runtime_attr attr = {.workers = bench_workers(), .spawn = in_turn ? CC_SPAWN_ROUNDROBIN : CC_SPAWN_LOCAL};
    bench_check(cc_run(&attr, run, NULL, NULL) == 0, "cannot run");
    return 0;
}
