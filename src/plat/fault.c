/* SPDX-License-Identifier: MIT */
/* Memory faults.
 *
 * The handler stands in front of the program's own: it takes over that one's mask and its restart and
 * nesting flags, calls it with the same arguments, and obeys SA_RESETHAND for it. Where the program
 * had none, the default is put back and the fault happens again, so that a debugger or core file shows
 * the faulting instruction and not this file.
 *
 * Alternate stacks are a thread's own. One that the program (or a sanitizer) gave the thread already is
 * left alone; ours is freed when the thread ends.
 *
 * Prev: plat/block.c  Next: trace/trace.h */
#include "fault.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "thread.h"
#include "vm.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Room for a program's own handler beside the machine state the kernel saves (11 KiB with AMX). */
enum { ALT_STACK_ROOM = 64 * 1024 };

static cc__fault_fn *fault_fn;          /* W: once, before the handler is in place */
static struct sigaction fault_previous; /* the same */

static void previous_call(int sig, siginfo_t *info, void *context) {
    if ((fault_previous.sa_flags & (int)SA_RESETHAND) != 0) signal(sig, SIG_DFL);
    if ((fault_previous.sa_flags & SA_SIGINFO) != 0)
        fault_previous.sa_sigaction(sig, info, context);
    else
        fault_previous.sa_handler(sig);
}

static void fault_handler(int sig, siginfo_t *info, void *context) {
    int saved = errno;
    bool by_the_kernel = info->si_code > 0; /* else by kill(): there is no address */
    bool ignored = fault_previous.sa_handler == SIG_IGN;
    if (by_the_kernel) fault_fn(info->si_addr);
    if (fault_previous.sa_handler != SIG_DFL && !ignored) {
        previous_call(sig, info, context);
    } else if (by_the_kernel || !ignored) {
        signal(sig, SIG_DFL); /* a real fault is never ignored; it happens again on return */
        if (!by_the_kernel) raise(sig);
    }
    errno = saved;
}

int cc__fault_install(cc__fault_fn *fn) {
    struct sigaction ours;
    if (sigaction(SIGSEGV, NULL, &fault_previous) != 0) return -EINVAL;
    fault_fn = fn;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = fault_handler;
    ours.sa_mask = fault_previous.sa_mask;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (fault_previous.sa_flags & (SA_RESTART | (int)SA_NODEFER));
    return sigaction(SIGSEGV, &ours, NULL) == 0 ? 0 : -EINVAL;
}

static size_t alt_bytes(void) {
    size_t least = (size_t)getauxval(AT_MINSIGSTKSZ);
    if (least < (size_t)MINSIGSTKSZ) least = (size_t)MINSIGSTKSZ;
    return cc__align_up(least + ALT_STACK_ROOM, cc__vm_page_bytes());
}

static void alt_free(void *stack) {
    stack_t none, now;
    memset(&none, 0, sizeof none);
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack) sigaltstack(&none, NULL);
    cc__vm_unmap(stack, alt_bytes());
}

static struct cc__at_end alt_end = {.fn = alt_free};

int cc__fault_thread_begin(void) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0) return -EAGAIN;
    if ((now.ss_flags & SS_DISABLE) == 0) return 0;
    void *stack;
    int rc = cc__vm_map(&stack, alt_bytes());
    if (rc != 0) return rc;
    rc = cc__at_end_arm(&alt_end, stack);
    if (rc != 0) {
        cc__vm_unmap(stack, alt_bytes());
        return rc;
    }
    memset(&now, 0, sizeof now);
    now.ss_sp = stack;
    now.ss_size = alt_bytes();
    CC_CHECK(sigaltstack(&now, NULL) == 0, "the system refuses an alternate signal stack");
    return 0;
}
