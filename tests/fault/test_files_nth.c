/* SPDX-License-Identifier: MIT */
/* Goal: whatever of io_uring cannot be had, or does not take a call, files are read and written all the same, by
 * threads; nothing is leaked.
 * Method: a scenario of calls on files, in a runtime that is to use io_uring, run again and again with the Nth call of
 * what a ring needs made to fail, for N = 1, 2, ... until a run has no failure; then with all of them failing from the
 * Nth on.
 * Link: -Wl,--wrap=io_uring_queue_init_params,--wrap=io_uring_get_probe_ring
 * Link: -Wl,--wrap=io_uring_register_iowq_max_workers,--wrap=io_uring_submit
 * Link: -Wl,--wrap=epoll_create1,--wrap=epoll_ctl,--wrap=eventfd
 * Not with: thread
 */
#include "nth.h"
#include "runtimes.h"

#include "plat/uring.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static long fail_at = -1;
static _Atomic long calls;
static bool armed, lasting;

static bool fails(void) {
    if (!armed) return false;
    long n = cc__add_relaxed(&calls, 1) + 1;
    return lasting ? n >= fail_at : n == fail_at;
}

#if CCRT_HAVE_URING

#include <liburing.h>

int __real_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);
struct io_uring_probe *__real_io_uring_get_probe_ring(struct io_uring *ring);
int __real_io_uring_register_iowq_max_workers(struct io_uring *ring, unsigned *values);
int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);
struct io_uring_probe *__wrap_io_uring_get_probe_ring(struct io_uring *ring);
int __wrap_io_uring_register_iowq_max_workers(struct io_uring *ring, unsigned *values);
int __wrap_io_uring_submit(struct io_uring *ring);

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p) {
    return fails() ? -EPERM : __real_io_uring_queue_init_params(entries, ring, p);
}
struct io_uring_probe *__wrap_io_uring_get_probe_ring(struct io_uring *ring) {
    return fails() ? NULL : __real_io_uring_get_probe_ring(ring);
}
int __wrap_io_uring_register_iowq_max_workers(struct io_uring *ring, unsigned *values) {
    return fails() ? -EINVAL : __real_io_uring_register_iowq_max_workers(ring, values);
}
int __wrap_io_uring_submit(struct io_uring *ring) {
    return fails() ? -EAGAIN : __real_io_uring_submit(ring);
}

#endif

int __real_epoll_create1(int flags);
int __real_epoll_ctl(int set, int op, int fd, struct epoll_event *e);
int __real_eventfd(unsigned value, int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e);
int __wrap_eventfd(unsigned value, int flags);

static int fail_with(int error) {
    errno = error;
    return -1;
}
int __wrap_epoll_create1(int flags) {
    return fails() ? fail_with(EMFILE) : __real_epoll_create1(flags);
}
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e) {
    return fails() ? fail_with(ENOSPC) : __real_epoll_ctl(set, op, fd, e);
}
int __wrap_eventfd(unsigned value, int flags) {
    return fails() ? fail_with(EMFILE) : __real_eventfd(value, flags);
}

static size_t descriptors(void) {
    size_t n = 0;
    for (int fd = 0; fd < 2048; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

enum { TURNS = 40 }; /* more than there is room for in a ring that takes no calls */

static void *uses_files(void *arg) {
    char path[] = "/var/tmp/ccrt_test_nth_XXXXXX", buf[8];
    struct stat st;
    int first = mkstemp(path);
    test_must(first >= 0 && close(first) == 0);
    for (int i = 0; i < TURNS; i++) {
        int fd = cc_open(path, O_RDWR | O_CREAT, 0);
        test_must(fd >= 0 && cc_pwrite(fd, "hello", 5, 0) == 5 && (i > 0 || cc_fsync(fd) == 0));
        if (i == 0) test_must(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
        test_must(cc_pread(fd, buf, sizeof buf, 0) == 5 && memcmp(buf, "hello", 5) == 0 && cc_close(fd) == 0);
        test_must(cc_stat(path, &st) == 0 && st.st_size == 5);
    }
    test_must(unlink(path) == 0);
    return arg;
}

static void scenario(void *nth) {
    cc_runtime *rt;
    cc_task t;
    fail_at = *(long *)nth;
    test_must(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .io = CC_IO_URING, .no_monitor = 1}) == 0);
    size_t before = descriptors();
    armed = true;
    test_must(cc_runtime_spawn(rt, &t, NULL, uses_files, NULL) == 0 && cc_task_join(t, NULL) == 0);
    armed = false;
    cc_runtime_destroy(rt);
    test_must(descriptors() == before);
    if (cc__load_relaxed(&calls) < fail_at) _exit(TEST_NTH_NOT_REACHED);
}
static void scenario_lasting(void *nth) {
    lasting = true;
    scenario(nth);
}

static void one_that_fails(void **state) {
    (void)state;
    print_message("%ld calls were made to fail\n", test_nth(scenario) - 1);
}
static void all_that_fail(void **state) {
    (void)state;
    for (long n = 1; n < 16; n++) {
        char err[4096];
        int status = test_in_child(scenario_lasting, &n, err, sizeof err);
        bool good = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == TEST_NTH_NOT_REACHED);
        if (!good) print_message("from call %ld on: status %#x\n%s\n", n, (unsigned)status, err);
        assert_true(good);
    }
}

/* A ring that has taken nothing for longer than there is room in it takes calls again as soon as the kernel does. */
static void takes_again(void *arg) {
    (void)arg;
    struct cc__uring *u;
    struct cc__uring_over over[CC__URING_OVER];
    char c = 0;
    int fd = open("/dev/zero", O_RDONLY), real = 0;
    struct cc__file_call what = {.what = CC__FILE_READ, .fd = fd, .buf = &c, .n = 1};
    if (cc__uring_open(&u) != 0) return; /* there is none here */
    fail_at = 1;
    armed = lasting = true;
    for (int i = 0; i < 2 * TURNS; i++) test_must(cc__uring_ask(u, &what, 7) < 0);
    armed = false;
    test_must(cc__uring_ask(u, &what, 8) == 0);
    while (real == 0)
        for (unsigned i = 0, n = cc__uring_reap(u, over, CC__URING_OVER); i < n; i++)
            if (over[i].number == 8) real = over[i].result;
    test_must(real == 1);
    cc__uring_close(u);
}
static void a_ring_that_comes_back(void **state) {
    (void)state;
    char err[4096];
    int status = test_in_child(takes_again, NULL, err, sizeof err);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_MAIN(cmocka_unit_test(one_that_fails), cmocka_unit_test(all_that_fail), cmocka_unit_test(a_ring_that_comes_back))
