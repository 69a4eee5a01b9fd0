/* SPDX-License-Identifier: MIT */
/* Goal: a small file is read whole or cut where the buffer ends, errors come back as numbers, and
 * neither errno nor a descriptor is left behind.
 * Method: files in a temporary folder, of sizes around the buffer's; a read() and a write() that are interrupted,
 * short or failing; the lowest free descriptor before and after.
 * Link: -Wl,--wrap=read,--wrap=write
 */
#include "test.h"

#include "plat/file.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- a read() that can be told what to do ---- */

ssize_t __real_read(int fd, void *buf, size_t n);
ssize_t __wrap_read(int fd, void *buf, size_t n);

enum read_way { READ_REAL, READ_SHORT, READ_INTERRUPTED, READ_FAILS_LATER };
static enum read_way read_way;
static size_t read_calls;
static bool closed_on_exec;

ssize_t __wrap_read(int fd, void *buf, size_t n) {
    if (read_way == READ_REAL) return __real_read(fd, buf, n);
    read_calls++;
    closed_on_exec = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
    if (read_way == READ_INTERRUPTED && read_calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    if (read_way == READ_FAILS_LATER && read_calls == 3) {
        errno = EIO;
        return -1;
    }
    return __real_read(fd, buf, n < 3 ? n : 3);
}

static int read_by(enum read_way way, const char *path, char *buf, size_t size) {
    read_calls = 0;
    read_way = way;
    int rc = cc__file_read(path, buf, size);
    read_way = READ_REAL;
    return rc;
}

/* ---- a folder with one file in it ---- */

static char folder[64], file[80];
static int lowest_fd;

static int lowest_free_fd(void) {
    int fd = dup(STDOUT_FILENO);
    close(fd);
    return fd;
}

static void begin(const char *text, size_t n) {
    snprintf(folder, sizeof folder, "/tmp/ccrt-test-file-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/text", folder);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_true(fclose(f) == 0);
    lowest_fd = lowest_free_fd();
    errno = 77;
}

static void end(void) {
    int kept = errno;
    assert_int_equal(lowest_free_fd(), lowest_fd);
    unlink(file);
    rmdir(folder);
    assert_int_equal(kept, 77);
}

/* ---- tests ---- */

static void reads_all_or_up_to_the_end_of_the_buffer(void **state) {
    (void)state;
    const char text[] = "0123456789";
    begin(text, 10);
    for (size_t size = 1; size <= 14; size++) {
        char buf[16];
        memset(buf, '#', sizeof buf);
        size_t want = size - 1 < 10 ? size - 1 : 10;
        assert_int_equal(cc__file_read(file, buf, size), want);
        assert_memory_equal(buf, text, want);
        assert_int_equal(buf[want], 0);
        for (size_t i = want + 1; i < sizeof buf; i++) assert_int_equal(buf[i], '#');
    }
    end();
}

static void reads_bytes_as_they_are(void **state) {
    (void)state;
    begin("a\0b\n", 4);
    char buf[8];
    assert_int_equal(cc__file_read(file, buf, sizeof buf), 4);
    assert_memory_equal(buf, "a\0b\n", 5);
    end();
    begin("", 0);
    assert_int_equal(cc__file_read(file, buf, sizeof buf), 0);
    assert_int_equal(buf[0], 0);
    end();
}

static void goes_on_after_short_and_interrupted_reads(void **state) {
    (void)state;
    char buf[32];
    begin("0123456789", 10);
    assert_int_equal(read_by(READ_SHORT, file, buf, sizeof buf), 10);
    assert_string_equal(buf, "0123456789");
    assert_int_equal(read_calls, 5); /* 3 3 3 1, and the end */
    assert_true(closed_on_exec);
    assert_int_equal(read_by(READ_INTERRUPTED, file, buf, sizeof buf), 10);
    assert_string_equal(buf, "0123456789");
    assert_int_equal(read_by(READ_SHORT, file, buf, 8), 7);
    assert_string_equal(buf, "0123456");
    end();
}

static void errors_come_back(void **state) {
    (void)state;
    char buf[32], path[128];
    begin("0123456789", 10);
    assert_int_equal(read_by(READ_FAILS_LATER, file, buf, sizeof buf), -EIO);
    snprintf(path, sizeof path, "%s/none", folder);
    assert_int_equal(cc__file_read(path, buf, sizeof buf), -ENOENT);
    assert_int_equal(cc__file_read("", buf, sizeof buf), -ENOENT);
    assert_int_equal(cc__file_read(folder, buf, sizeof buf), -EISDIR);
    snprintf(path, sizeof path, "%s/beneath", file);
    assert_int_equal(cc__file_read(path, buf, sizeof buf), -ENOTDIR);
    end();
}

static void reads_what_has_no_size(void **state) {
    (void)state;
    char buf[64], want[64];
    int n = cc__file_read("/proc/self/stat", buf, sizeof buf);
    if (n == -ENOENT) skip();
    assert_int_equal(n, sizeof buf - 1);
    snprintf(want, sizeof want, "%d (", (int)getpid());
    assert_int_equal(strncmp(buf, want, strlen(want)), 0);
}

/* ---- writing ---- */

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

static bool write_badly;
static size_t write_calls;

/* Every other call is interrupted, the others are short; and none makes progress at the end of the world. */
ssize_t __wrap_write(int fd, const void *buf, size_t n) {
    if (!write_badly) return __real_write(fd, buf, n);
    if (n == 13) return 0;
    if (++write_calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    return __real_write(fd, buf, n < 3 ? n : 3);
}

static void writes_all_where_it_is_told(void **state) {
    (void)state;
    char buf[64];
    begin("what was there before, and is longer", 36);
    errno = 77;
    int fd = cc__file_create(file);
    assert_true(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true(cc__file_can_seek(fd));
    write_badly = true;
    assert_int_equal(cc__file_write(fd, "hello world", 11), 0);
    assert_int_equal(cc__file_write(fd, "thirteen long", 13), -EIO);
    assert_int_equal(cc__file_seek(fd, 6), 0);
    assert_int_equal(cc__file_write(fd, "there", 5), 0);
    write_badly = false;
    assert_int_equal(cc__file_seek(fd, -1), -EINVAL);
    cc__file_close(fd);
    assert_int_equal(cc__file_read(file, buf, sizeof buf), 11);
    assert_string_equal(buf, "hello there");
    assert_int_equal(errno, 77);
    end();
}

static void what_cannot_be_written_says_why(void **state) {
    (void)state;
    int pipe_fd[2], full = cc__file_create("/dev/full");
    errno = 77;
    assert_int_equal(cc__file_create("/nowhere/file"), -ENOENT);
    if (full >= 0) {
        assert_int_equal(cc__file_write(full, "x", 1), -ENOSPC);
        cc__file_close(full);
    }
    assert_int_equal(pipe(pipe_fd), 0);
    assert_false(cc__file_can_seek(pipe_fd[1]));
    cc__file_close(pipe_fd[0]);
    cc__file_close(pipe_fd[1]);
    assert_int_equal(errno, 77);
}

TEST_MAIN(cmocka_unit_test(reads_all_or_up_to_the_end_of_the_buffer), cmocka_unit_test(reads_bytes_as_they_are),
          cmocka_unit_test(goes_on_after_short_and_interrupted_reads), cmocka_unit_test(errors_come_back),
          cmocka_unit_test(reads_what_has_no_size), cmocka_unit_test(writes_all_where_it_is_told),
          cmocka_unit_test(what_cannot_be_written_says_why))
