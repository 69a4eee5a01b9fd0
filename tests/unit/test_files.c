/* SPDX-License-Identifier: MIT */
/* Goal: calls on files that the kernel makes (driver/files.c, sched/filewait.c): they are made; a caller that is
 * cancelled, or too late, comes back when the kernel is through with its buffer, with nothing lost; a worker that is
 * stuck keeps none waiting; more may be under way than the ring has room for; a fork() does no harm.
 * Method: a pipe stands for a disk that takes its time. Where there is no io_uring: that the call says so.
 */
#include "runtimes.h"

#include "plat/fdio.h"
#include "plat/uring.h"
#include "sched/sched.h"

#include <fcntl.h>
#include <poll.h>

/* ---- with a ring, or not at all ---- */

static bool there_is_one(void) {
    struct cc__uring *u;
    int rc = cc__uring_open(&u);
    if (rc == 0) cc__uring_close(u);
    if (rc != 0) print_message("no io_uring here: %s\n", cc_strerror(rc));
    return rc == 0;
}

/* Temporary workers have no rings, so there are none of them unless they are wanted. */
static void *on_rings(unsigned workers, bool alone, void *(*fn)(void *), void *arg) {
    cc_runtime *rt = NULL;
    cc_task t;
    void *result = NULL;
    assert_int_equal(
        cc_runtime_create(&rt, &(cc_runtime_attr){.workers = workers, .io = CC_IO_URING, .no_monitor = alone}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, fn, arg), 0);
    assert_int_equal(cc_task_join(t, &result), 0);
    cc_runtime_destroy(rt);
    return result;
}
static void on_few_and_many(void *(*fn)(void *)) {
    if (!there_is_one()) skip();
    on_rings(1, true, fn, NULL);
    on_rings(2, true, fn, NULL);
    on_rings(7, true, fn, NULL);
}

static int64_t reads(int fd, void *buf, size_t n) {
    struct cc__file_call c = {.what = CC__FILE_READ, .fd = fd, .buf = buf, .n = n};
    return cc__files_make(&c);
}

/* ---- calls ---- */

static void *all_calls(void *arg) {
    char path[] = "/tmp/ccrt_test_files_XXXXXX", buf[16] = {0};
    int fd = mkstemp(path);
    struct statx found;
    struct stat st;
    struct cc__file_call write = {
        .what = CC__FILE_WRITE, .fd = fd, .buf = (char *)(uintptr_t) "hello", .n = 5, .at = 2};
    struct cc__file_call sync = {.what = CC__FILE_SYNC, .fd = fd}, bad = {.what = CC__FILE_SYNC, .fd = -1};
    struct cc__file_call open = {.what = CC__FILE_OPEN, .path = path, .flags = O_RDONLY};
    struct cc__file_call stat = {.what = CC__FILE_STAT, .path = path, .statx = &found};
    test_must(fd >= 0 && cc__files_make(&write) == 5 && cc__files_make(&sync) == 0 && cc__files_make(&bad) == -EBADF);
    test_must(reads(fd, buf, sizeof buf) == 7 && memcmp(buf, "\0\0hello", 7) == 0);
    int64_t other = cc__files_make(&open);
    test_must(other >= 0 && (fcntl((int)other, F_GETFD) & FD_CLOEXEC) != 0 && close((int)other) == 0);
    struct stat as_stat_says;
    test_must(cc__files_make(&stat) == 0 && lstat(path, &as_stat_says) == 0);
    cc__fdio_stat_of(&st, &found);
    test_must(st.st_ino == as_stat_says.st_ino && st.st_dev == as_stat_says.st_dev && st.st_size == 7);
    test_must(st.st_mode == as_stat_says.st_mode && st.st_nlink == 1 && st.st_uid == as_stat_says.st_uid);
    test_must(st.st_mtim.tv_sec == as_stat_says.st_mtim.tv_sec && st.st_mtim.tv_nsec == as_stat_says.st_mtim.tv_nsec);
    test_must(st.st_blocks == as_stat_says.st_blocks && st.st_blksize == as_stat_says.st_blksize);
    test_must(close(fd) == 0 && unlink(path) == 0 && cc__files_make(&open) == -ENOENT);
    test_must(cc__files_make(&stat) == -ENOENT);
    return arg;
}
static void calls_are_made(void **state) {
    (void)state;
    on_few_and_many(all_calls);
}

