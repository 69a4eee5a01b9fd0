/* SPDX-License-Identifier: MIT */
/* uts: plain calls. */
#include "uts.h"

static long visit(uint64_t node, unsigned depth) {
    long nodes = 1;
    for (unsigned i = 0, children = uts_children(node, depth); i < children; i++)
        nodes += visit(uts_child(node, i), depth + 1);
    return nodes;
}

int main(void) {
    bench_report("uts", uts_node_ns(visit), "ns");
    return 0;
}
