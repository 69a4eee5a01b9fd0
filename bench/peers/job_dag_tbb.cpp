/* SPDX-License-Identifier: MIT */
/* job_dag: a flow graph with a continue_node for each tile, made once. */
#include <memory>
#include <tbb/flow_graph.h>
#include <vector>

#include "arena.h"
#include "dag.h"

using tile = tbb::flow::continue_node<tbb::flow::continue_msg>;

static std::vector<std::unique_ptr<tile>> tiles;
static tbb::flow::graph *graph;

static void make_graph() {
    graph = new tbb::flow::graph;
    for (unsigned i = 0; i < DAG_TILES; i++)
        tiles.push_back(std::make_unique<tile>(
            *graph, [=](const tbb::flow::continue_msg &) { dag_tile(i / DAG_SIDE, i % DAG_SIDE); }));
    for (unsigned i = 0; i < DAG_TILES; i++) {
        if (i / DAG_SIDE + 1 < DAG_SIDE) tbb::flow::make_edge(*tiles[i], *tiles[i + DAG_SIDE]);
        if (i % DAG_SIDE + 1 < DAG_SIDE) tbb::flow::make_edge(*tiles[i], *tiles[i + 1]);
    }
}

static void compute() {
    tiles[0]->try_put(tbb::flow::continue_msg());
    graph->wait_for_all();
}

int main() {
    auto measure = [] {
        make_graph(); /* it runs in the arena it is made in */
        return dag_tile_ns(compute);
    };
    bench_report("job_dag", bench_in_arena(measure), "ns");
    return 0;
}
