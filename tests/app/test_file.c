/* SPDX-License-Identifier: MIT */
/* Goal: an output appears whole or not at all, and with -Y its name is on disk before anybody can remove the input;
 * what goes wrong at the very end is an error as well.
 * Method: fsync() is ours here. It sees what there is under the output's name when a file or its folder is to be
 * written, and fails when it is told to.
 */
#include "file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char folder[] = "/tmp/ccgz-test-XXXXXX", path[64];

static struct {
    int files, folders; /* that were written */
    bool early, late;   /* a file when it had its name; a folder when that was not there yet */
    bool fails[2];      /* at files; at folders */
    int code;           /* with this */
} seen;

int fsync(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    const bool is_folder = S_ISDIR(st.st_mode), named = access(path, F_OK) == 0;
    seen.files += !is_folder;
    seen.folders += is_folder;
    seen.early = seen.early || (!is_folder && named);
    seen.late = seen.late || (is_folder && !named);
    if (!seen.fails[is_folder]) return (int)syscall(SYS_fsync, fd);
    errno = seen.code;
    return -1;
}

/* One output, of so many bytes. */
static int make(bool replace, bool synchronous) {
    struct gz_target t;
    (void)unlink(path);
    assert_int_equal(gz_target_open(&t, path), 0);
    assert_int_equal(write(t.fd, "data", 4), 4);
    return gz_target_finish(&t, NULL, replace, synchronous);
}

static bool is_there(void) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_size == 4;
}

/* What is in the folder but the output. */
static bool is_left(void) {
    char command[128];
    (void)snprintf(command, sizeof command, "ls -A %s | grep -qv '^out$'", folder);
    return system(command) == 0;
}

static int reset(void **state) {
    (void)state;
    memset(&seen, 0, sizeof seen);
    return 0;
}

static void the_name_is_written_after_the_file(void **state) {
    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        memset(&seen, 0, sizeof seen);
        assert_int_equal(make(replace, true), 0);
        assert_true(is_there() && !is_left());
        assert_int_equal(seen.files, 1);
        assert_int_equal(seen.folders, 1);
        assert_false(seen.early || seen.late);
    }
}

static void by_a_name_without_a_folder(void **state) {
    (void)state;
    char full[sizeof path];
    memcpy(full, path, sizeof path);
    assert_int_equal(chdir(folder), 0);
    (void)snprintf(path, sizeof path, "out");
    assert_int_equal(make(true, true), 0);
    assert_int_equal(seen.folders, 1);
    assert_int_equal(chdir("/"), 0);
    memcpy(path, full, sizeof path);
    assert_true(is_there() && !is_left());
}

static void nothing_is_written_unless_told(void **state) {
    (void)state;
    assert_int_equal(make(true, false), 0);
    assert_true(is_there() && seen.files == 0 && seen.folders == 0);
}

static void errors_are_said(void **state) {
    (void)state;
    seen.code = EIO;
    seen.fails[0] = true;
    assert_int_equal(make(true, true), -EIO); /* there is none then, and nothing is left */
    assert_true(!is_there() && !is_left());
    seen.fails[0] = false;
    seen.fails[1] = true;
    assert_int_equal(make(true, true), -EIO); /* there is one then; and the input is not removed */
    assert_true(is_there() && !is_left());
}

/* Some file systems have nothing to write. */
static void who_cannot_need_not(void **state) {
    (void)state;
    seen.code = EINVAL;
    seen.fails[0] = seen.fails[1] = true;
    assert_int_equal(make(true, true), 0);
    assert_true(is_there());
}

static void outputs_of_others(void **state) {
    (void)state;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), ends[2];
    assert_int_equal(gz_output_finish(fd, false), 0);
    assert_int_equal(seen.files, 0);
    assert_int_equal(gz_output_finish(fd, false), -EBADF); /* it was closed */
    assert_int_equal(gz_output_finish(open(path, O_WRONLY | O_CLOEXEC), true), 0);
    assert_int_equal(seen.files, 1);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(gz_output_finish(ends[1], true), 0);
    close(ends[0]);
    seen.code = ENOSPC;
    seen.fails[0] = true;
    assert_int_equal(gz_output_finish(open(path, O_WRONLY | O_CLOEXEC), true), -ENOSPC);
}

static int set_up(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    (void)snprintf(path, sizeof path, "%s/out", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_name_is_written_after_the_file, reset),
        cmocka_unit_test_setup(by_a_name_without_a_folder, reset),
        cmocka_unit_test_setup(nothing_is_written_unless_told, reset),
        cmocka_unit_test_setup(errors_are_said, reset),
        cmocka_unit_test_setup(who_cannot_need_not, reset),
        cmocka_unit_test_setup(outputs_of_others, reset),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
