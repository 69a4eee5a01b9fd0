/* SPDX-License-Identifier: MIT */
/* The echo rows: a fiber a connection, as one writes a server. */
#ifndef BENCH_ECHO_H
#define BENCH_ECHO_H

#include "load.h"

#include "inside.h"

CC_TASK(session, (int, conn)) {
    cc_autoclose int fd = conn;
    char buf[4096];
    ssize_t k;
    while ((k = cc_read(fd, buf, sizeof buf)) > 0)
        if (cc_write(fd, buf, (size_t)k) < 0) break;
    return 0;
}

static void *serve(void *arg) {
    int ls = cc_listen("127.0.0.1:0"), connections = *(int *)arg;
    char addr[64];
    bench_check(ls >= 0 && cc_local_addr(ls, addr, sizeof addr) == 0, "cannot listen");
    bench_load_begin((uint16_t)strtoul(strrchr(addr, ':') + 1, NULL, 10));
    CC_NURSERY(n) {
        for (int i = 0; i < connections; i++) {
            int fd = cc_accept(ls);
            bench_check(fd >= 0 && cc_spawn(n, session, fd) == 0, "cannot accept");
        }
    }
    cc_close(ls);
    return arg;
}

static inline int echo_main(int connections) {
    bench_load_fork(connections, load_main);
    cc_runtime *rt = bench_runtime();
    cc_task t;
    bench_check(cc_runtime_spawn(rt, &t, NULL, serve, &connections) == 0, "cannot spawn");
    bench_load_report(connections);
    bench_check(cc_task_join(t, NULL) == 0, "cannot join");
    cc_runtime_destroy(rt);
    return 0;
}

#endif /* BENCH_ECHO_H */
