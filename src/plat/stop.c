/* SPDX-License-Identifier: MIT */
/* Stopping a thread by a signal, whose handler notes where it came and waits to be let go.
 *
 * The signal is SIGSYS: our threads have faults unblocked and all else blocked, and of the faults it is the one that
 * debuggers and programs use least. The handler is there only while a thread is being stopped, and only where the
 * program left the default.
 *
 * Rejected: ptrace(), which a process cannot use on its own threads; /proc/self/task/N/syscall, which knows only those
 * that sleep.
 *
 * Prev: plat/signal.c  Next: fiber/ctx.h */
#include "stop.h"

#include "../base/atomic.h"
#include "clock.h"
#include "futex.h"
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ANSWER_NS = 50000000, STAND_NS = 500000000 };

/* One stop at a time. stage is a futex word: 0 asked for, 1 it stands, 2 it may go. */
static struct {
    _Atomic int wanted;       /* thread.  W: who stops.  R: the handler */
    _Atomic uint32_t stage;   /* W, R: both sides.  [ST1] */
    struct cc__stopped where; /* W: the handler, before stage 1 */
    struct sigaction before;  /* the signal's meaning otherwise */
} stop;

static struct cc__stopped where_of(const ucontext_t *u) {
#if defined(__x86_64__)
    const greg_t *r = u->uc_mcontext.gregs;
    return (struct cc__stopped){(uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]};
#elif defined(__aarch64__)
    return (struct cc__stopped){u->uc_mcontext.pc, u->uc_mcontext.sp, u->uc_mcontext.regs[29]};
#elif defined(__riscv)
    const unsigned long *r = u->uc_mcontext.__gregs;
    return (struct cc__stopped){r[REG_PC], r[REG_SP], r[REG_S0]};
#else
    (void)u;
    return (struct cc__stopped){0};
#endif
}

static void handler(int signo, siginfo_t *info, void *context) {
    int saved = errno;
    uint32_t asked = 0;
    (void)signo, (void)info;
    if (cc__thread_id() == cc__load_relaxed(&stop.wanted)) {
        stop.where = where_of(context);
        /* [ST1] release: where it stands may be read, and its stack. A late answer finds that nobody waits. */
        if (cc__cas_acq_rel(&stop.stage, &asked, 1)) {
            int64_t until = cc__now_ns() + STAND_NS;
            cc__futex_wake(&stop.stage, 1);
            while (cc__load_acquire(&stop.stage) == 1)
                if (cc__futex_wait(&stop.stage, 1, until) == -ETIMEDOUT) break;
        }
    }
    errno = saved;
}

static bool install(void) {
    struct sigaction ours;
    if (sigaction(SIGSYS, NULL, &stop.before) != 0) return false;
    if ((stop.before.sa_flags & SA_SIGINFO) != 0 || stop.before.sa_handler != SIG_DFL) return false;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    return sigaction(SIGSYS, &ours, NULL) == 0;
}

bool cc__stop(int thread_id, struct cc__stopped *out) {
    uint32_t asked = 0;
    cc__store_relaxed(&stop.wanted, thread_id);
    cc__store_release(&stop.stage, 0);
    if (!install()) return false;
    int64_t until = cc__now_ns() + ANSWER_NS;
    bool sent = syscall(SYS_tgkill, getpid(), thread_id, SIGSYS) == 0;
    while (sent && cc__load_acquire(&stop.stage) == 0) /* [ST1] acquire */
        if (cc__futex_wait(&stop.stage, 0, until) == -ETIMEDOUT) break;
    if (!sent || cc__cas_acq_rel(&stop.stage, &asked, 2)) { /* it did not come; if it does, it goes on at once */
        if (!sent) sigaction(SIGSYS, &stop.before, NULL);   /* else it may still come, and must find the handler */
        return false;
    }
    *out = stop.where;
    return true;
}

void cc__stop_over(void) {
    cc__store_release(&stop.stage, 2); /* [ST1] */
    cc__futex_wake(&stop.stage, 1);
    sigaction(SIGSYS, &stop.before, NULL);
}
