/* SPDX-License-Identifier: MIT */
/* Goal: calls on files and directories (ccrt/file.h) whose caller is cancelled, or too late: one that was not begun
 * says so and touches nothing; one that is in the middle has the caller's memory, and is waited for. And a file that
 * was not made here, and whose writes may wait, is tried once a write.
 * Method: no file is in memory, and the calls that threads make for us wait until they are let go: what they are made
 * by is wrapped. By threads, not by io_uring, which is asked to give its calls up.
 * Link: -Wl,--wrap=cc__fdio_read_now,--wrap=cc__fdio_write_now,--wrap=cc__fdio_call,--wrap=cc__fdio_entries
 */
#include "runtimes.h"

#include "plat/fdio.h"

#include <fcntl.h>

static _Atomic int begun, may_end; /* calls; and whether they may */
static _Atomic bool on;
static _Atomic int tried; /* writes where the file is */

__typeof__(cc__fdio_read_now) __real_cc__fdio_read_now, __wrap_cc__fdio_read_now;
__typeof__(cc__fdio_write_now) __real_cc__fdio_write_now, __wrap_cc__fdio_write_now;
__typeof__(cc__fdio_call) __real_cc__fdio_call, __wrap_cc__fdio_call;
__typeof__(cc__fdio_entries) __real_cc__fdio_entries, __wrap_cc__fdio_entries;

static void in_the_middle(void) {
    if (!cc__load_relaxed(&on)) return;
    cc__add_acq_rel(&begun, 1);
    while (cc__load_acquire(&may_end) == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}
ssize_t __wrap_cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at) {
    return cc__load_relaxed(&on) && at >= 0 ? -EAGAIN : __real_cc__fdio_read_now(fd, iov, count, at);
}
ssize_t __wrap_cc__fdio_write_now(int fd, const struct iovec *iov, int count, int64_t at, bool masked) {
    if (at == CC__FDIO_HERE) {
        cc__add_relaxed(&tried, 1);
        return CC__FDIO_FILE; /* not all file systems make it so */
    }
    return cc__load_relaxed(&on) ? -EAGAIN : __real_cc__fdio_write_now(fd, iov, count, at, masked);
}
int64_t __wrap_cc__fdio_call(const struct cc__file_call *c) {
    in_the_middle();
    return __real_cc__fdio_call(c);
}
ssize_t __wrap_cc__fdio_entries(int dir, void *buf, size_t n) {
    in_the_middle();
    return __real_cc__fdio_entries(dir, buf, n);
}

/* ---- the calls: 1 is success ---- */

static int file = -1;
static cc_dir *dir;
static char byte;

static int reads(void) {
    return (int)cc_pread(file, &byte, 1, 3);
}
static int writes(void) {
    return (int)cc_pwrite(file, "w", 1, 5);
}
static int syncs(void) {
    int rc = cc_fsync(file);
    return rc == 0 ? 1 : rc;
}
static int next_entry(void) {
    cc_dirent e;
    return cc_dir_next(dir, &e);
}
static int (*const kinds[])(void) = {reads, writes, syncs, next_entry};

CC_TASK(makes, (int, kind), (int, ms), (_Atomic int *, rc)) {
    CC_DEADLINE_MS(ms) cc__store_release(rc, kinds[kind]());
    return 0;
}

/* Ended by a deadline or a cancellation, before and in the middle. */
static void end_each_way(int kind) {
    _Atomic int rc = 0;
    int before = cc__load_acquire(&begun);
    CC_DEADLINE_MS(0) test_must(kinds[kind]() == -ETIMEDOUT);
    CC_NURSERY(n) {
        cc_nursery_cancel(n);
        test_must(kinds[kind]() == -ECANCELED);
    }
    test_must(cc__load_acquire(&begun) == before);
    for (int how = 0; how < 2; how++) {
        cc__store_release(&may_end, 0);
        cc__store_release(&rc, 0);
        CC_NURSERY(n) {
            test_must(cc_spawn(n, makes, kind, how == 0 ? 10 : 1000000, &rc) == 0);
            CC_SHIELD {
                while (cc__load_acquire(&begun) == before + how) test_must(cc_sleep_ms(1) == 0);
                if (how == 1) cc_nursery_cancel(n);
                test_must(cc_sleep_ms(20) == 0 && cc__load_acquire(&rc) == 0); /* it is waited for */
                cc__store_release(&may_end, 1);
            }
        }
        test_must(cc__load_acquire(&rc) == 1); /* what was done was done */
        if (kind == 3) {                       /* to its end, so that the next has to ask */
            cc_dir_close(dir);
            cc__store_relaxed(&on, false);
            test_must(cc_dir_open(&dir, "/") == 0);
            cc__store_relaxed(&on, true);
        }
    }
}

static void *all(void *arg) {
    char path[] = "/tmp/ccrt_test_file_ends_XXXXXX";
    file = mkstemp(path);
    test_must(file >= 0 && unlink(path) == 0 && write(file, "012345", 6) == 6 && cc_dir_open(&dir, "/") == 0);
    cc__store_relaxed(&on, true);
    for (int kind = 0; kind < (int)TEST_COUNT_OF(kinds); kind++) end_each_way(kind);
    cc__store_relaxed(&on, false);
    char bytes[7] = {0};
    test_must(byte == '3' && cc_pread(file, bytes, 6, 0) == 6 && strcmp(bytes, "01234w") == 0);
    cc_dir_close(dir);
    test_must(cc_close(file) == 0);
    return arg;
}
static void each_call_is_ended(void **state) {
    (void)state;
    const unsigned workers[] = {1, 2, 7};
    for (size_t i = 0; i < TEST_COUNT_OF(workers); i++) {
        cc_runtime *rt;
        cc_task t;
        assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = workers[i], .io = CC_IO_POOL}), 0);
        assert_int_equal(cc_runtime_spawn(rt, &t, NULL, all, NULL), 0);
        assert_int_equal(cc_task_join(t, NULL), 0);
        cc_runtime_destroy(rt);
    }
}

/* ---- a file that was not made here ---- */

enum { WRITES = 5 };
static void *writes_on(void *fd) {
    cc__store_relaxed(&tried, 0);
    for (int i = 0; i < WRITES; i++) test_must(cc_write(*(int *)fd, "abc", 3) == 3);
    test_must(cc__load_relaxed(&tried) == WRITES);
    return NULL;
}
static void a_strange_file_is_tried_once(void **state) {
    (void)state;
    FILE *f = tmpfile();
    assert_non_null(f);
    int fd = fileno(f);
    test_on_workers(1, writes_on, &fd);
    test_on_workers(2, writes_on, &fd);
    writes_on(&fd); /* a plain thread */
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 3 * 3 * WRITES);
    fclose(f);
}

TEST_MAIN(cmocka_unit_test(each_call_is_ended), cmocka_unit_test(a_strange_file_is_tried_once))
