/* SPDX-License-Identifier: MIT */
/* Goal: guards of both kinds stop whoever touches them and nobody else; a row of them is made whole or
 * not at all, whatever the kernel refuses, and by the best way it has.
 * Method: a child touches page after page and reports which ones fault, so each expectation is a row of
 * letters: '.' accessible, '#' guarded. System calls are wrapped, to count them, to fail the Nth, or to
 * play a kernel without guards or without batches.
 * Link: -Wl,--wrap=mmap,--wrap=madvise,--wrap=mprotect,--wrap=syscall
 */
#include "test.h"

#include "plat/file.h"
#include "plat/vm.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGES_MAX = 700, GUARD_INSTALL = 102 };
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

/* ---- system calls that can be told what to do ---- */

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_mprotect(void *at, size_t bytes, int prot);
int __wrap_mprotect(void *at, size_t bytes, int prot);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static size_t page;

static struct {
    bool mmap_fails;
    bool no_light;       /* a kernel before 6.13 */
    bool no_batch;       /* one that refuses process_madvise() for guards */
    bool light_lies;     /* an emulator that says yes to any advice and passes over it */
    bool batch_lies;     /* the same, for process_madvise() */
    size_t batch_takes;  /* ranges that one call does before it stops short; 0: all */
    size_t batch_total;  /* ranges that all calls do before the next is refused; 0: all */
    size_t fail_install; /* the Nth single guard fails; 0: none */
} told;

static struct { size_t installs, batches, ranges, closes; } seen;

static void be_told_nothing(void) {
    memset(&told, 0, sizeof told);
    memset(&seen, 0, sizeof seen);
}

static int refuse(int error) {
    errno = error;
    return -1;
}

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    if (told.mmap_fails) return refuse(ENOMEM), MAP_FAILED;
    return __real_mmap(at, bytes, prot, flags, fd, offset);
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
    if (advice == GUARD_INSTALL) {
        seen.installs++;
        if (told.no_light) return refuse(EINVAL);
        if (told.light_lies) return 0;
        if (told.fail_install != 0 && seen.installs == told.fail_install) {
            if (bytes > page) __real_madvise(at, bytes - page, advice); /* as far as it came */
            return refuse(ENOMEM);
        }
    }
    return __real_madvise(at, bytes, advice);
}

int __wrap_mprotect(void *at, size_t bytes, int prot) {
    if (prot == PROT_NONE) seen.closes++;
    if (prot == PROT_NONE && told.fail_install != 0 && seen.closes == told.fail_install) return refuse(ENOMEM);
    return __real_mprotect(at, bytes, prot);
}

static long batch(int pidfd, const void *range, size_t count, int advice, int flags) {
    seen.batches++;
    if (told.no_batch) return refuse(EINVAL);
    if (told.batch_takes != 0 && told.batch_takes < count) count = told.batch_takes;
    if (told.batch_total != 0 && told.batch_total - seen.ranges < count) count = told.batch_total - seen.ranges;
    if (count == 0) return refuse(ENOMEM);
    seen.ranges += count;
    if (told.batch_lies) return (long)(count * page);
    return __real_syscall(SYS_process_madvise, pidfd, range, count, advice, flags);
}

/* The two calls that go this way; their arguments are read as they were passed. */
long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    if (number != SYS_process_madvise) {
        void *only = va_arg(list, void *);
        va_end(list);
        return __real_syscall(number, only);
    }
    int pidfd = va_arg(list, int);
    const void *range = va_arg(list, const void *);
    size_t count = va_arg(list, size_t);
    int advice = va_arg(list, int);
    int flags = va_arg(list, int);
    va_end(list);
    return batch(pidfd, range, count, advice, flags);
}

/* ---- which pages fault ---- */

static sigjmp_buf touched_in_vain;

static void leave(int sig) {
    (void)sig;
    siglongjmp(touched_in_vain, 1);
}

struct pages {
    char *at;
    size_t count;
};

static void touch_all(void *arg) {
    const struct pages *p = arg;
    static char row[PAGES_MAX + 1];
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = leave;
    sigaction(SIGSEGV, &ours, NULL);
    for (volatile size_t i = 0; i < p->count; i++) {
        row[i] = '#';
        if (sigsetjmp(touched_in_vain, 1) != 0) continue;
        volatile char *byte = p->at + i * page;
        *byte = *byte;
        byte[page - 1] = byte[page - 1];
        row[i] = '.';
    }
    dprintf(STDERR_FILENO, "%s", row);
}

