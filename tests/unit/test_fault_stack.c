/* SPDX-License-Identifier: MIT */
/* Goal: a thread that asks gets an alternate signal stack, on which a fault, also of its own stack's
 * end, is shown; one that has a stack already keeps it; ours goes when the thread ends.
 * Method: stacks and handlers are set up in children, as in test_fault.c. The callback compares its
 * frame with what sigaltstack() says; maps and unmaps are watched, and what the system may refuse is
 * refused, by wrapped functions.
 * Link: -Wl,--wrap=sigaltstack,--wrap=cc__vm_map,--wrap=cc__vm_unmap,--wrap=cc__at_end_arm
 */
#include "test.h"

#include "plat/fault.h"
#include "plat/thread.h"
#include "plat/vm.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

/* In a child, where cmocka's assertions have nowhere to go. */
#define EXPECT(cond) ((cond) ? (void)0 : child_fails(#cond, __LINE__))

static void child_fails(const char *what, int line) {
    dprintf(STDERR_FILENO, "line %d: not so: %s\n", line, what);
    _exit(9);
}

/* For what a sanitizer's own runtime calls before it is ready for instrumented code. */
#ifndef __has_attribute
#define __has_attribute(x) 0
#endif
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNINSTRUMENTED __attribute__((no_sanitize("thread"), no_sanitize("address")))
#endif

/* ---- functions that can be told what to do ---- */

int __real_sigaltstack(const stack_t *now, stack_t *before);
int __wrap_sigaltstack(const stack_t *now, stack_t *before);
int __real_cc__vm_map(void **out, size_t bytes);
int __wrap_cc__vm_map(void **out, size_t bytes);
void __real_cc__vm_unmap(void *at, size_t bytes);
void __wrap_cc__vm_unmap(void *at, size_t bytes);
int __real_cc__at_end_arm(struct cc__at_end *a, void *arg);
int __wrap_cc__at_end_arm(struct cc__at_end *a, void *arg);

static struct {
    bool no_look, no_set; /* sigaltstack(): asking, setting */
    int map_rc, arm_rc;   /* what those return instead */
} told;

static void *mapped, *unmapped; /* the last */
static size_t mapped_bytes, unmapped_bytes;

UNINSTRUMENTED int __wrap_sigaltstack(const stack_t *now, stack_t *before) {
    if (now == NULL ? told.no_look : told.no_set) {
        errno = EPERM;
        return -1;
    }
    return __real_sigaltstack(now, before);
}

int __wrap_cc__vm_map(void **out, size_t bytes) {
    if (told.map_rc != 0) return told.map_rc;
    int rc = __real_cc__vm_map(out, bytes);
    mapped = *out;
    mapped_bytes = bytes;
    return rc;
}

void __wrap_cc__vm_unmap(void *at, size_t bytes) {
    unmapped = at;
    unmapped_bytes = bytes;
    __real_cc__vm_unmap(at, bytes);
}

int __wrap_cc__at_end_arm(struct cc__at_end *a, void *arg) {
    return told.arm_rc != 0 ? told.arm_rc : __real_cc__at_end_arm(a, arg);
}

/* ---- what the children share ---- */

static char *closed; /* a page nobody may touch, until its fault was handled */
static int callbacks, handlers;
static bool on_alternate; /* the last callback was */

static void look_where_we_are(void *addr) {
    stack_t now;
    char *here = __builtin_frame_address(0);
    (void)addr;
    callbacks++;
    if (__real_sigaltstack(NULL, &now) != 0) return;
    on_alternate = here >= (char *)now.ss_sp && here < (char *)now.ss_sp + now.ss_size;
}

static void open_again(int sig) {
    (void)sig;
    handlers++;
    mprotect(closed, cc__vm_page_bytes(), PROT_READ | PROT_WRITE);
}

/* A fault that is shown, and then handled as the program would. */
static void fault_once(void) {
    void *at;
    EXPECT(__real_cc__vm_map(&at, cc__vm_page_bytes()) == 0);
    closed = at;
    mprotect(closed, cc__vm_page_bytes(), PROT_NONE);
    signal(SIGSEGV, open_again);
    EXPECT(cc__fault_install(look_where_we_are) == 0);
    *(volatile char *)closed = 1;
    EXPECT(callbacks == 1 && handlers == 1);
}

