/* SPDX-License-Identifier: MIT */
/* job_dag: an OpenMP task for each tile, with the two it depends on. */
#include "dag.h"

static char done[DAG_SIDE + 1][DAG_SIDE + 1]; /* only names for what tasks depend on; the border, on nothing */

static void compute(void) {
#pragma omp parallel
#pragma omp single
    for (unsigned i = 0; i < DAG_TILES; i++) {
        unsigned row = i / DAG_SIDE, column = i % DAG_SIDE;
#pragma omp task depend(in : done[row][column + 1], done[row + 1][column]) depend(out : done[row + 1][column + 1])
        dag_tile(row, column);
    }
}

int main(void) {
    bench_report("job_dag", dag_tile_ns(compute), "ns");
    return 0;
}