static void row_is(void *at, const char *want) {
    char row[PAGES_MAX + 1];
    struct pages p = {at, strlen(want)};
    test_in_child(touch_all, &p, row, sizeof row); /* by its words, not its status: valgrind's is its own */
    assert_string_equal(row, want);
}

/* `want` a number of times over. */
static const char *times(size_t n, const char *want) {
    static char row[PAGES_MAX + 1];
    size_t len = strlen(want);
    for (size_t i = 0; i < n; i++) memcpy(row + i * len, want, len);
    row[n * len] = 0;
    return row;
}

static char *map(size_t pages) {
    void *at = NULL;
    page = cc__vm_page_bytes();
    assert_int_equal(cc__vm_map(&at, pages * page), 0);
    return at;
}

static bool have_light(void) {
    be_told_nothing();
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    return cc__vm_guard_kind() == CC__VM_GUARD_LIGHT;
}

/* ---- both kinds ---- */

/* Rows of three pages, the middle one guarded: what is around keeps its contents. */
static void guards_work(void) {
    enum { ROWS = 5 };
    char *at = map(3 * ROWS);
    memset(at, 'x', 3 * ROWS * page);
    errno = 77;
    assert_int_equal(cc__vm_guard_install(at + page, page, 3 * page, ROWS), 0);
    assert_int_equal(errno, 77);
    row_is(at, times(ROWS, ".#."));
    for (size_t i = 0; i < 3 * ROWS * page; i++)
        if (i / page % 3 != 1) assert_int_equal(at[i], 'x');
    cc__vm_discard(at, 3 * ROWS * page); /* guards stay */
    row_is(at, times(ROWS, ".#."));
    cc__vm_unmap(at, 3 * ROWS * page);

    at = map(8);
    assert_int_equal(cc__vm_guard_install(at, 2 * page, 4 * page, 2), 0);
    row_is(at, "##..##..");
    assert_int_equal(cc__vm_guard_install(at, 2 * page, 4 * page, 0), 0); /* none of none */
    cc__vm_unmap(at, 8 * page);
}

static void touch_one(void *arg) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile char *)arg = 1;
}

static void guard_kills(void) {
    char err[256], *at = map(3);
    assert_int_equal(cc__vm_guard_install(at + page, page, 3 * page, 1), 0);
    const size_t offsets[] = {page, page + page / 2, 2 * page - 1};
    for (size_t i = 0; i < TEST_COUNT_OF(offsets); i++) {
        int status = test_in_child(touch_one, at + offsets[i], err, sizeof err);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
    }
    assert_int_equal(test_in_child(touch_one, at + page - 1, err, sizeof err), 0);
    assert_int_equal(test_in_child(touch_one, at + 2 * page, err, sizeof err), 0);
    cc__vm_unmap(at, 3 * page);
}

static void light_guards(void **state) {
    (void)state;
    if (!have_light()) skip();
    guards_work();
    guard_kills();
    assert_int_equal(seen.closes, 0); /* none of them by mprotect() */
}

static void mprotect_guards(void **state) {
    (void)state;
    be_told_nothing();
    cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_MPROTECT);
    guards_work();
    guard_kills();
    assert_int_equal(seen.installs, 0);
}

/* ---- which way ---- */

static void old_kernel_gets_mprotect(void **state) {
    (void)state;
    be_told_nothing();
    told.no_light = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    errno = 77;
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_MPROTECT);
    assert_int_equal(errno, 77);
    assert_int_equal(seen.installs, 1);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_MPROTECT);
    guards_work();
    assert_int_equal(seen.installs, 1); /* asked once */
    assert_int_equal(seen.batches, 0);
    assert_int_equal(seen.closes, 7);
    be_told_nothing();
}

static void kernel_without_batches_gets_single_ones(void **state) {
    (void)state;
    if (!have_light()) skip();
    be_told_nothing();
    told.no_batch = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_LIGHT);
    size_t asked = seen.batches; /* once, or not at all under valgrind */
    assert_true(asked <= 1);
    guards_work();
    assert_int_equal(seen.batches, asked);
    assert_int_equal(seen.installs, 1 + 5 + 2);
    be_told_nothing();
}

