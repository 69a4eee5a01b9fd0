/* SPDX-License-Identifier: MIT */
/* job_dag: a job for each tile. One way, the last of those that it depends on spawns it. The other, `waiting`: all are
 * spawned at once, and each waits for a counter that those it depends on count down. */
#include "base/atomic.h"
#include "dag.h"
#include "inside.h"

struct tile {
    _Atomic int waits_for; /* so many tiles.  W, R: those, when they are done */
    cc_counter before;     /* the same */
};

static struct tile tiles[DAG_TILES];
static cc_job jobs[DAG_TILES];
static cc_counter all = CC_COUNTER_INIT(0);

static void spawn(cc_job *job) {
    bench_check(cc_job_spawn(job->fn, job->arg, CC_PRIORITY_NORMAL, &all) == 0, "cannot spawn");
}

static void tile_done(unsigned i) {
    if (cc__sub_acq_rel(&tiles[i].waits_for, 1) == 1) spawn(&jobs[i]);
}

static void spawned(void *arg) {
    unsigned i = (unsigned)((struct tile *)arg - tiles), row = i / DAG_SIDE, column = i % DAG_SIDE;
    dag_tile(row, column);
    if (row + 1 < DAG_SIDE) tile_done(i + DAG_SIDE);
    if (column + 1 < DAG_SIDE) tile_done(i + 1);
}

static void waits(void *arg) {
    unsigned i = (unsigned)((struct tile *)arg - tiles), row = i / DAG_SIDE, column = i % DAG_SIDE;
    cc_counter_wait(&tiles[i].before);
    dag_tile(row, column);
    if (row + 1 < DAG_SIDE) cc_counter_done(&tiles[i + DAG_SIDE].before);
    if (column + 1 < DAG_SIDE) cc_counter_done(&tiles[i + 1].before);
}

static void spawn_as_ready(void) {
    for (unsigned i = 0; i < DAG_TILES; i++) {
        cc__store_relaxed(&tiles[i].waits_for, dag_before(i / DAG_SIDE, i % DAG_SIDE));
        jobs[i] = (cc_job){spawned, &tiles[i]};
    }
    spawn(&jobs[0]);
    cc_counter_wait(&all);
}

static void spawn_all(void) {
    for (unsigned i = 0; i < DAG_TILES; i++) {
        cc_counter_add(&tiles[i].before, (unsigned)dag_before(i / DAG_SIDE, i % DAG_SIDE));
        jobs[i] = (cc_job){waits, &tiles[i]};
    }
    bench_check(cc_job_spawn_many(jobs, DAG_TILES, CC_PRIORITY_NORMAL, &all) == 0, "cannot spawn");
    cc_counter_wait(&all);
}

static void *measure(void *arg) {
    double *ns = arg;
    ns[0] = dag_tile_ns(spawn_as_ready);
    ns[1] = dag_tile_ns(spawn_all);
    return NULL;
}

int main(void) {
    double ns[2];
    bench_inside(measure, ns);
    bench_report("job_dag", ns[0], "ns");
    bench_report("waiting", ns[1], "ns");
    return 0;
}
