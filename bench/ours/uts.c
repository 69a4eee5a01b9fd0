/* SPDX-License-Identifier: MIT */
/* uts: the children of a node are halved by forks until one is left, which is visited; no cutoff. */
#include "inside.h"
#include "uts.h"

static long visit(uint64_t node, unsigned depth);

CC_ASYNC(long, visit_some, (uint64_t, parent), (unsigned, depth), (unsigned, lo), (unsigned, hi)) {
    if (hi - lo == 1) return visit(uts_child(parent, lo), depth);
    unsigned mid = lo + (hi - lo) / 2;
    CC_FORKED(visit_some, upper);
    cc_fork(upper, visit_some, parent, depth, mid, hi);
    long nodes = visit_some(parent, depth, lo, mid);
    return nodes + cc_join(upper, visit_some);
}

static long visit(uint64_t node, unsigned depth) {
    unsigned children = uts_children(node, depth);
    return children == 0 ? 1 : 1 + visit_some(node, depth + 1, 0, children);
}

static void *measure(void *ns) {
    *(double *)ns = uts_node_ns(visit);
    return NULL;
}

int main(void) {
    double ns = 0;
    bench_inside(measure, &ns);
    bench_report("uts", ns, "ns");
    return 0;
}
