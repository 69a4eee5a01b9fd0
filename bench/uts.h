/* SPDX-License-Identifier: MIT */
/* uts: what the C and C++ programs of that row share: a tree that exists only as numbers. A node's number says how many
 * children it has, geometrically distributed with a mean of four, and with the place of a child, what number that has.
 * Subtrees of one level differ by orders of magnitude, and nothing but a visit tells. */
#ifndef BENCH_UTS_H
#define BENCH_UTS_H

#include <stdint.h>

#include "common.h"

enum { UTS_NODES = 2768986, UTS_DEPTH = 10, UTS_MOST = 100, UTS_TIMES = 3 };

static const uint64_t uts_root = UINT64_C(0x118e846ea93bc949);

static inline uint64_t uts_child(uint64_t node, unsigned i) {
    uint64_t x = node + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* At least so many with probability 0.8 to the power of that. */
static inline unsigned uts_children(uint64_t node, unsigned depth) {
    uint64_t draw = node >> 32, bound = UINT64_C(3435973836);
    unsigned count = 0;
    if (depth == UTS_DEPTH) return 0;
    for (; draw < bound && count < UTS_MOST; count++) bound = bound * 52429 >> 16;
    return count;
}

static inline void uts_check(long nodes) {
    bench_check(nodes == UTS_NODES, "not all nodes");
}

/* Visit all nodes some times: the quickest, by their number. */
static inline double uts_node_ns(long (*visit)(uint64_t node, unsigned depth)) {
    double quickest = 0;
    for (int i = -1; i < UTS_TIMES; i++) {
        double start = bench_now_ns();
        long nodes = visit(uts_root, 0);
        double taken = bench_now_ns() - start;
        uts_check(nodes);
        if (i <= 0 || taken < quickest) quickest = taken;
    }
    return quickest / UTS_NODES;
}

#endif /* BENCH_UTS_H */
