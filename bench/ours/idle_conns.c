/* SPDX-License-Identifier: MIT */
/* idle_conns: a fiber with a buffer of 4 KiB on its stack for each of 10,000 connections that rest. */
#include "ours/echo.h"

int main(void) {
    int connections = bench_connections();
    bench_load_fork(connections, load_idle_main);
    cc_runtime *rt = bench_runtime();
    cc_task t;
    bench_check(cc_runtime_spawn(rt, &t, NULL, serve, &connections) == 0, "cannot spawn");
    bench_load_idle_report(connections);
    bench_check(cc_task_join(t, NULL) == 0, "cannot join");
    cc_runtime_destroy(rt);
    return 0;
}
