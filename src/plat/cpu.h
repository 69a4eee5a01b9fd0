/* SPDX-License-Identifier: MIT */
/* How many cpus this process may use. */
#ifndef CC__PLAT_CPU_H
#define CC__PLAT_CPU_H

/* The smaller of the affinity mask's size and the cgroup's cpu quota (rounded up); at least 1. */
int cc__cpu_count(void);

/* Its two halves, at least 1 each. The quota is INT_MAX where none is set; `root` stands before the
 * paths of /proc and /sys that are read ("" for the real ones, a folder of fixtures in tests). */
int cc__cpu_affinity(void);
int cc__cpu_quota(const char *root);

#endif /* CC__PLAT_CPU_H */