/* Yes is not enough: what is said to be a guard must be one. */
static void emulator_is_not_believed(void **state) {
    (void)state;
    be_told_nothing();
    told.light_lies = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_MPROTECT);
    guards_work();
    if (!have_light()) skip();
    be_told_nothing();
    told.batch_lies = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_LIGHT);
    guards_work();
    assert_int_equal(seen.installs, 1 + 5 + 2);
    be_told_nothing();
}

static bool have_batches(void) {
    if (!have_light()) return false;
    size_t before = seen.installs;
    char *at = map(1);
    assert_int_equal(cc__vm_guard_install(at, page, page, 1), 0);
    cc__vm_unmap(at, page);
    return seen.installs == before;
}

static void long_rows_go_in_batches(void **state) {
    (void)state;
    if (!have_batches()) skip();
    seen.batches = seen.ranges = seen.installs = 0;
    char *at = map(600);
    assert_int_equal(cc__vm_guard_install(at + page, page, 4 * page, 150), 0);
    assert_int_equal(seen.ranges, 150);
    assert_in_range(seen.batches, 1, 10);
    assert_int_equal(seen.installs, 0);
    row_is(at, times(150, ".#.."));
    cc__vm_unmap(at, 600 * page);
}

static void probe_without_memory_asks_again(void **state) {
    (void)state;
    be_told_nothing();
    char *at = map(1);
    told.mmap_fails = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    errno = 77;
    assert_int_equal(cc__vm_guard_install(at, page, page, 1), -ENOMEM);
    assert_int_equal(errno, 77);
    told.mmap_fails = false;
    row_is(at, ".");
    assert_int_equal(cc__vm_guard_install(at, page, page, 1), 0);
    row_is(at, "#");
    cc__vm_unmap(at, page);
}

/* ---- all or none ---- */

static void nothing_is_left_of_a_row(size_t rows) {
    char *at = map(3 * rows);
    memset(at, 'x', 3 * rows * page);
    errno = 77;
    assert_int_equal(cc__vm_guard_install(at + page, page, 3 * page, rows), -ENOMEM);
    assert_int_equal(errno, 77);
    row_is(at, times(rows, "..."));
    cc__vm_unmap(at, 3 * rows * page);
}

static void failing_mprotect_undoes_all(void **state) {
    (void)state;
    for (size_t nth = 1; nth <= 7; nth += 3) {
        be_told_nothing();
        cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
        told.fail_install = nth;
        nothing_is_left_of_a_row(7);
        assert_int_equal(seen.closes, nth);
    }
    be_told_nothing();
}

static void failing_single_guard_undoes_all(void **state) {
    (void)state;
    if (!have_light()) skip();
    for (size_t nth = 1; nth <= 7; nth += 3) {
        be_told_nothing();
        told.no_batch = true;
        cc__vm_guard_force(CC__VM_GUARD_LIGHT);
        assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_LIGHT);
        seen.installs = 0;
        told.fail_install = nth;
        nothing_is_left_of_a_row(7);
        assert_int_equal(seen.installs, nth);
    }
    be_told_nothing();
}

/* The range that fails may be marked in part. */
static void partial_guard_is_undone(void **state) {
    (void)state;
    if (!have_light()) skip();
    be_told_nothing();
    told.no_batch = true;
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_LIGHT);
    seen.installs = 0;
    told.fail_install = 2;
    char *at = map(12);
    assert_int_equal(cc__vm_guard_install(at, 3 * page, 4 * page, 3), -ENOMEM);
    row_is(at, "............");
    cc__vm_unmap(at, 12 * page);
    be_told_nothing();
}

/* A batch that stops short goes on where it stopped. */
static void short_batches_go_on(void **state) {
    (void)state;
    if (!have_batches()) skip();
    be_told_nothing();
    told.batch_takes = 2;
    guards_work();
    assert_int_equal(seen.installs, 0);
    assert_int_equal(seen.batches, 3 + 1);
    be_told_nothing();
}

