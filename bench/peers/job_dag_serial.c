/* SPDX-License-Identifier: MIT */
/* job_dag: the tiles one after the other, row by row. */
#include "dag.h"

static void compute(void) {
    for (unsigned i = 0; i < DAG_TILES; i++) dag_tile(i / DAG_SIDE, i % DAG_SIDE);
}

int main(void) {
    bench_report("job_dag", dag_tile_ns(compute), "ns");
    return 0;
}
