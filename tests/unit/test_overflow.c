/* SPDX-License-Identifier: MIT */
/* Goal: a fiber that outgrows its stack is named, with its size, and the program aborts; no frame steps
 * over the guard; faults that are not ours reach the program's own handler (lesson 85).
 * Method: each in a child process that dies.
 */
#include "test.h"

#include "fiber/fiber.h"
#include "plat/vm.h"

#include <sys/mman.h>

static struct cc__fiber *root;

static void run_on_fiber(void (*fn)(void *), size_t bytes, const char *name) {
    static struct cc__stack_cache cache;
    struct cc__fiber *f;
    if (cc__fiber_attach(&root) != 0 || cc__fiber_create(&f, &cache, bytes, false, false) != 0) _exit(1);
    cc__fiber_describe(f, 7, name);
    cc__fiber_start(f, fn, f);
    cc__fiber_switch(root, f);
}

/* Recursion that a compiler cannot turn into a loop, in frames of the given size. */
#define RECURSION(name, frame_bytes)                                                                                   \
    static __attribute__((noinline)) int name(int n) {                                                                 \
        volatile char frame[frame_bytes];                                                                              \
        frame[0] = (char)n; /* the low end only: the rest of the frame is stepped over */                              \
        return (n < 0 ? 0 : name(n + 1)) + frame[0];                                                                   \
    }
RECURSION(recurse_small, 64)
RECURSION(recurse_32k, 32 * 1024)

static void overflow_small(void *arg) {
    recurse_small(0);
    cc__fiber_exit(arg, root);
}
static void overflow_32k(void *arg) {
    recurse_32k(0);
    cc__fiber_exit(arg, root);
}

static void die_small(void *arg) {
    (void)arg;
    run_on_fiber(overflow_small, 262144, "parse");
}
static void die_unnamed(void *arg) {
    (void)arg;
    run_on_fiber(overflow_small, 16384, NULL);
}
static void die_32k(void *arg) {
    (void)arg;
    run_on_fiber(overflow_32k, 262144, "frames");
}
static void die_32k_smallest(void *arg) {
    (void)arg;
    run_on_fiber(overflow_32k, 16384, "frames");
}
static void die_mprotect(void *arg) {
    (void)arg;
    cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    run_on_fiber(overflow_small, 65536, "old kernel");
}

static void overflow_is_named(void **state) {
    (void)state;
    test_aborts(die_small, NULL, "ccrt: fiber 7 \"parse\" overflowed its 262144-byte stack (");
    test_aborts(die_unnamed, NULL, "ccrt: fiber 7 overflowed its 16384-byte stack (");
    test_aborts(die_mprotect, NULL, "ccrt: fiber 7 \"old kernel\" overflowed its 65536-byte stack (");
}

static void large_frames_do_not_jump_the_guard(void **state) {
    (void)state;
    test_aborts(die_32k, NULL, "ccrt: fiber 7 \"frames\" overflowed its 262144-byte stack (");
    test_aborts(die_32k_smallest, NULL, "ccrt: fiber 7 \"frames\" overflowed its 16384-byte stack (");
}

static void their_handler(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)context;
    static const char text[] = "their handler got it\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 || info->si_addr == NULL) _exit(1);
    abort();
}

static void install_theirs(void) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = their_handler;
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &sa, NULL);
}

static void touch_unmapped(void *arg) {
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)hole = 1;
    cc__fiber_exit(arg, root);
}
static void die_theirs(void *arg) {
    (void)arg;
    install_theirs();
    run_on_fiber(touch_unmapped, 65536, "wild");
}
static void die_ours_before_theirs(void *arg) {
    (void)arg;
    install_theirs();
    run_on_fiber(overflow_small, 65536, "ours");
}
static void die_on_thread_stack(void *arg) {
    (void)arg;
    install_theirs();
    if (cc__fiber_attach(&root) != 0) _exit(1);
    touch_unmapped(NULL);
}

static void what_is_not_ours_goes_on(void **state) {
    (void)state;
    test_aborts(die_theirs, NULL, "their handler got it");
    test_aborts(die_ours_before_theirs, NULL, "ccrt: fiber 7 \"ours\" overflowed");
    test_aborts(die_on_thread_stack, NULL, "their handler got it");
}

static void plain_fault(void *arg) {
    (void)arg;
    run_on_fiber(touch_unmapped, 65536, "wild");
}

static void default_is_still_a_fault(void **state) {
    (void)state;
    if (TEST_ASAN) skip(); /* has a handler of its own */
    char err[4096];
    int status = test_in_child(plain_fault, NULL, err, sizeof err);
    assert_null(strstr(err, "overflowed"));
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    if (WIFSIGNALED(status)) assert_int_equal(WTERMSIG(status), SIGSEGV);
}

TEST_MAIN(cmocka_unit_test(overflow_is_named), cmocka_unit_test(large_frames_do_not_jump_the_guard),
          cmocka_unit_test(what_is_not_ours_goes_on), cmocka_unit_test(default_is_still_a_fault))
