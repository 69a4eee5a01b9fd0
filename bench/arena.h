/* SPDX-License-Identifier: MIT */
/* What the oneTBB programs share: an arena with as many threads as are asked for, in which the measuring is done. */
#ifndef BENCH_ARENA_H
#define BENCH_ARENA_H

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "common.h"

template <typename F> static auto bench_in_arena(F measure) {
    int workers = (int)bench_workers() > 0 ? (int)bench_workers() : 1;
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, (size_t)workers);
    tbb::task_arena arena(workers);
    return arena.execute(measure);
}

#endif /* BENCH_ARENA_H */
