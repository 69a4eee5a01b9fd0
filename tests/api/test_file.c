/* SPDX-License-Identifier: MIT */
/* Goal: files and directories (ccrt/file.h): what is written is read, at any place; entries; errors of bad input; a
 * cancelled caller begins nothing that may block; a FIFO is opened when its other end is, and not before, also where a
 * file was before.
 * Method: files in a folder of their own, from fibers and from a plain thread. Run with each value of CC_IO.
 */
#include "runtimes.h"

#include "plat/fdio.h"
#include "plat/uring.h"

#include <dirent.h>
#include <fcntl.h>

static void *files(void *arg) {
    char dir[] = "/tmp/ccrt_test_file_XXXXXX", path[64], buf[100];
    struct stat st;
    test_must(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/a", dir);
    int fd = cc_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    test_must(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    test_must(cc_open(path, O_RDWR | O_CREAT | O_EXCL, 0600) == -EEXIST);
    test_must(cc_pwrite(fd, "0123456789", 10, 0) == 10 && cc_pwrite(fd, "x", 1, 20) == 1);
    test_must(cc_pread(fd, buf, 5, 3) == 5 && memcmp(buf, "34567", 5) == 0);
    test_must(cc_pread(fd, buf, sizeof buf, 9) == 12 && buf[0] == '9' && buf[1] == 0 && buf[11] == 'x');
    test_must(cc_pread(fd, buf, sizeof buf, 21) == 0 && cc_pread(fd, buf, 0, 0) == 0);
    test_must(cc_fsync(fd) == 0 && cc_fstat(fd, &st) == 0 && st.st_size == 21);
    test_must(cc_stat(path, &st) == 0 && st.st_size == 21 && S_ISREG(st.st_mode));
    cc_dir *d;
    cc_dirent e;
    test_must(cc_dir_open(&d, path) == -ENOTDIR && cc_dir_open(&d, dir) == 0);
    test_must(cc_dir_next(d, &e) == 1 && strcmp(e.name, "a") == 0 && (e.type == DT_REG || e.type == DT_UNKNOWN));
    test_must(cc_dir_next(d, &e) == 0 && cc_dir_next(d, &e) == 0);
    cc_dir_close(d);
    test_must(cc_close(fd) == 0 && unlink(path) == 0 && rmdir(dir) == 0);
    return arg;
}
static void written_and_read(void **state) {
    (void)state;
    test_on_all(files);
    files(NULL);
}

static void *many_entries(void *arg) {
    enum { FILES = 1500 };
    char dir[] = "/tmp/ccrt_test_many_XXXXXX", path[64];
    static bool seen[FILES];
    int n = 0;
    test_must(mkdtemp(dir) != NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/some_longer_name_%d", dir, i);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        test_must(fd >= 0 && close(fd) == 0);
    }
    cc_dir *d;
    cc_dirent e;
    test_must(cc_dir_open(&d, dir) == 0);
    for (; cc_dir_next(d, &e) == 1; n++) {
        int i = atoi(strrchr(e.name, '_') + 1);
        test_must(i >= 0 && i < FILES && !seen[i]);
        seen[i] = true;
        snprintf(path, sizeof path, "%s/%s", dir, e.name);
        test_must(unlink(path) == 0);
    }
    cc_dir_close(d);
    test_must(n == FILES && rmdir(dir) == 0);
    return arg;
}
static void more_entries_than_fit(void **state) {
    (void)state;
    test_on_workers(2, many_entries, NULL);
}

/* A hole of what is not in memory is read, too. */
static void *holes(void *arg) {
    enum { BYTES = 1 << 20, HOLE = BYTES / 4 };
    char path[] = "/var/tmp/ccrt_test_hole_XXXXXX", *bytes = malloc(BYTES), *got = calloc(1, BYTES);
    int fd = mkstemp(path);
    test_must(fd >= 0 && bytes != NULL && got != NULL);
    for (int i = 0; i < BYTES; i++) bytes[i] = (char)(i * 7 + i / 4096);
    test_must(cc_pwrite(fd, bytes, BYTES, 0) == BYTES && cc_fsync(fd) == 0);
    test_must(posix_fadvise(fd, HOLE, HOLE, POSIX_FADV_DONTNEED) == 0);
    test_must(cc_pread(fd, got, BYTES, 0) == BYTES && memcmp(bytes, got, BYTES) == 0);
    test_must(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    test_must(cc_pread(fd, got, BYTES, 10) == BYTES - 10 && memcmp(bytes + 10, got, BYTES - 10) == 0);
    test_must(cc_close(fd) == 0 && unlink(path) == 0);
    free(bytes);
    free(got);
    return arg;
}
static void what_is_not_in_memory_is_read(void **state) {
    (void)state;
    test_on_all(holes);
    holes(NULL);
}

enum { FIFOS = 20 }; /* more than the kernel has threads for that by itself */

CC_TASK(opens_to_read, (const char *, path), (_Atomic int *, opened)) {
    int fd = cc_open(path, O_RDONLY, 0);
    cc__add_relaxed(opened, 1); /* the monitor may start a second worker */
    return fd < 0 ? fd : cc_close(fd);
}
static void *fifos(void *arg) {
    char dir[] = "/tmp/ccrt_test_fifo_XXXXXX", path[FIFOS][64];
    _Atomic int opened = 0;
    test_must(mkdtemp(dir) != NULL);
    CC_NURSERY(n) {
        for (int i = 0; i < FIFOS; i++) {
            snprintf(path[i], sizeof path[i], "%s/%d", dir, i);
            test_must(mkfifo(path[i], 0600) == 0 && cc_spawn(n, opens_to_read, path[i], &opened) == 0);
        }
        cc_sleep_ms(10);
        test_must(cc__load_relaxed(&opened) == 0); /* nobody has opened the other ends */
        for (int i = 0; i < FIFOS; i++) {
            int fd = cc_open(path[i], O_WRONLY, 0);
            test_must(fd >= 0 && cc_close(fd) == 0);
        }
        test_must(cc_nursery_wait(n) == 0 && cc__load_relaxed(&opened) == FIFOS);
    }
    for (int i = 0; i < FIFOS; i++) test_must(unlink(path[i]) == 0);
    test_must(rmdir(dir) == 0);
    return arg;
}
static void fifos_wait_for_their_other_end(void **state) {
    (void)state;
    test_on_workers(1, fifos, NULL);
}

/* What is there now counts, though it was a file when it was last opened, a moment ago. */
static void *replaced(void *arg) {
    char dir[] = "/tmp/ccrt_test_fifo_XXXXXX", path[64];
    _Atomic int opened = 0;
    struct stat st;
    test_must(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/a", dir);
    int fd = cc_open(path, O_WRONLY | O_CREAT, 0600);
    test_must(fd >= 0 && cc_close(fd) == 0);
    for (int i = 0; i < 3; i++) {
        fd = cc_open(path, O_WRONLY | O_APPEND, 0);
        test_must(fd >= 0 && fcntl(fd, F_GETFL) != -1 && (fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK)) == O_APPEND);
        test_must((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && cc_close(fd) == 0);
        test_must(cc_open(path, O_RDONLY | O_DIRECTORY, 0) == -ENOTDIR);
    }
    test_must(unlink(path) == 0 && cc_open(path, O_RDONLY, 0) == -ENOENT && mkfifo(path, 0600) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, opens_to_read, path, &opened) == 0);
        cc_sleep_ms(10);
        test_must(cc__load_relaxed(&opened) == 0);
        fd = cc_open(path, O_WRONLY, 0);
        test_must(fd >= 0 && cc_fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && cc_close(fd) == 0);
    }
    test_must(cc__load_relaxed(&opened) == 1 && unlink(path) == 0 && mkdir(path, 0700) == 0);
    test_must(cc_open(path, O_WRONLY, 0) == -EISDIR);
    fd = cc_open(path, O_RDONLY | O_DIRECTORY, 0);
    test_must(fd >= 0 && cc_close(fd) == 0 && rmdir(path) == 0 && rmdir(dir) == 0);
    return arg;
}
static void a_fifo_where_a_file_was(void **state) {
    (void)state;
    test_on_workers(1, replaced, NULL); /* the monitor has one come in its place */
    test_on_workers(2, replaced, NULL);
}

/* By io_uring alone: a thread in open() is not told to come back. */
CC_TASK(opens_for_ever, (const char *, path), (int *, rc)) {
    *rc = cc_open(path, O_RDONLY, 0);
    return 0;
}
static void *cancelled_opens(void *arg) {
    char dir[] = "/tmp/ccrt_test_fifo_XXXXXX", path[64];
    int rc = 7;
    test_must(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/fifo", dir);
    test_must(mkfifo(path, 0600) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, opens_for_ever, path, &rc) == 0);
        cc_sleep_ms(5);
        test_must(rc == 7);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED);
    CC_DEADLINE_MS(5) rc = cc_open(path, O_RDONLY, 0);
    test_must(rc == -ETIMEDOUT && unlink(path) == 0 && rmdir(dir) == 0);
    return arg;
}
static void an_open_is_cancelled_in_the_middle(void **state) {
    (void)state;
    const char *io = getenv("CC_IO");
    struct cc__uring *u = NULL;
    if (io == NULL || strcmp(io, "uring") != 0 || cc__uring_open(&u) != 0) skip();
    cc__uring_close(u);
    cc_runtime *rt;
    cc_task t;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2, .no_monitor = 1}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, cancelled_opens, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

static void bad_input(void **state) {
    (void)state;
    char c;
    struct stat st;
    cc_dir *d;
    int fd[2];
    assert_int_equal(cc_open(NULL, O_RDONLY, 0), -EINVAL);
    assert_int_equal(cc_open("/no/such/file", O_RDONLY, 0), -ENOENT);
    assert_int_equal(cc_open("/", O_WRONLY, 0), -EISDIR);
    assert_int_equal(cc_stat("/no/such/file", &st), -ENOENT);
    assert_int_equal(cc_stat(NULL, &st), -EINVAL);
    assert_int_equal(cc_fstat(-1, &st), -EBADF);
    assert_int_equal(cc_fsync(-1), -EBADF);
    assert_int_equal(cc_pread(-1, &c, 1, 0), -EBADF);
    assert_int_equal(cc_pwrite(-1, &c, 1, 0), -EBADF);
    assert_int_equal(cc_pread(0, &c, 1, -1), -EINVAL);
    assert_int_equal(cc_dir_open(NULL, "/"), -EINVAL);
    assert_int_equal(cc_dir_open(&d, "/no/such/folder"), -ENOENT);
    cc_dir_close(NULL);
    char name[300] = "/";
    memset(name + 1, 'x', sizeof name - 2);
    assert_int_equal(cc_open(name, O_RDONLY, 0), -ENAMETOOLONG);
    assert_int_equal(cc_open("/dev/null/x", O_RDONLY, 0), -ENOTDIR);
    if (!CCRT_TEST_EMULATED) assert_int_equal(cc_open("/proc/self/exe", O_WRONLY, 0), -ETXTBSY);
    assert_int_equal(cc_open("/dev/null", O_RDONLY | O_DIRECTORY, 0), -ENOTDIR);
    assert_int_equal(cc_stat("/dev/null/x", &st), -ENOTDIR);
    assert_int_equal(cc_dir_open(&d, NULL), -EINVAL);
    int closed = open("/dev/null", O_RDONLY), file = open("/proc/self/exe", O_RDONLY);
    close(closed);
    assert_int_equal(cc_pread(closed, &c, 1, 0), -EBADF);
    assert_int_equal(cc_pwrite(file, &c, 1, 0), -EBADF); /* not for that */
    assert_int_equal(cc_pread(file, (void *)1, 1, 0), -EFAULT);
    assert_int_equal(cc_fsync(closed), -EBADF);
    assert_int_equal(cc_fstat(closed, &st), -EBADF);
    assert_int_equal(cc_close(file), 0);
    assert_int_equal(cc_pipe(fd), 0);
    assert_int_equal(cc_pread(fd[0], &c, 1, 0), -ESPIPE);
    assert_int_equal(cc_pwrite(fd[1], &c, 1, 0), -ESPIPE);
    assert_int_equal(cc_fsync(fd[0]), -EINVAL);
    assert_int_equal(cc_close(fd[0]) | cc_close(fd[1]), 0);
}

CC_TASK(opens_cancelled, (int *, rc)) {
    while (cc_cancelled() == 0) cc_yield();
    *rc = cc_open("/dev/null", O_RDONLY, 0);
    return 0;
}
static void *cancels(void *arg) {
    int rc = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, opens_cancelled, &rc) == 0);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED);
    return arg;
}
/* What can be done at once is done: too late or not. */
static void *late(void *arg) {
    char path[] = "/tmp/ccrt_test_late_XXXXXX", c = 0;
    struct stat st;
    int made = mkstemp(path), fd = -1;
    test_must(made >= 0 && write(made, "x", 1) == 1 && close(made) == 0 && cc_stat(path, &st) == 0);
    int now = cc__fdio_open_now(path, O_RDONLY); /* the kernel may not know how to, or the file system */
    if (now >= 0) close(now);
    for (int how = 0; how < 2 && now >= 0; how++) {
        CC_NURSERY(n) {
            if (how == 1) cc_nursery_cancel(n);
            CC_DEADLINE_MS(0) {
                test_must(cc_cancelled() != 0 && cc_stat(path, &st) == 0 && st.st_size == 1);
                fd = cc_open(path, O_RDONLY, 0);
                test_must(fd >= 0 && cc_pread(fd, &c, 1, 0) == 1 && c == 'x' && cc_close(fd) == 0);
                test_must(cc_fsync(0) == (how == 1 ? -ECANCELED : -ETIMEDOUT)); /* which always waits */
            }
        }
    }
    test_must(unlink(path) == 0);
    return arg;
}
static void cancelled_before(void **state) {
    (void)state;
    test_on_workers(1, cancels, NULL);
    test_on_workers(2, late, NULL);
    late(NULL);
}

TEST_MAIN(cmocka_unit_test(written_and_read), cmocka_unit_test(more_entries_than_fit), cmocka_unit_test(bad_input),
          cmocka_unit_test(cancelled_before), cmocka_unit_test(what_is_not_in_memory_is_read),
          cmocka_unit_test(fifos_wait_for_their_other_end), cmocka_unit_test(a_fifo_where_a_file_was),
          cmocka_unit_test(an_open_is_cancelled_in_the_middle))
