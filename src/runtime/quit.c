/* SPDX-License-Identifier: MIT */
/* A report by signal. The handler only counts and wakes: a thread writes, so that the report needs not be made in the
 * middle of whatever the signal came in. The thread starts before the handler is in place and never ends; signals that
 * come while it writes are answered together by the next report.
 *
 * Prev: runtime/dump.c  Next: runtime/blocking.h */
#include <ccrt/debug.h>

#include "report.h"

#include "../plat/futex.h"
#include "../plat/signal.h"

#include <unistd.h>

/* How many reports were asked for. W: the handler.  R: the thread; it reads nothing because of it. */
static _Atomic uint32_t asked;

static void ask(void) {
    cc__add_relaxed(&asked, 1);
    cc__futex_wake(&asked, 1);
}

static void *answer(void *unused) {
    uint32_t answered = 0;
    cc__thread_set_name("ccrt-dump");
    for (;;) {
        uint32_t now = cc__load_relaxed(&asked);
        if (now == answered) {
            cc__futex_wait(&asked, now, CC__NO_DEADLINE);
        } else {
            answered = now;
            cc__dump_to(STDERR_FILENO, false);
        }
    }
    return unused;
}

int cc_dump_on_signal(int signo) {
    static cc__lock lock = CC__LOCK_INIT;
    static cc__thread thread; /* guarded by lock, as the next */
    static bool started;
    int rc = 0;
    cc__fiber_check_allowed();
    cc__lock_take(&lock);
    if (!started) rc = cc__thread_start(&thread, answer, NULL);
    if (rc == 0) {
        started = true;
        rc = cc__signal_take(signo, ask);
    }
    cc__lock_drop(&lock);
    return rc;
}
