/* SPDX-License-Identifier: MIT */
/* Goal: a memory fault is shown to the callback first, with its address; what it lets pass
 * reaches whoever had the signal before, exactly as it would have without us.
 * Method: dispositions belong to the process, so each case is a child that sets one up, installs the
 * callback, faults on a page it closed, and says what it saw on stderr and by how it ends. Handlers end
 * a fault by opening the page.
 * Link: -Wl,--wrap=sigaction
 */
#include "test.h"

#include "plat/fault.h"
#include "plat/vm.h"

#include <pthread.h>
#include <sys/mman.h>

/* What a handler may call: printf() and its kin are not among it. */
static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(8);
}

/* In a child, where cmocka's assertions have nowhere to go. */
#define EXPECT(cond) ((cond) ? (void)0 : child_fails(#cond, __LINE__))

static void child_fails(const char *what, int line) {
    dprintf(STDERR_FILENO, "line %d: not so: %s\n", line, what);
    _exit(9);
}

/* ---- a sigaction() that can be told to fail ---- */

int __real_sigaction(int sig, const struct sigaction *now, struct sigaction *before);
int __wrap_sigaction(int sig, const struct sigaction *now, struct sigaction *before);

static bool no_look, no_handler; /* asking, setting */

int __wrap_sigaction(int sig, const struct sigaction *now, struct sigaction *before) {
    if (now == NULL ? no_look : no_handler) {
        errno = EINVAL;
        return -1;
    }
    return __real_sigaction(sig, now, before);
}

/* ---- what the children share ---- */

static char *closed;    /* a page nobody may touch */
static void *told_addr; /* what the callback was given */
static int callbacks, handlers;
static int handler_sig;
static siginfo_t handler_info;
static bool handler_context;

static void page_open(void) {
    mprotect(closed, cc__vm_page_bytes(), PROT_READ | PROT_WRITE);
}
static void page_close(void) {
    mprotect(closed, cc__vm_page_bytes(), PROT_NONE);
}

static void look(void *addr) {
    callbacks++;
    told_addr = addr;
}

static void info_handler(int sig, siginfo_t *info, void *context) {
    handlers++;
    handler_sig = sig;
    handler_info = *info;
    handler_context = context != NULL;
    page_open();
    errno = 55;
}

static void plain_handler(int sig) {
    handlers++;
    handler_sig = sig;
    page_open();
    errno = 55;
}

/* Clean: whatever handler the test's own frame or a sanitizer had is gone. */
static void begin(void) {
    void *at;
    signal(SIGSEGV, SIG_DFL);
    EXPECT(cc__vm_map(&at, cc__vm_page_bytes()) == 0);
    closed = at;
    page_close();
}

static void had_before(void (*handler)(int), void (*info)(int, siginfo_t *, void *), int flags) {
    struct sigaction before;
    memset(&before, 0, sizeof before);
    before.sa_flags = flags;
    if (info != NULL) {
        before.sa_sigaction = info;
        before.sa_flags |= SA_SIGINFO;
    } else {
        before.sa_handler = handler;
    }
    EXPECT(__real_sigaction(SIGSEGV, &before, NULL) == 0);
}

static void touch(size_t offset) {
    *(volatile char *)(closed + offset) = 1;
}

