/* SPDX-License-Identifier: MIT */
/* uts: tbb::parallel_reduce over the children of each node. */
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "arena.h"
#include "uts.h"

using range = tbb::blocked_range<unsigned>;

static long visit(uint64_t node, unsigned depth) {
    unsigned children = uts_children(node, depth);
    if (children == 0) return 1;
    auto some = [=](const range &r, long nodes) {
        for (unsigned i = r.begin(); i < r.end(); i++) nodes += visit(uts_child(node, i), depth + 1);
        return nodes;
    };
    return 1 + tbb::parallel_reduce(range(0, children), 0L, some, std::plus<long>());
}

int main() {
    bench_report("uts", bench_in_arena([] { return uts_node_ns(visit); }), "ns");
    return 0;
}
