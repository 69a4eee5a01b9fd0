/* SPDX-License-Identifier: MIT */
/* What all C and C++ benchmark programs share: the clock, the report line, this process's memory.
 * README.md has the protocol. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Processor time of the whole process, all threads. */
static inline double bench_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* How many workers to measure with. */
static inline unsigned bench_workers(void) {
    const char *workers = getenv("BENCH_WORKERS");
    return workers == NULL ? 1 : (unsigned)strtoul(workers, NULL, 10);
}

/* Warm up, then do run(count) so many times: how long the quickest took. Other load on the machine only
 * ever adds to the time, in bursts, so the quickest is the nearest to the truth. */
static inline double bench_quickest_ns(void (*run)(long), long count, int times) {
    double quickest = 0;
    run(count / 10);
    for (int i = 0; i < times; i++) {
        double start = bench_now_ns();
        run(count);
        double taken = bench_now_ns() - start;
        if (i == 0 || taken < quickest) quickest = taken;
    }
    return quickest;
}

/* The same: what a quarter of them do not exceed. For what runs in one of several ways, as chance has it: the quickest
 * would be luck, and of the median other load would be a part. */
static inline double bench_quartile_ns(void (*run)(long), long count, int times) {
    double sorted[64] = {0};
    run(count / 10);
    for (int i = 0; i < times && i < 64; i++) {
        double start = bench_now_ns();
        run(count);
        double taken = bench_now_ns() - start;
        int at = i;
        for (; at > 0 && sorted[at - 1] > taken; at--) sorted[at] = sorted[at - 1];
        sorted[at] = taken;
    }
    return sorted[times / 4 % 64];
}

/* One line of the protocol. */
static inline void bench_report(const char *name, double value, const char *unit) {
    printf("%s %.6g %s\n", name, value, unit);
}

/* End the program: the runner shows the message and calls the run failed. */
static inline void bench_check(int ok, const char *message) {
    if (ok) return;
    fprintf(stderr, "%s\n", message);
    exit(1);
}

/* A field of /proc/self/status that is given in kB, in bytes. */
static inline double bench_status_bytes(const char *field) {
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    bench_check(f != NULL, "cannot read /proc/self/status");
    while (kib < 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, field, strlen(field)) == 0 && line[strlen(field)] == ':')
            kib = strtol(line + strlen(field) + 1, NULL, 10);
    fclose(f);
    bench_check(kib >= 0, "no such field in /proc/self/status");
    return (double)kib * 1024;
}

/* The whole process's memory, as so much a fiber: resident, page tables, and both. */
static inline void bench_report_memory(double fibers) {
    double resident = bench_status_bytes("VmRSS") / fibers, tables = bench_status_bytes("VmPTE") / fibers;
    bench_report("resident", resident, "bytes");
    bench_report("tables", tables, "bytes");
    bench_report("memory", resident + tables, "bytes");
}

#endif /* BENCH_COMMON_H */