static void *says_so(void *arg) {
    struct cc__file_call c = {.what = CC__FILE_SYNC, .fd = -1};
    test_must(cc__files_make(&c) == CC__FILES_NONE);
    return arg;
}
static void none_where_there_is_none(void **state) {
    (void)state;
    says_so(NULL); /* a plain thread */
    cc_runtime *rt;
    cc_task t;
    for (int io = CC_IO_EPOLL; io <= CC_IO_POOL; io++) {
        if (io == CC_IO_URING) continue;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .io = io}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, says_so, NULL), 0);
        assert_int_equal(cc_task_join(t, NULL), 0);
        cc_runtime_destroy(rt);
    }
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.io = CC_IO_POOL + 1}), -EINVAL);
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.io = -1}), -EINVAL);
}

/* ---- cancelled ---- */

struct reader {
    int pipe[2];
    char byte;
    int64_t got;
};

CC_TASK(reads_one, (struct reader *, r)) {
    r->got = reads(r->pipe[0], &r->byte, 1);
    return 0;
}
CC_TASK(reads_shielded, (struct reader *, r)) {
    CC_SHIELD {
        r->got = reads(r->pipe[0], &r->byte, 1);
    }
    return 0;
}

static void *cancelled_in_the_middle(void *arg) {
    struct reader r = {.byte = '-', .got = 7};
    test_must(pipe(r.pipe) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_one, &r) == 0);
        cc_sleep_ms(5);
        test_must(r.got == 7); /* it waits */
        cc_nursery_cancel(n);
    }
    test_must(r.got == -ECANCELED);
    test_must(write(r.pipe[1], "x", 1) == 1);
    cc_sleep_ms(1);
    test_must(r.byte == '-'); /* nobody reads into it any more */
    CC_DEADLINE_MS(1000) test_must(reads(r.pipe[0], &r.byte, 1) == 1 && r.byte == 'x');
    CC_DEADLINE_MS(5) r.got = reads(r.pipe[0], &r.byte, 1);
    test_must(r.got == -ETIMEDOUT);
    CC_NURSERY(n) {
        r.got = 7;
        test_must(cc_spawn(n, reads_shielded, &r) == 0);
        cc_sleep_ms(2);
        cc_nursery_cancel(n);
        CC_SHIELD cc_sleep_ms(2);
        test_must(r.got == 7 && write(r.pipe[1], "y", 1) == 1);
    }
    test_must(r.got == 1 && r.byte == 'y');
    test_must(close(r.pipe[0]) == 0 && close(r.pipe[1]) == 0);
    return arg;
}
static void a_cancelled_caller_comes_back_alone(void **state) {
    (void)state;
    on_few_and_many(cancelled_in_the_middle);
}

/* What is written while its reader is cancelled was read, or is still there. */
static void *cancelled_or_read(void *arg) {
    struct reader r;
    test_must(pipe2(r.pipe, O_NONBLOCK) == 0);
    test_must(fcntl(r.pipe[0], F_SETFL, 0) == 0);
    int cancelled = 0, read_by_it = 0;
    for (size_t i = test_rounds(2000); i > 0; i--) {
        char left;
        r.got = 7;
        CC_NURSERY(n) {
            test_must(cc_spawn(n, reads_one, &r) == 0);
            if (i % 3 == 0) cc_yield();
            test_jitter();
            if (i % 2 == 0) test_must(write(r.pipe[1], "x", 1) == 1);
            cc_nursery_cancel(n);
            test_jitter();
            if (i % 5 == 0) cc_yield();
            if (i % 2 != 0) test_must(write(r.pipe[1], "x", 1) == 1);
        }
        test_must(r.got == 1 || r.got == -ECANCELED);
        if (r.got == 1)
            read_by_it++;
        else
            cancelled++;
        if (r.got != 1) test_must(read(r.pipe[0], &left, 1) == 1);
    }
    print_message("%d read, %d cancelled\n", read_by_it, cancelled);
    test_must(close(r.pipe[0]) == 0 && close(r.pipe[1]) == 0);
    return arg;
}
static void nothing_is_lost_by_cancelling(void **state) {
    (void)state;
    on_few_and_many(cancelled_or_read);
}

/* ---- workers that are stuck, crowds, children ---- */

static _Atomic int seen;

CC_TASK(reads_and_tells, (struct reader *, r)) {
    r->got = reads(r->pipe[0], &r->byte, 1);
    cc__store_release(&seen, 1);
    return 0;
}
static void *computes_until_it_is_seen(void *arg) {
    struct reader r = {.got = 7};
    test_must(pipe(r.pipe) == 0);
    cc__store_relaxed(&seen, 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_and_tells, &r) == 0);
        cc_sleep_ms(2);
        test_must(write(r.pipe[1], "x", 1) == 1);
        while (cc__load_acquire(&seen) == 0) cc__cpu_relax(); /* the worker that asked for it */
    }
    test_must(r.got == 1 && close(r.pipe[0]) == 0 && close(r.pipe[1]) == 0);
    return arg;
}
static void a_stuck_worker_keeps_none(void **state) {
    (void)state;
    if (!test_monitored() || !there_is_one()) skip();
    on_rings(1, false, computes_until_it_is_seen, NULL);
}

