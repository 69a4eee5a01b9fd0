/* SPDX-License-Identifier: MIT */
/* spawn_1m_empty: one task forks a million functions that leave a mark, and joins them, the newest first. */
#include "inside.h"

enum { FORKS = 1000000, TIMES = 5 };

static unsigned char marks[FORKS];

CC_TASK(mark, (int, id)) {
    marks[id] = 1;
    return 0;
}

static void run(long forks) {
    size_t count = (size_t)forks;
    CC_FORK_RECORD(mark) *record = calloc(count, sizeof *record);
    bench_check(record != NULL, "no memory");
    memset(marks, 0, sizeof marks);
    for (size_t i = 0; i < count; i++) cc_fork(record[i], mark, (int)i);
    for (size_t i = count; i-- > 0;) (void)cc_join(record[i], mark);
    for (size_t i = 0; i < count; i++) bench_check(marks[i] == 1, "one did not run");
    free(record);
}

int main(void) {
    bench_report("spawn_1m_empty", bench_quickest_inside_ns(run, FORKS, TIMES) / FORKS, "ns");
    return 0;
}
