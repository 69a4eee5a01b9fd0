/* SPDX-License-Identifier: MIT */
/* The load of the echo rows: a process of its own, one thread, that keeps one message of 64 bytes under way on each of
 * its connections, and times them. The server is the process that measures, so its processor time is its own. For the
 * row of idle connections it sends one message on each, then rests.
 *
 * Edge-triggered, since the kernel then hands out replies in the order they came in. Level-triggered, each descriptor
 * that was reported goes to the end of the list at once, in case there is more; its next reply is found there, before
 * those that came earlier on descriptors that were not in the list: with 64 connections two or three of each round were
 * overtaken by a whole round, and the 99th percentile was twice the median, whatever the server did.
 *
 * bench_load_fork() before the server starts threads; bench_load_begin() when it listens; the server ends when all
 * connections are closed, or is ended. Servers in other languages start load.c instead of forking, and talk to its
 * standard input and output. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "common.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOAD_BYTES = 64, LOAD_MOST = 16384, LOAD_WARM_MS = 200, LOAD_MS = 1000, LOAD_SAMPLES = 1 << 20 };

struct load_result {
    double measured; /* messages, without those to warm up */
    double ns;       /* that those took */
    double p50_ns, p99_ns;
};

static struct {
    int to_load, from_load;
    pid_t pid;
    double memory_before;
} load_process;

static inline double load_memory(void) {
    return bench_status_bytes("VmRSS") + bench_status_bytes("VmPTE");
}

