/* SPDX-License-Identifier: MIT */
/* Goal: the number of cpus this process may use: its affinity, and the lowest quota of any cgroup it is
 * in, of both generations, whatever the files hold.
 * Method: a folder of fixtures stands for / : each case writes /proc/self/cgroup and the groups' files
 * there and states the answer. The whole is asked with the real paths led to the fixtures; affinity by
 * a pinned thread, and by a stand-in for a machine whose mask is larger.
 * Link: -Wl,--wrap=sched_getaffinity,--wrap=__sched_cpualloc,--wrap=cc__file_read
 */
#include "test.h"

#include "plat/cpu.h"
#include "plat/file.h"
#include "plat/thread.h"

#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>

/* ---- stand-ins ---- */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
cpu_set_t *__real___sched_cpualloc(size_t count);
cpu_set_t *__wrap___sched_cpualloc(size_t count);
int __real_cc__file_read(const char *path, char *buf, size_t size);
int __wrap_cc__file_read(const char *path, char *buf, size_t size);

static size_t mask_bytes; /* the least that the kernel takes; 0: ask the real one */
static int mask_cpu = -1; /* the first of three cpus that are set then, or none */
static bool no_memory;
static const char *lead_to; /* where absolute paths are led */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    if (mask_bytes == 0) return __real_sched_getaffinity(pid, size, set);
    if (size < mask_bytes) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (int i = 0; mask_cpu >= 0 && i < 3; i++) CPU_SET_S((size_t)(mask_cpu + i), size, set);
    return 0;
}

cpu_set_t *__wrap___sched_cpualloc(size_t count) {
    return no_memory ? NULL : __real___sched_cpualloc(count);
}

int __wrap_cc__file_read(const char *path, char *buf, size_t size) {
    char led[PATH_MAX];
    if (lead_to == NULL) return __real_cc__file_read(path, buf, size);
    snprintf(led, sizeof led, "%s%s", lead_to, path);
    return __real_cc__file_read(led, buf, size);
}

/* ---- fixtures ---- */

static char root[64];

static void begin(void) {
    snprintf(root, sizeof root, "/tmp/ccrt-test-cpu-XXXXXX");
    assert_non_null(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void end(void) {
    assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Write a file, and the folders above it; path begins with a slash. */
static void put(const char *path, const char *text) {
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof whole, "%s%s", root, path);
    assert_true(n > 0 && (size_t)n < sizeof whole);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_true(fclose(f) == 0);
}

static void in_group(const char *cgroup) {
    put("/proc/self/cgroup", cgroup);
}
static void v2_max(const char *group, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    put(path, text);
}
static void v1_quota(const char *group, const char *quota, const char *period) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
    if (quota != NULL) put(path, quota);
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    if (period != NULL) put(path, period);
}

/* ---- generation 2 ---- */

static void v2_texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int cpus;
    } cases[] = {
        {"max 100000\n", INT_MAX},
        {"100000 100000\n", 1},
        {"200000 100000\n", 2},
        {"200001 100000\n", 3}, /* a part of a cpu counts as one */
        {"250000 100000\n", 3},
        {"1 100000\n", 1},
        {"1000 1000000\n", 1},
        {"6400000 100000", 64},
        {"0 100000\n", INT_MAX},
        {"-1 100000\n", INT_MAX},
        {"100000 0\n", INT_MAX},
        {"100000 -5\n", INT_MAX},
        {"9000000000000000 1\n", INT_MAX}, /* more cpus than an int holds */
        {"9223372036854775807 9223372036854775807\n", 1},
        {"9223372036854775807 100000\n", INT_MAX},
        {"99999999999999999999 100000\n", INT_MAX},
        {"100000\n", INT_MAX},
        {"max\n", INT_MAX},
        {"lots 100000\n", INT_MAX},
        {"\n", INT_MAX},
        {"", INT_MAX},
        {"0x10 100000\n", INT_MAX},
    };
    begin();
    in_group("0::/g\n");
    for (size_t i = 0; i < TEST_COUNT_OF(cases); i++) {
        v2_max("/g", cases[i].text);
        int cpus = cc__cpu_quota(root);
        if (cpus != cases[i].cpus) print_message("\"%s\"\n", cases[i].text);
        assert_int_equal(cpus, cases[i].cpus);
    }
    end();
}