/* A thread with no alternate stack, whoever gave it one. */
static void no_alternate(void) {
    stack_t none;
    memset(&none, 0, sizeof none);
    none.ss_flags = SS_DISABLE;
    EXPECT(__real_sigaltstack(&none, NULL) == 0);
}

static void ends_well(void (*fn)(void *)) {
    char err[1024];
    int status = test_in_child(fn, NULL, err, sizeof err);
    if (status != 0) print_message("status %x: %s\n", (unsigned)status, err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- where the handler runs ---- */

static void child_alternate(void *arg) {
    stack_t now;
    (void)arg;
    no_alternate();
    EXPECT(cc__fault_thread_begin() == 0);
    EXPECT(__real_sigaltstack(NULL, &now) == 0);
    EXPECT((now.ss_flags & SS_DISABLE) == 0);
    EXPECT(now.ss_size >= 64 * 1024);
    EXPECT(now.ss_sp == mapped && now.ss_size == mapped_bytes);
    void *first = now.ss_sp;
    EXPECT(cc__fault_thread_begin() == 0); /* harmless */
    EXPECT(__real_sigaltstack(NULL, &now) == 0 && now.ss_sp == first && mapped == first);
    fault_once();
    EXPECT(on_alternate);
}

static void handler_runs_on_an_alternate_stack(void **state) {
    (void)state;
    ends_well(child_alternate);
}

static void look_and_end(void *addr) {
    look_where_we_are(addr);
    if (on_alternate && write(STDERR_FILENO, "caught", 6) != 6) _exit(8);
    _exit(0);
}

/* Down to the end of the stack, whatever the compiler thinks of it. */
static int descend(int levels) {
    volatile char frame[1024];
    frame[0] = (char)levels;
    int below = levels > 0 ? descend(levels - 1) : 0;
    return below + frame[0];
}

static void *overflow(void *arg) {
    no_alternate();
    EXPECT(cc__fault_thread_begin() == 0);
    *(int *)arg = descend(INT_MAX);
    return NULL;
}

static void child_overflow(void *arg) {
    pthread_attr_t attr;
    pthread_t thread;
    int sum;
    (void)arg;
    signal(SIGSEGV, SIG_DFL);
    EXPECT(cc__fault_install(look_and_end) == 0);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    EXPECT(pthread_create(&thread, &attr, overflow, &sum) == 0);
    pthread_join(thread, NULL);
    EXPECT(false);
}

static void overflow_of_a_stack_is_shown(void **state) {
    (void)state;
    char err[1024];
    int status = test_in_child(child_overflow, NULL, err, sizeof err);
    if (status != 0) print_message("status %x\n", (unsigned)status);
    assert_string_equal(err, "caught");
    assert_int_equal(status, 0);
}

static void child_own_stack(void *arg) {
    static char own[128 * 1024];
    stack_t mine, now;
    (void)arg;
    memset(&mine, 0, sizeof mine);
    mine.ss_sp = own;
    mine.ss_size = sizeof own;
    EXPECT(__real_sigaltstack(&mine, NULL) == 0);
    EXPECT(cc__fault_thread_begin() == 0);
    EXPECT(mapped == NULL);
    EXPECT(__real_sigaltstack(NULL, &now) == 0);
    EXPECT(now.ss_sp == own && now.ss_size == sizeof own && (now.ss_flags & SS_DISABLE) == 0);
    fault_once();
    EXPECT(on_alternate);
}

static void own_alternate_stack_is_left_alone(void **state) {
    (void)state;
    ends_well(child_own_stack);
}

/* ---- at a thread's end ---- */

static void *begin_and_end(void *arg) {
    stack_t now;
    no_alternate();
    EXPECT(cc__fault_thread_begin() == 0);
    EXPECT(__real_sigaltstack(NULL, &now) == 0);
    *(void **)arg = now.ss_sp;
    return NULL;
}

static void child_freed(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        void *stack = NULL;
        pthread_t thread;
        unmapped = NULL;
        EXPECT(pthread_create(&thread, NULL, begin_and_end, &stack) == 0);
        EXPECT(pthread_join(thread, NULL) == 0);
        EXPECT(stack != NULL && unmapped == stack);
        EXPECT(unmapped_bytes == mapped_bytes);
    }
}

enum { LATER_BYTES = 128 * 1024 };
static void *later_own; /* mapped: a sanitizer unmaps what it finds in place at a thread's end */
static pthread_key_t last_key;
static stack_t stack_at_last;

/* Keys end in the order they were made in, so this one sees what ours left. */
static void look_at_last(void *arg) {
    (void)arg;
    __real_sigaltstack(NULL, &stack_at_last);
}

static void *begin_and_replace(void *arg) {
    begin_and_end(arg);
    EXPECT(pthread_key_create(&last_key, look_at_last) == 0);
    EXPECT(pthread_setspecific(last_key, arg) == 0);
    stack_t mine;
    memset(&mine, 0, sizeof mine);
    mine.ss_sp = later_own;
    mine.ss_size = LATER_BYTES;
    EXPECT(__real_sigaltstack(&mine, NULL) == 0);
    return NULL;
}

static void *begin_and_watch(void *arg) {
    begin_and_end(arg);
    EXPECT(pthread_setspecific(last_key, arg) == 0);
    return NULL;
}

static void child_replaced(void *arg) {
    void *stack = NULL;
    pthread_t thread;
    (void)arg;
    EXPECT(__real_cc__vm_map(&later_own, LATER_BYTES) == 0);
    EXPECT(pthread_create(&thread, NULL, begin_and_replace, &stack) == 0);
    pthread_join(thread, NULL);
    EXPECT(unmapped == stack); /* ours is freed all the same */
    EXPECT(stack_at_last.ss_sp == later_own && (stack_at_last.ss_flags & SS_DISABLE) == 0);
    /* Where it is still ours, nothing that is unmapped stays in place. */
    EXPECT(pthread_create(&thread, NULL, begin_and_watch, &stack) == 0);
    pthread_join(thread, NULL);
    EXPECT((stack_at_last.ss_flags & SS_DISABLE) != 0);
}

static void alternate_stack_is_freed_at_the_end(void **state) {
    (void)state;
    ends_well(child_freed);
    ends_well(child_replaced);
}

/* ---- what the system refuses ---- */

static void child_refused(void *arg) {
    (void)arg;
    no_alternate();
    told.no_look = true;
    EXPECT(cc__fault_thread_begin() == -EAGAIN);
    told.no_look = false;
    told.map_rc = -ENOMEM;
    EXPECT(cc__fault_thread_begin() == -ENOMEM);
    told.map_rc = 0;
    EXPECT(unmapped == NULL);
    told.arm_rc = -EAGAIN;
    EXPECT(cc__fault_thread_begin() == -EAGAIN);
    told.arm_rc = 0;
    EXPECT(mapped != NULL && unmapped == mapped && unmapped_bytes == mapped_bytes);
    stack_t now;
    EXPECT(__real_sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0);
    EXPECT(cc__fault_thread_begin() == 0); /* and once it is let */
}

static void refusals_are_reported(void **state) {
    (void)state;
    ends_well(child_refused);
}

static void child_no_alternate_at_all(void *arg) {
    (void)arg;
    no_alternate();
    told.no_set = true;
    (void)cc__fault_thread_begin();
}

static void refused_stack_is_fatal(void **state) {
    (void)state;
    test_aborts(child_no_alternate_at_all, NULL, "misuse: the system refuses an alternate signal stack (fault.c:");
}

TEST_MAIN(cmocka_unit_test(handler_runs_on_an_alternate_stack), cmocka_unit_test(overflow_of_a_stack_is_shown),
          cmocka_unit_test(own_alternate_stack_is_left_alone), cmocka_unit_test(alternate_stack_is_freed_at_the_end),
          cmocka_unit_test(refusals_are_reported), cmocka_unit_test(refused_stack_is_fatal))