static void ends_well(void (*fn)(void *)) {
    char err[1024];
    int status = test_in_child(fn, NULL, err, sizeof err);
    if (status != 0) print_message("status %x: %s\n", (unsigned)status, err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* It must die by SIGSEGV, after saying `text` and before saying more than that of ours. */
static void dies_saying(void (*fn)(void *), const char *text) {
    char err[1024];
    int status = test_in_child(fn, NULL, err, sizeof err);
    if (!WIFSIGNALED(status)) print_message("status %x: %s\n", (unsigned)status, err);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    assert_int_equal(strncmp(err, text, strlen(text)), 0);
    assert_null(strstr(err, "survived"));
    assert_null(strstr(err, "not so"));
}

/* ---- the callback ---- */

static void look_and_leave(void *addr) {
    EXPECT(addr == closed + 5);
    _exit(0);
}

static void child_callback_ends_it(void *arg) {
    (void)arg;
    begin();
    EXPECT(cc__fault_install(look_and_leave) == 0);
    touch(5);
    EXPECT(false);
}

static void callback_sees_the_address_and_may_end_it(void **state) {
    (void)state;
    ends_well(child_callback_ends_it);
}

/* ---- what it lets pass ---- */

static void fault_and_come_back(size_t offset) {
    errno = 77;
    touch(offset);
    EXPECT(errno == 77);
    EXPECT(callbacks == 1 && told_addr == closed + offset);
    EXPECT(handlers == 1 && handler_sig == SIGSEGV);
}

static void child_info_handler(void *arg) {
    (void)arg;
    begin();
    had_before(NULL, info_handler, 0);
    EXPECT(cc__fault_install(look) == 0);
    fault_and_come_back(123);
    EXPECT(handler_info.si_addr == closed + 123);
    EXPECT(handler_info.si_signo == SIGSEGV);
    EXPECT(handler_info.si_code > 0);
    EXPECT(handler_context);
}

static void child_plain_handler(void *arg) {
    (void)arg;
    begin();
    had_before(plain_handler, NULL, 0);
    EXPECT(cc__fault_install(look) == 0);
    fault_and_come_back(7);
    /* And again: it stays in place. */
    callbacks = handlers = 0;
    page_close();
    fault_and_come_back(8);
}

static void previous_handlers_get_it(void **state) {
    (void)state;
    ends_well(child_info_handler);
    ends_well(child_plain_handler);
}

static void look_and_say(void *addr) {
    say(addr == closed + 9 ? "looked;" : "wrong address;");
}

static void child_default(void *arg) {
    (void)arg;
    begin();
    EXPECT(cc__fault_install(look_and_say) == 0);
    touch(9);
    say("survived");
}

static void look_and_open(void *addr) {
    look(addr);
    page_open();
}

/* Not a second fault, then: what is put back can be seen. */
static void child_default_after(void *arg) {
    struct sigaction now;
    (void)arg;
    begin();
    EXPECT(cc__fault_install(look_and_open) == 0);
    errno = 77;
    touch(9);
    EXPECT(errno == 77 && callbacks == 1);
    EXPECT(sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}

static void child_ignored_fault(void *arg) {
    (void)arg;
    begin();
    had_before(SIG_IGN, NULL, 0);
    EXPECT(cc__fault_install(look_and_say) == 0);
    touch(9);
    say("survived");
}

static void without_a_handler_it_kills(void **state) {
    (void)state;
    dies_saying(child_default, "looked;");
    ends_well(child_default_after);
    dies_saying(child_ignored_fault, "looked;"); /* a real fault cannot be ignored */
}

/* ---- sent by kill() ---- */

static void child_sent_default(void *arg) {
    (void)arg;
    begin();
    EXPECT(cc__fault_install(look_and_say) == 0);
    say("sent;");
    kill(getpid(), SIGSEGV);
    say("survived");
}

static void child_sent_ignored(void *arg) {
    (void)arg;
    begin();
    had_before(SIG_IGN, NULL, 0);
    EXPECT(cc__fault_install(look) == 0);
    for (int i = 0; i < 3; i++) EXPECT(kill(getpid(), SIGSEGV) == 0);
    EXPECT(callbacks == 0);
}

static void child_sent_handled(void *arg) {
    (void)arg;
    begin();
    had_before(NULL, info_handler, 0);
    EXPECT(cc__fault_install(look) == 0);
    EXPECT(kill(getpid(), SIGSEGV) == 0);
    EXPECT(callbacks == 0);
    EXPECT(handlers == 1 && handler_sig == SIGSEGV);
    EXPECT(handler_info.si_code <= 0);
    EXPECT(handler_info.si_pid == getpid());
}

static void sent_signals_are_not_faults(void **state) {
    (void)state;
    dies_saying(child_sent_default, "sent;");
    ends_well(child_sent_ignored);
    ends_well(child_sent_handled);
}

/* ---- flags and masks of the previous handler ---- */

static void handler_once(int sig) {
    struct sigaction now;
    plain_handler(sig);
    __real_sigaction(SIGSEGV, NULL, &now);
    say(now.sa_handler == SIG_DFL ? "once;" : "not reset;");
}

static void child_reset(void *arg) {
    (void)arg;
    begin();
    had_before(handler_once, NULL, (int)SA_RESETHAND);
    EXPECT(cc__fault_install(look) == 0);
    touch(1);
    EXPECT(callbacks == 1 && handlers == 1);
    say("again;");
    page_close();
    touch(2);
    say("survived");
}

static void reset_after_one_is_obeyed(void **state) {
    (void)state;
    dies_saying(child_reset, "once;again;");
}

static bool segv_blocked, usr2_blocked;

static void keep_mask(int sig) {
    sigset_t now;
    (void)sig;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    segv_blocked = sigismember(&now, SIGSEGV) == 1;
    usr2_blocked = sigismember(&now, SIGUSR2) == 1;
}

static void look_at_mask(void *addr) {
    look(addr);
    keep_mask(SIGSEGV);
}

/* The program's own handler, that blocks SIGUSR2 too. */
static void had_masking(void (*handler)(int), int flags) {
    struct sigaction before;
    memset(&before, 0, sizeof before);
    before.sa_handler = handler;
    sigaddset(&before.sa_mask, SIGUSR2);
    before.sa_flags = flags;
    EXPECT(__real_sigaction(SIGSEGV, &before, NULL) == 0);
}

/* Without us: what valgrind, qemu and ThreadSanitizer make of masks differs. */
static void child_masks_alone(void *arg) {
    had_masking(keep_mask, *(int *)arg);
    kill(getpid(), SIGSEGV);
    EXPECT(usr2_blocked && segv_blocked == ((*(int *)arg & (int)SA_NODEFER) == 0));
}

static void child_masks(void *arg) {
    struct sigaction after;
    int flags = *(int *)arg;
    begin();
    had_masking(plain_handler, flags);
    EXPECT(cc__fault_install(look_at_mask) == 0);
    EXPECT(__real_sigaction(SIGSEGV, NULL, &after) == 0);
    EXPECT((after.sa_flags & SA_RESTART) == (flags & SA_RESTART));
    EXPECT((after.sa_flags & SA_SIGINFO) != 0 && (after.sa_flags & SA_ONSTACK) != 0);
    touch(0);
    EXPECT(handlers == 1);
    EXPECT(usr2_blocked);
    EXPECT(segv_blocked == ((flags & (int)SA_NODEFER) == 0));
}

static void child_no_masks(void *arg) {
    (void)arg;
    begin();
    had_before(plain_handler, NULL, 0);
    EXPECT(cc__fault_install(look_at_mask) == 0);
    touch(0);
    EXPECT(handlers == 1);
    EXPECT(!usr2_blocked);
    EXPECT(segv_blocked);
}

static void mask_and_nesting_are_taken_over(void **state) {
    (void)state;
    const int flags[] = {0, SA_RESTART, (int)SA_NODEFER, SA_RESTART | (int)SA_NODEFER};
    char err[256];
    size_t tried = 0;
    for (size_t i = 0; i < TEST_COUNT_OF(flags); i++) {
        int each = flags[i];
        if (test_in_child(child_masks_alone, &each, err, sizeof err) != 0) continue;
        int status = test_in_child(child_masks, &each, err, sizeof err);
        if (status != 0) print_message("flags %x: %s", (unsigned)each, err);
        assert_int_equal(status, 0);
        tried++;
    }
    if (tried == 0 || TEST_TSAN) skip(); /* TSan runs handlers of its own, with all signals blocked */
    ends_well(child_no_masks);
}

/* ---- what the system refuses ---- */

static void child_refused(void *arg) {
    struct sigaction before, after;
    (void)arg;
    begin();
    EXPECT(__real_sigaction(SIGSEGV, NULL, &before) == 0);
    no_look = true;
    EXPECT(cc__fault_install(look) == -EINVAL);
    no_look = false;
    no_handler = true;
    EXPECT(cc__fault_install(look) == -EINVAL);
    no_handler = false;
    EXPECT(__real_sigaction(SIGSEGV, NULL, &after) == 0 && after.sa_handler == before.sa_handler);
}

static void refusals_are_reported(void **state) {
    (void)state;
    ends_well(child_refused);
}

TEST_MAIN(cmocka_unit_test(callback_sees_the_address_and_may_end_it), cmocka_unit_test(previous_handlers_get_it),
          cmocka_unit_test(without_a_handler_it_kills), cmocka_unit_test(sent_signals_are_not_faults),
          cmocka_unit_test(reset_after_one_is_obeyed), cmocka_unit_test(mask_and_nesting_are_taken_over),
          cmocka_unit_test(refusals_are_reported))
