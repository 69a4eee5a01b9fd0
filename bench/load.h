/* SPDX-License-Identifier: MIT */
/* The load of the echo rows: a process of its own, one thread, that keeps one message of 64 bytes under way on each of
 * its connections, and times them. The server is the process that measures, so its processor time is its own. For the
 * row of idle connections it sends one message on each, then rests.
 *
 * It does so in turns of 250 ms, between which all rests. Where a row asks for it, the runner starts all its servers at
 * the same time, and their loads hand a byte from one to the next, by the pipes that BENCH_TURN_IN and BENCH_TURN_OUT
 * name: whoever has it has the machine for a turn. How quick a shared machine is changes by half from one second to the
 * next; what is compared should be measured close to each other, and often. The first turn warms up. In the one after
 * the last all report and end, so that nobody who is measured has to share the machine with that. Without such pipes,
 * as when a program is started by hand, turns follow each other.
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
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOAD_BYTES = 64, LOAD_MOST = 16384, LOAD_SAMPLES = 1 << 20 };
/* Turns that are measured, and how long: at the begin of each is a while that does not count, until all is in the
 * caches again, and the crowd with which it begins has spread. With 1,000 connections a round trip takes 7 ms. */
enum { LOAD_TURNS = 8, LOAD_TURN_MS = 200, LOAD_SKIP_MS = 50, LOAD_WARM_MS = 200 };

struct load_result {
    double measured;       /* messages */
    double ns;             /* that those took */
    double p50_ns, p99_ns; /* of a turn, the medians of all turns */
    double p999_ns;        /* of all turns together */
    double answered;       /* messages, with those that were sent in a turn but are not measured */
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

struct load {
    int set, connections, turn_in, turn_out; /* the last two: -1 nobody to take turns with */
    int fds[LOAD_MOST];
    double sent[LOAD_MOST];
    uint32_t *samples; /* of all turns */
    size_t count;
    int turns;
    uint32_t p50[LOAD_TURNS], p99[LOAD_TURNS];
    struct load_result r;
};

static inline int load_turn_pipe(const char *name) {
    const char *path = getenv(name);
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC); /* both ways: it never ends */
    bench_check(path == NULL || fd >= 0, "cannot open the pipe for turns");
    return fd;
}
static inline void load_turn_await(struct load *l) {
    char byte;
    bench_check(l->turn_in < 0 || load_receive(l->turn_in, &byte, 1), "no turn");
}
static inline void load_turn_over(struct load *l) {
    bench_check(l->turn_out < 0 || write(l->turn_out, "", 1) == 1, "cannot end the turn");
}

static inline void load_send(struct load *l, uint32_t i, double now) {
    static const char message[LOAD_BYTES];
    l->sent[i] = now;
    bench_check(write(l->fds[i], message, LOAD_BYTES) == LOAD_BYTES, "cannot send");
}

/* A message under way on each, until that time is over and all are back. Replies from `from` to `end` are measured. */
static inline void load_turn(struct load *l, double from, double end) {
    int away = l->connections;
    for (int i = 0; i < l->connections; i++) load_send(l, (uint32_t)i, bench_now_ns());
    while (away > 0) {
        struct epoll_event got[256];
        int n = epoll_wait(l->set, got, 256, 5000);
        bench_check(n > 0, "no reply for seconds");
        for (int k = 0; k < n; k++) {
            uint32_t i = got[k].data.u32;
            char reply[LOAD_BYTES * 2];
            bench_check(read(l->fds[i], reply, sizeof reply) == LOAD_BYTES, "not the whole reply");
            double now = bench_now_ns();
            l->r.answered++;
            if (now >= from && now < end) {
                l->r.measured++;
                if (l->count < LOAD_SAMPLES) l->samples[l->count++] = (uint32_t)(now - l->sent[i]);
            }
            if (now < end)
                load_send(l, i, now);
            else
                away--;
        }
    }
}

static inline void load_sort(uint32_t *all, size_t n) {
    qsort(all, n, sizeof *all, load_compare);
}

static inline void load_warm_up(struct load *l) {
    load_turn_await(l);
    double end = bench_now_ns() + LOAD_WARM_MS * 1e6;
    load_turn(l, end, end);
    l->r = (struct load_result){0};
    load_turn_over(l);
}

static inline void load_take_turn(struct load *l) {
    load_turn_await(l);
    uint32_t *mine = l->samples + l->count;
    size_t before = l->count;
    double from = bench_now_ns() + LOAD_SKIP_MS * 1e6;
    load_turn(l, from, from + LOAD_TURN_MS * 1e6);
    size_t n = l->count - before;
    bench_check(n > 0, "no reply within a turn");
    load_sort(mine, n);
    l->p50[l->turns] = mine[n / 2];
    l->p99[l->turns++] = mine[n - 1 - n / 100];
    l->r.ns += LOAD_TURN_MS * 1e6;
    load_turn_over(l);
}

static inline void load_conclude(struct load *l) {
    load_sort(l->p50, LOAD_TURNS);
    load_sort(l->p99, LOAD_TURNS);
    load_sort(l->samples, l->count);
    l->r.p50_ns = l->p50[LOAD_TURNS / 2];
    l->r.p99_ns = l->p99[LOAD_TURNS / 2];
    l->r.p999_ns = l->samples[l->count - 1 - l->count / 1000];
}

static inline void load_main(int in, int out, int connections) {
    static struct load l;
    uint16_t port;
    l = (struct load){.set = epoll_create1(0), .connections = connections};
    l.samples = (uint32_t *)malloc(LOAD_SAMPLES * sizeof *l.samples);
    l.turn_in = load_turn_pipe("BENCH_TURN_IN");
    l.turn_out = load_turn_pipe("BENCH_TURN_OUT");
    bench_check(load_receive(in, &port, sizeof port) && l.samples != NULL, "no port");
    for (int i = 0; i < connections; i++) {
        struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i};
        l.fds[i] = load_connect(port);
        epoll_ctl(l.set, EPOLL_CTL_ADD, l.fds[i], &e);
    }
    load_warm_up(&l);
    bench_check(write(out, &l.r, sizeof l.r) == sizeof l.r, "cannot report");
    while (l.turns < LOAD_TURNS) load_take_turn(&l);
    load_turn_await(&l); /* all have been measured */
    load_conclude(&l);
    bench_check(write(out, &l.r, sizeof l.r) == sizeof l.r, "cannot report");
    for (int i = 0; i < connections; i++) close(l.fds[i]);
    load_turn_over(&l);
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
    bench_report("p999", r.p999_ns, "ns");
    bench_report("cpu", cpu / r.answered, "ns");
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