enum { CROWD = 1500 }; /* more than what may be over at once */

CC_TASK(reads_its_byte, (const int *, fd), (char *, byte)) {
    int64_t got = reads(*fd, byte, 1);
    return got == 1 ? 0 : -EIO;
}
static void *crowd(void *arg) {
    static char bytes[CROWD], got[CROWD];
    int fd[2], rc = 0;
    test_must(pipe(fd) == 0);
    memset(bytes, 'x', CROWD);
    memset(got, 0, CROWD);
    CC_NURSERY(n) {
        for (int i = 0; i < CROWD; i++) test_must(cc_spawn(n, reads_its_byte, &fd[0], &got[i]) == 0);
        cc_sleep_ms(20);
        test_must(write(fd[1], bytes, CROWD) == CROWD);
        rc = cc_nursery_wait(n);
    }
    test_must(rc == 0 && memcmp(bytes, got, CROWD) == 0);
    test_must(close(fd[0]) == 0 && close(fd[1]) == 0);
    return arg;
}
static void more_than_there_is_room_for(void **state) {
    (void)state;
    on_few_and_many(crowd);
}

static void *forks(void *arg) {
    struct reader r = {.got = 7};
    int status = -1;
    test_must(pipe(r.pipe) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, reads_one, &r) == 0);
        cc_sleep_ms(2);
        pid_t pid = fork();
        if (pid == 0) _exit(5);
        test_must(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
        pid = fork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        test_must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        test_must(r.got == 7 && write(r.pipe[1], "x", 1) == 1);
    }
    test_must(r.got == 1 && close(r.pipe[0]) == 0 && close(r.pipe[1]) == 0);
    return arg;
}
static void a_fork_does_no_harm(void **state) {
    (void)state;
    on_few_and_many(forks);
}

static size_t descriptors(void) {
    size_t n = 0;
    for (int fd = 0; fd < 2048; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
static void rings_are_closed(void **state) {
    (void)state;
    size_t before = descriptors();
    on_few_and_many(all_calls);
    assert_int_equal(descriptors(), before);
}

/* ---- many at a time ---- */

/* More are over than are told at a time: the rest is told the next time. */
static void so_many_a_turn(void **state) {
    (void)state;
    enum { TURN = CC__FILES_TURNS * CC__URING_OVER, ASKED = TURN + 44 };
    static struct cc__files files;
    static struct cc__files_call call[ASKED];
    static char bytes[ASKED];
    struct cc__claims woken = {0};
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), over[3] = {0};
    assert_int_equal(TURN, 256);
    cc__files_init(&files);
    if (cc__files_start(&files) != 0) skip();
    for (int i = 0; i < ASKED; i++) {
        bytes[i] = 1;
        struct cc__file_call what = {.what = CC__FILE_READ, .fd = fd, .buf = &bytes[i], .n = 1};
        assert_int_equal(cc__files_ask(&files, &call[i], &what), 0);
    }
    for (int i = 0; i < ASKED; i++) /* a device is read when it is asked for */
        while (*(volatile char *)&bytes[i] != 0) sched_yield();
    struct pollfd ready = {.fd = cc__uring_fd(cc__files_uring(&files)), .events = POLLIN};
    for (int turn = 0; turn < 3; turn++) {
        cc__files_reap(&files, &woken);
        for (int i = 0; i < ASKED; i++) over[turn] += call[i].over;
        assert_int_equal(poll(&ready, 1, 0), turn == 0 ? 1 : 0); /* somebody looks again */
    }
    assert_int_equal(over[0], TURN);
    assert_int_equal(over[1], ASKED);
    assert_false(cc__files_any_pending(&files));
    for (int i = 0; i < ASKED; i++) assert_int_equal(call[i].result, 1);
    cc__files_end(&files);
    close(fd);
}

TEST_MAIN(cmocka_unit_test(so_many_a_turn), cmocka_unit_test(calls_are_made),
          cmocka_unit_test(none_where_there_is_none), cmocka_unit_test(a_cancelled_caller_comes_back_alone),
          cmocka_unit_test(nothing_is_lost_by_cancelling), cmocka_unit_test(a_stuck_worker_keeps_none),
          cmocka_unit_test(more_than_there_is_room_for), cmocka_unit_test(a_fork_does_no_harm),
          cmocka_unit_test(rings_are_closed))
