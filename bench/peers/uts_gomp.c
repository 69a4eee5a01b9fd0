/* SPDX-License-Identifier: MIT */
/* uts: an OpenMP task for each child but the last. */
#include "uts.h"

static long visit(uint64_t node, unsigned depth) {
    unsigned children = uts_children(node, depth);
    if (children == 0) return 1;
    long nodes[UTS_MOST], sum = 1;
    for (unsigned i = 0; i + 1 < children; i++) {
#pragma omp task shared(nodes)
        nodes[i] = visit(uts_child(node, i), depth + 1);
    }
    nodes[children - 1] = visit(uts_child(node, children - 1), depth + 1);
#pragma omp taskwait
    for (unsigned i = 0; i < children; i++) sum += nodes[i];
    return sum;
}

static long visit_all(uint64_t node, unsigned depth) {
    long nodes = 0;
#pragma omp parallel
#pragma omp single
    nodes = visit(node, depth);
    return nodes;
}

int main(void) {
    bench_report("uts", uts_node_ns(visit_all), "ns");
    return 0;
}
