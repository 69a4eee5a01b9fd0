/* SPDX-License-Identifier: MIT */
/* Cpu count: affinity and cgroup quota.
 *
 * A container limits cpu time by a quota, not by affinity: a process that starts a worker for each of
 * the host's 64 cpus under a quota of 2 is throttled most of the time. So the quota is read, for both
 * generations of cgroups:
 *
 *   v2  /proc/self/cgroup has "0::/a/b"; cpu.max in /sys/fs/cgroup/a/b holds "QUOTA PERIOD" or "max
 *       PERIOD"; every ancestor may set a lower one, up to the root
 *   v1  a line "N:...,cpu,...:/a/b"; cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us in
 *       /sys/fs/cgroup/cpu/a/b; ancestors as above
 *
 * Inside a container the path in /proc/self/cgroup may name a folder of the host that is not mounted
 * here: the walk simply goes on to the parents, whose last is the mount's own root.
 *
 * Prev: plat/file.c  Next: plat/topology.h */
#include "cpu.h"

#include "file.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AFFINITY_CPUS_MAX = 1 << 16, CGROUP_PATH_MAX = 1024 };

int cc__cpu_affinity(void) {
    /* The mask of a large machine does not fit cpu_set_t: grow until the kernel is content. */
    for (int cpus = 1024; cpus <= AFFINITY_CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (set == NULL) return 1;
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : -1;
        CPU_FREE(set);
        if (n > 0) return n;
    }
    return 1;
}

static int quota_cpus(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return INT_MAX;
    long long n = quota / period + (quota % period != 0); /* rounded up, without overflow */
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* The quota of one cgroup folder, or INT_MAX. */
static int quota_read(const char *folder, bool v2) {
    char path[CGROUP_PATH_MAX + 64], text[64];
    long long quota = 0, period = 0;
    if (v2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (cc__file_read(path, text, sizeof text) < 0) return INT_MAX;
        if (sscanf(text, "%lld %lld", &quota, &period) != 2) return INT_MAX; /* "max 100000" */
        return quota_cpus(quota, period);
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (cc__file_read(path, text, sizeof text) < 0) return INT_MAX;
    quota = strtoll(text, NULL, 10);
    if (quota <= 0) return INT_MAX; /* as mostly: one file less to open when a runtime starts */
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (cc__file_read(path, text, sizeof text) < 0) return INT_MAX;
    return quota_cpus(quota, strtoll(text, NULL, 10));
}

/* The lowest quota from mount/group up to mount itself. */
static int quota_walk(const char *mount, const char *group, bool v2) {
    char folder[CGROUP_PATH_MAX];
    size_t root = strlen(mount);
    int n = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    if (n < 0) return INT_MAX;
    if ((size_t)n >= sizeof folder) { /* too long to name: begin at the lowest ancestor that is not */
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < root) return INT_MAX;
        *slash = 0;
    }
    int least = INT_MAX;
    for (;;) {
        int here = quota_read(folder, v2);
        if (here < least) least = here;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= root || slash == NULL) return least;
        *slash = 0;
    }
}

/* Whether the comma-separated list of v1 controllers names "cpu". */
static bool names_cpu(const char *list) {
    for (const char *at = list; (at = strstr(at, "cpu")) != NULL; at += 3) {
        bool begins = at == list || at[-1] == ',';
        if (begins && (at[3] == 0 || at[3] == ',')) return true;
    }
    return false;
}

int cc__cpu_quota(const char *root) {
    char path[CGROUP_PATH_MAX], text[8192];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (cc__file_read(path, text, sizeof text) < 0) return INT_MAX;
    int least = INT_MAX;
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *id = strsep(&line, ":"), *controllers = strsep(&line, ":");
        if (controllers == NULL || line == NULL) continue;
        bool v2 = strcmp(id, "0") == 0 && controllers[0] == 0;
        if (!v2 && !names_cpu(controllers)) continue;
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, v2 ? "" : "/cpu");
        int here = quota_walk(path, line, v2);
        if (here < least) least = here;
    }
    return least;
}

int cc__cpu_count(void) {
    int affinity = cc__cpu_affinity(), quota = cc__cpu_quota("");
    return quota < affinity ? quota : affinity;
}
