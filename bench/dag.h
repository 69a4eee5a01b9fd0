/* SPDX-License-Identifier: MIT */
/* job_dag: what the C and C++ programs of that row share: the table of the longest common subsequence of two texts, cut
 * into tiles. A tile can be computed once the one to its left and the one above it have been. */
#ifndef BENCH_DAG_H
#define BENCH_DAG_H

#include <stdint.h>

#include "common.h"

enum { DAG_SIDE = 100, DAG_TILES = DAG_SIDE * DAG_SIDE, DAG_WIDTH = 16, DAG_LENGTH = DAG_SIDE * DAG_WIDTH };
enum { DAG_LONGEST = 1041, DAG_TIMES = 5 };

static unsigned char dag_text[2][DAG_LENGTH];
static uint16_t dag_table[DAG_LENGTH + 1][DAG_LENGTH + 1]; /* with a row and a column of zeros */

static inline void dag_tile(unsigned row, unsigned column) {
    for (unsigned y = row * DAG_WIDTH; y < (row + 1) * DAG_WIDTH; y++)
        for (unsigned x = column * DAG_WIDTH; x < (column + 1) * DAG_WIDTH; x++) {
            uint16_t above = dag_table[y][x + 1], left = dag_table[y + 1][x], most = above > left ? above : left;
            dag_table[y + 1][x + 1] = dag_text[0][y] == dag_text[1][x] ? (uint16_t)(dag_table[y][x] + 1) : most;
        }
}

/* How many of the two tiles before this one there are. */
static inline int dag_before(unsigned row, unsigned column) {
    return (row > 0) + (column > 0);
}

static inline void dag_fill(void) {
    uint64_t x = 88172645463325252U;
    for (int i = 0; i < 2 * DAG_LENGTH; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        dag_text[i % 2][i / 2] = (unsigned char)(x >> 62);
    }
}

/* Compute all tiles some times: the quickest, by their number. */
static inline double dag_tile_ns(void (*compute)(void)) {
    double quickest = 0;
    dag_fill();
    for (int i = -1; i < DAG_TIMES; i++) {
        memset(dag_table, 0, sizeof dag_table);
        double start = bench_now_ns();
        compute();
        double taken = bench_now_ns() - start;
        bench_check(dag_table[DAG_LENGTH][DAG_LENGTH] == DAG_LONGEST, "not the length of the longest subsequence");
        if (i <= 0 || taken < quickest) quickest = taken;
    }
    return quickest / DAG_TILES;
}

#endif /* BENCH_DAG_H */
