/* SPDX-License-Identifier: MIT */
/* Goal: guards that are not real are found out. An emulator accepted the advice it did not know and did
 * nothing, so stacks had no guards and an overflow ran into the next stack.
 * Method: advice that succeeds and does nothing; the guard must still stop a write.
 * Link: -Wl,--wrap=madvise,--wrap=syscall
 */
#include "test.h"

#include "plat/vm.h"

#include <sys/mman.h>
#include <sys/syscall.h>

int __wrap_madvise(void *at, size_t n, int advice);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);

int __wrap_madvise(void *at, size_t n, int advice) {
    (void)at, (void)n, (void)advice;
    return 0;
}

enum { PROCESS_MADVISE = 440 };

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number != PROCESS_MADVISE) return __real_syscall(number, a, b, c, d, e, f);
    long bytes = 0;
    const struct {
        void *at;
        size_t bytes;
    } *range = (const void *)(uintptr_t)b;
    for (long i = 0; i < c; i++) bytes += (long)range[i].bytes;
    return bytes;
}

static void touch(void *at) {
    *(volatile char *)at = 1;
}

static void a_guard_that_does_nothing_is_not_used(void **state) {
    (void)state;
    assert_int_equal(cc__vm_guard_kind(), CC__VM_GUARD_MPROTECT);
    size_t page = cc__vm_page_bytes();
    void *at;
    char err[4096];
    assert_int_equal(cc__vm_map(&at, 2 * page), 0);
    assert_int_equal(cc__vm_guard_install(at, page, page, 1), 0);
    int status = test_in_child(touch, at, err, sizeof err);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    touch((char *)at + page);
    cc__vm_unmap(at, 2 * page);
}

TEST_MAIN(cmocka_unit_test(a_guard_that_does_nothing_is_not_used))