/* One that is refused is finished one by one; a failure then undoes the batches before it too. */
static void refused_batch_is_finished_or_undone(void **state) {
    (void)state;
    if (!have_batches()) skip();
    be_told_nothing();
    told.batch_total = 70; /* batches of 64, 6 and none, then single ones */
    char *at = map(300);
    assert_int_equal(cc__vm_guard_install(at + page, page, 3 * page, 100), 0);
    row_is(at, times(100, ".#."));
    assert_int_equal(seen.installs, 30);
    assert_int_equal(seen.batches, 3);
    cc__vm_unmap(at, 300 * page);

    be_told_nothing();
    told.batch_total = 70;
    told.fail_install = 10;
    nothing_is_left_of_a_row(100);
    assert_int_equal(seen.installs, 10);
    be_told_nothing();
}

/* ---- very many ---- */

/* A child of its own: address space and maps are the process's. Not where each step is slow. */
enum { VERY_MANY = 70000 };

static size_t maps_limit(void) {
    char text[32];
    int n = cc__file_read("/proc/sys/vm/max_map_count", text, sizeof text);
    return n > 0 ? strtoul(text, NULL, 10) : 0;
}

static void install_very_many(void *arg) {
    bool *light = arg;
    void *at;
    page = cc__vm_page_bytes();
    if (cc__vm_map(&at, (size_t)VERY_MANY * 2 * page) != 0) _exit(0);
    cc__vm_guard_force(*light ? CC__VM_GUARD_LIGHT : CC__VM_GUARD_MPROTECT);
    int rc = cc__vm_guard_install(at, page, 2 * page, VERY_MANY);
    /* Of the last ones there is nothing left either: all can be written. */
    if (rc != 0)
        for (size_t i = 0; i < (size_t)VERY_MANY * 2; i++) ((volatile char *)at)[i * page] = 1;
    dprintf(STDERR_FILENO, "%d", rc);
}

static void very_many_guards(void **state) {
    (void)state;
    char err[64], want[16];
    size_t limit = maps_limit();
    bool light = have_light();
    if (test_scaled(20) != 20) skip();
    if (light) {
        assert_int_equal(test_in_child(install_very_many, &light, err, sizeof err), 0);
        assert_string_equal(err, "0");
    }
    if (limit == 0 || limit > VERY_MANY) skip();
    bool by_mprotect = false;
    snprintf(want, sizeof want, "%d", -ENOMEM);
    assert_int_equal(test_in_child(install_very_many, &by_mprotect, err, sizeof err), 0);
    assert_string_equal(err, want);
}

/* Whether an inaccessible page can be asked about: not under every emulator. */
static bool residence_is_told(void) {
    unsigned char vec;
    char *at = map(1);
    __real_mprotect(at, page, PROT_NONE);
    bool told_it = mincore(at, page, &vec) == 0;
    cc__vm_unmap(at, page);
    return told_it;
}

static void guards_are_not_resident(void **state) {
    (void)state;
    if (!residence_is_told()) skip();
    for (int kind = 0; kind < 2; kind++) {
        be_told_nothing();
        cc__vm_guard_force(kind == 0 ? CC__VM_GUARD_MPROTECT : CC__VM_GUARD_LIGHT);
        char *at = map(8);
        memset(at, 'x', 2 * page);
        cc__vm_discard(at, 2 * page);
        assert_int_equal(cc__vm_guard_install(at, 2 * page, 2 * page, 1), 0);
        assert_null(cc__vm_lowest_resident(at, 8 * page));
        at[5 * page] = 1;
        assert_ptr_equal(cc__vm_lowest_resident(at, 8 * page), at + 5 * page);
        cc__vm_unmap(at, 8 * page);
    }
}

TEST_MAIN(cmocka_unit_test(light_guards), cmocka_unit_test(mprotect_guards), cmocka_unit_test(old_kernel_gets_mprotect),
          cmocka_unit_test(kernel_without_batches_gets_single_ones), cmocka_unit_test(emulator_is_not_believed),
          cmocka_unit_test(long_rows_go_in_batches), cmocka_unit_test(probe_without_memory_asks_again),
          cmocka_unit_test(failing_mprotect_undoes_all), cmocka_unit_test(failing_single_guard_undoes_all),
          cmocka_unit_test(partial_guard_is_undone), cmocka_unit_test(short_batches_go_on),
          cmocka_unit_test(refused_batch_is_finished_or_undone), cmocka_unit_test(very_many_guards),
          cmocka_unit_test(guards_are_not_resident))