static void v2_lowest_of_all_ancestors(void **state) {
    (void)state;
    begin();
    in_group("0::/a/b/c\n");
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    v2_max("/a/b/c", "800000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 8);
    v2_max("/a/b", "max 100000\n");
    assert_int_equal(cc__cpu_quota(root), 8);
    v2_max("/a", "300000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    v2_max("", "400000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    v2_max("", "150000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    v2_max("/other", "100000 100000\n"); /* not an ancestor */
    v2_max("/a/b/c/d", "100000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    v2_max("/a/b/c", "50000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 1);
    end();
}

static void v2_root_group(void **state) {
    (void)state;
    begin();
    in_group("0::/\n");
    v2_max("", "500000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 5);
    in_group("0::/"); /* no newline */
    assert_int_equal(cc__cpu_quota(root), 5);
    in_group("0::\n");
    assert_int_equal(cc__cpu_quota(root), 5);
    end();
}

/* A container that sees its host's path: what is mounted is its own group, as the root. */
static void path_of_the_host_is_not_mounted(void **state) {
    (void)state;
    begin();
    in_group("0::/kubepods.slice/pod1/cri-1234.scope\n");
    v2_max("", "200000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    in_group("4:cpu,cpuacct:/docker/0123456789\n");
    v1_quota("", "300000\n", "100000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    end();
}

static void group_names_may_hold_colons_and_spaces(void **state) {
    (void)state;
    begin();
    in_group("0::/a:b c/cpu:,x\n");
    v2_max("/a:b c/cpu:,x", "200000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    end();
}

/* ---- generation 1 ---- */

static void v1_texts(void **state) {
    (void)state;
    static const struct {
        const char *quota, *period;
        int cpus;
    } cases[] = {
        {"-1\n", "100000\n", INT_MAX}, {"100000\n", "100000\n", 1},  {"100001\n", "100000\n", 2},
        {"50000\n", "100000\n", 1},    {"0\n", "100000\n", INT_MAX}, {"100000\n", "0\n", INT_MAX},
        {"x\n", "100000\n", INT_MAX},  {"100000\n", "x\n", INT_MAX}, {"", "", INT_MAX},
        {"250000", "100000", 3},
    };
    begin();
    in_group("3:cpu:/g\n");
    for (size_t i = 0; i < TEST_COUNT_OF(cases); i++) {
        v1_quota("/g", cases[i].quota, cases[i].period);
        assert_int_equal(cc__cpu_quota(root), cases[i].cpus);
    }
    end();
}

static void v1_missing_files(void **state) {
    (void)state;
    begin();
    in_group("3:cpu:/g\n");
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    v1_quota("/g", "100000\n", NULL);
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    end();
    begin();
    in_group("3:cpu:/g\n");
    v1_quota("/g", NULL, "100000\n");
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    end();
}

static void v1_lowest_of_all_ancestors(void **state) {
    (void)state;
    begin();
    in_group("3:cpu,cpuacct:/a/b\n");
    v1_quota("/a/b", "-1\n", "100000\n");
    v1_quota("/a", "400000\n", "100000\n");
    v1_quota("", "-1\n", "100000\n");
    assert_int_equal(cc__cpu_quota(root), 4);
    v1_quota("", "150000\n", "50000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    v1_quota("/a/b", "60000\n", "50000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    end();
}

static void v1_controller_by_its_whole_name(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool ours;
    } cases[] = {
        {"3:cpu:/g\n", true},
        {"3:cpu,cpuacct:/g\n", true},
        {"3:cpuacct,cpu:/g\n", true},
        {"3:cpuset,cpu:/g\n", true},
        {"3:net,cpu,memory:/g\n", true},
        {"3:cpuset:/g\n", false},
        {"3:cpuacct:/g\n", false},
        {"3:cpuset,cpuacct:/g\n", false},
        {"3:xcpu:/g\n", false},
        {"3:name=cpu:/g\n", false},
        {"3:CPU:/g\n", false},
        {"3::/g\n", false},
        {"0:memory:/g\n", false},
        {"1:name=systemd:/g\n", false},
        {"3:cpucpu,cpu:/g\n", true},
    };
    begin();
    v1_quota("/g", "200000\n", "100000\n");
    v2_max("/g", "100000 100000\n"); /* only a line "0::" leads there */
    for (size_t i = 0; i < TEST_COUNT_OF(cases); i++) {
        in_group(cases[i].line);
        int cpus = cc__cpu_quota(root);
        if (cpus != (cases[i].ours ? 2 : INT_MAX)) print_message("%s", cases[i].line);
        assert_int_equal(cpus, cases[i].ours ? 2 : INT_MAX);
    }
    end();
}

static void both_generations_at_once(void **state) {
    (void)state;
    begin();
    in_group("12:memory:/m\n3:cpu,cpuacct:/one\n1:name=systemd:/x\n0::/two\n");
    v1_quota("/one", "500000\n", "100000\n");
    assert_int_equal(cc__cpu_quota(root), 5);
    v2_max("/two", "300000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    v1_quota("/one", "200000\n", "100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);
    end();
}

/* ---- what should not be there ---- */

static void nothing_to_read(void **state) {
    (void)state;
    begin();
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    in_group("");
    assert_int_equal(cc__cpu_quota(root), INT_MAX);
    end();
    assert_int_equal(cc__cpu_quota("/nonexistent"), INT_MAX);
}

static void garbage_lines(void **state) {
    (void)state;
    begin();
    v2_max("", "100000 100000\n");
    v1_quota("", "100000\n", "100000\n");
    const char *bad[] = {"\n\n\n", ":", "::", "0", "0:", "0:\n", "3:cpu", "3:cpu\n", "cpu", "garbage\n", "00::/\n"};
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        in_group(bad[i]);
        assert_int_equal(cc__cpu_quota(root), INT_MAX);
    }
    /* And a good line after them is found. */
    in_group("\n:\n3:cpu\ngarbage\n0::/\n");
    assert_int_equal(cc__cpu_quota(root), 1);
    end();
}

enum { PART = 100 };

/* A group `parts` folders deep, with names of PART - 1 letters. */
static void deep_group(char *out, size_t parts) {
    for (size_t i = 0; i < parts; i++) {
        out[i * PART] = '/';
        memset(out + i * PART + 1, (int)('a' + i % 26), PART - 1);
    }
    out[parts * PART] = 0;
}

static void long_paths(void **state) {
    (void)state;
    char group[70 * PART + 1], line[sizeof group + 8];
    begin();
    deep_group(group, 9); /* 900 bytes: fits */
    snprintf(line, sizeof line, "0::%s\n", group);
    in_group(line);
    v2_max(group, "300000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 3);
    group[PART] = 0;
    v2_max(group, "200000 100000\n");
    assert_int_equal(cc__cpu_quota(root), 2);

    /* Longer than any folder the walk can name: its ancestors still count. */
    for (size_t parts = 10; parts <= 70; parts += 20) {
        deep_group(group, parts);
        snprintf(line, sizeof line, "0::%s\n", group);
        in_group(line);
        assert_int_equal(cc__cpu_quota(root), 2);
    }
    memset(group, 'z', sizeof group - 1); /* one name, longer than that */
    group[0] = '/';
    v2_max("", "100000 100000\n");
    snprintf(line, sizeof line, "0::%s\n", group);
    in_group(line);
    assert_int_equal(cc__cpu_quota(root), 1);
    end();
}

/* A long list of other hierarchies before ours, and one that does not end within what is read. */
static void long_lists(void **state) {
    (void)state;
    static char text[20000];
    begin();
    v1_quota("/g", "200000\n", "100000\n");
    size_t n = 0;
    for (int i = 100; n < 7000; i++) n += (size_t)sprintf(text + n, "%d:name=other%d:/some/where\n", i, i);
    snprintf(text + n, sizeof text - n, "3:cpu:/g\n");
    in_group(text);
    assert_int_equal(cc__cpu_quota(root), 2);

    memset(text, 'x', sizeof text - 1);
    memcpy(text, "3:cpu:/g\n4:memory:/", 19);
    in_group(text);
    assert_int_equal(cc__cpu_quota(root), 2);
    end();
}

static void long_root(void **state) {
    (void)state;
    char far[3000];
    memset(far, 'r', sizeof far);
    far[0] = '/';
    far[sizeof far - 1] = 0;
    assert_int_equal(cc__cpu_quota(far), INT_MAX);
}

/* ---- affinity, and both together ---- */

static void *affinity_pinned(void *arg) {
    int *found = arg;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (__real_sched_getaffinity(0, sizeof set, &set) != 0) return NULL;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set) && cc__thread_pin(cpu) == 0) break;
    found[0] = cc__cpu_affinity();
    found[1] = cc__cpu_count();
    return NULL;
}

static void pinned_thread_has_one_cpu(void **state) {
    (void)state;
    int found[2] = {-1, -1};
    cc__thread t;
    assert_int_equal(cc__thread_start(&t, affinity_pinned, found), 0);
    cc__thread_join(&t);
    if (found[0] < 0) skip(); /* more cpus than fit cpu_set_t */
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 1);
}

static void affinity_is_the_masks_size(void **state) {
    (void)state;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (__real_sched_getaffinity(0, sizeof set, &set) != 0) skip();
    assert_int_equal(cc__cpu_affinity(), CPU_COUNT(&set));
}

static void large_machines(void **state) {
    (void)state;
    mask_bytes = CPU_ALLOC_SIZE(4096); /* refuses anything smaller */
    mask_cpu = 3000;
    assert_int_equal(cc__cpu_affinity(), 3);
    mask_bytes = CPU_ALLOC_SIZE(65536);
    mask_cpu = 65533;
    assert_int_equal(cc__cpu_affinity(), 3);
    mask_bytes = CPU_ALLOC_SIZE(65536) + 1; /* larger than is tried */
    assert_int_equal(cc__cpu_affinity(), 1);
    mask_bytes = 1;
    mask_cpu = -1; /* an empty mask is no answer */
    assert_int_equal(cc__cpu_affinity(), 1);
    mask_bytes = 0;
    no_memory = true;
    assert_int_equal(cc__cpu_affinity(), 1);
    no_memory = false;
}

static void count_is_the_smaller(void **state) {
    (void)state;
    int affinity = cc__cpu_affinity();
    assert_true(cc__cpu_count() >= 1 && cc__cpu_count() <= affinity);
    begin();
    lead_to = root;
    assert_int_equal(cc__cpu_count(), affinity);
    in_group("0::/g\n");
    v2_max("/g", "30000 100000\n");
    assert_int_equal(cc__cpu_count(), 1);
    v2_max("/g", "6553700000 100000\n");
    assert_int_equal(cc__cpu_count(), affinity);
    lead_to = NULL;
    end();
}

TEST_MAIN(cmocka_unit_test(v2_texts), cmocka_unit_test(v2_lowest_of_all_ancestors), cmocka_unit_test(v2_root_group),
          cmocka_unit_test(path_of_the_host_is_not_mounted), cmocka_unit_test(group_names_may_hold_colons_and_spaces),
          cmocka_unit_test(v1_texts), cmocka_unit_test(v1_missing_files), cmocka_unit_test(v1_lowest_of_all_ancestors),
          cmocka_unit_test(v1_controller_by_its_whole_name), cmocka_unit_test(both_generations_at_once),
          cmocka_unit_test(nothing_to_read), cmocka_unit_test(garbage_lines), cmocka_unit_test(long_paths),
          cmocka_unit_test(long_lists), cmocka_unit_test(long_root), cmocka_unit_test(pinned_thread_has_one_cpu),
          cmocka_unit_test(affinity_is_the_masks_size), cmocka_unit_test(large_machines),
          cmocka_unit_test(count_is_the_smaller))