static inline int load_connect(uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    bench_check(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static inline int load_compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static inline void load_raise_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static inline int load_receive(int fd, void *to, size_t n) {
    size_t at = 0;
    ssize_t k = 1;
    for (; at < n && k > 0; at += (size_t)k) k = read(fd, (char *)to + at, n - at);
    return k > 0;
}

/* One message there and back on each, then rest until the server says that it has seen enough. */
static inline void load_idle_main(int in, int out, int connections) {
    static int fds[LOAD_MOST];
    struct load_result r = {.measured = connections};
    struct linger reset = {.l_onoff = 1};
    uint16_t port;
    char buf[LOAD_BYTES] = {0};
    bench_check(load_receive(in, &port, sizeof port), "no port");
    for (int i = 0; i < connections; i++) {
        fds[i] = load_connect(port);
        bench_check(write(fds[i], buf, LOAD_BYTES) == LOAD_BYTES, "cannot send");
        bench_check(load_receive(fds[i], buf, LOAD_BYTES), "no reply");
        setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    bench_check(write(out, &r, sizeof r) == sizeof r, "cannot report");
    (void)load_receive(in, buf, 1); /* or its end */
    for (int i = 0; i < connections; i++) close(fds[i]);
}

static inline void load_main(int in, int out, int connections) {
    static double sent[LOAD_MOST];
    static int fds[LOAD_MOST];
    uint32_t *samples = (uint32_t *)malloc(LOAD_SAMPLES * sizeof *samples);
    size_t count = 0;
    int warm = 0;
    uint16_t port;
    char buf[LOAD_BYTES * 2] = {0};
    struct load_result r = {0};
    int set = epoll_create1(0);
    bench_check(load_receive(in, &port, sizeof port) && samples != NULL, "no port");
    for (int i = 0; i < connections; i++) {
        struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i};
        fds[i] = load_connect(port);
        epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &e);
    }
    double start = bench_now_ns(), from = start + LOAD_WARM_MS * 1e6, end = from + LOAD_MS * 1e6, now = start;
    for (int i = 0; i < connections; i++) {
        sent[i] = bench_now_ns();
        bench_check(write(fds[i], buf, LOAD_BYTES) == LOAD_BYTES, "cannot send");
    }
    while (now < end) {
        struct epoll_event got[256];
        int n = epoll_wait(set, got, 256, 5000);
        bench_check(n > 0, "no reply for seconds");
        for (int k = 0; k < n; k++) {
            uint32_t i = got[k].data.u32;
            bench_check(read(fds[i], buf, sizeof buf) == LOAD_BYTES, "not the whole reply");
            now = bench_now_ns();
            if (now >= from && !warm) {
                warm = 1;
                bench_check(write(out, &r, sizeof r) == sizeof r, "cannot report");
            }
            if (now >= from && now < end) {
                r.measured++;
                if (count < LOAD_SAMPLES) samples[count++] = (uint32_t)(now - sent[i]);
            }
            sent[i] = now;
            bench_check(write(fds[i], buf, LOAD_BYTES) == LOAD_BYTES, "cannot send");
        }
    }
    r.ns = LOAD_MS * 1e6;
    qsort(samples, count, sizeof *samples, load_compare);
    if (count > 0) {
        r.p50_ns = samples[count / 2];
        r.p99_ns = samples[count - 1 - count / 100];
    }
    bench_check(write(out, &r, sizeof r) == sizeof r, "cannot report");
    for (int i = 0; i < connections; i++) close(fds[i]);
}

static inline void bench_load_fork(int connections, void (*load)(int in, int out, int connections)) {
    int to[2], from[2];
    load_raise_limit();
    bench_check(pipe(to) == 0 && pipe(from) == 0, "no pipe");
    load_process.pid = fork();
    bench_check(load_process.pid >= 0, "cannot fork");
    if (load_process.pid == 0) {
        close(to[1]);
        close(from[0]);
        load(to[0], from[1], connections);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    load_process.to_load = to[1];
    load_process.from_load = from[0];
}

/* The server listens there. */
static inline void bench_load_begin(uint16_t port) {
    load_process.memory_before = load_memory();
    bench_check(write(load_process.to_load, &port, sizeof port) == sizeof port, "cannot tell the port");
}

/* How many connections the row has. */
static inline int bench_connections(void) {
    const char *count = getenv("BENCH_CONNECTIONS");
    int n = count == NULL ? 64 : (int)strtol(count, NULL, 10);
    bench_check(n > 0 && n <= LOAD_MOST, "BENCH_CONNECTIONS");
    return n;
}

/* All connections are there and rest: what memory this process has got since it listens, by their number. Then they are
 * closed. */
static inline void bench_load_idle_report(int connections) {
    struct load_result r;
    int status;
    bench_check(load_receive(load_process.from_load, &r, sizeof r), "no result");
    bench_report("memory", (load_memory() - load_process.memory_before) / connections, "bytes");
    fflush(stdout);
    close(load_process.to_load);
    waitpid(load_process.pid, &status, 0);
}

/* For programs that are measured in both rows: which one is meant. */
static inline bool bench_idle(void) {
    return getenv("BENCH_IDLE") != NULL;
}

/* Wait for the result, and report it. It comes twice: when all is warm, and at the end. */
static inline void bench_load_report(int connections) {
    struct load_result r;
    char row[32];
    int status;
    snprintf(row, sizeof row, "echo_%d", connections);
    bench_check(load_receive(load_process.from_load, &r, sizeof r), "no result");
    double cpu = bench_cpu_ns();
    bench_check(load_receive(load_process.from_load, &r, sizeof r) && r.measured > 0, "no result");
    cpu = bench_cpu_ns() - cpu;
    bench_report(row, r.ns / r.measured, "ns");
    bench_report("p50", r.p50_ns, "ns");
    bench_report("p99", r.p99_ns, "ns");
    bench_report("cpu", cpu / r.measured, "ns");
    fflush(stdout);
    waitpid(load_process.pid, &status, 0);
}

static inline void bench_load_fork_any(int connections) {
    bench_load_fork(connections, bench_idle() ? load_idle_main : load_main);
}
static inline void bench_load_report_any(int connections) {
    if (bench_idle())
        bench_load_idle_report(connections);
    else
        bench_load_report(connections);
}

#endif /* BENCH_LOAD_H */
