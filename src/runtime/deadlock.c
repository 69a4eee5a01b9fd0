/* SPDX-License-Identifier: MIT */
/* Deadlocks: reported only when certain.
 *
 * The monitor asks, once, when all workers have been idle for a while. It is a deadlock if there are tasks, and
 *
 *   - no queue has one, no timer will fire, no blocking call or call on a file is under way, none waits for a
 *     descriptor, nobody is about to wake one from outside;
 *   - every thread of the process is one of the library's, or a plain one that waits in the library without a limit, or
 *     the kernel's own, which makes calls on files: its count of threads is the sum. A thread that was woken and has
 *     not run yet is not waiting, so the sum is too small: no report;
 *   - the program catches no signal by a handler of its own, and has announced no wait for something outside.
 *
 * Rejected: reporting by time alone. A thread that computes for a minute before it sends is no deadlock.
 *
 * Prev: runtime/dump.c  Next: runtime/blocking.c */
#include <ccrt/external.h>

#include "../base/env.h"
#include "../base/text.h"
#include "../plat/signal.h"
#include "../plat/thread.h"
#include "blocking.h"
#include "report.h"
#include "runtime.h"

#include <stdlib.h>
#include <unistd.h>

static _Atomic int external; /* announced waits.  W: any thread.  R: the monitor */

void cc_external_wait(int change) {
    cc__add_relaxed(&external, change);
}

cc_priv_external *cc_priv_external_enter(cc_priv_external *e) {
    cc_external_wait(1);
    return e;
}

void cc_priv_external_leave(cc_priv_external *e) {
    (void)e;
    cc_external_wait(-1);
}

/* ---- whether it is one ---- */

/* Whether nothing of this runtime can become ready by itself. */
static bool is_still(struct cc__runtime *rt) {
    unsigned count = cc__worker_count(rt);
    if (cc__load_acquire(&rt->visitors) != 0 || cc__steal_queued(rt)) return false;
    if (cc__bits_count(&rt->idle) < cc__load_relaxed(&rt->growth.running)) return false;
    for (unsigned i = 0; i < count; i++) {
        struct cc__worker *w = &rt->workers[i];
        if (cc__load_relaxed(&w->timers.next_ns) != CC__NEVER || cc__load_relaxed(&w->slot.task) != NULL) return false;
        if (cc__load_relaxed(&w->mail) != NULL || cc__load_relaxed(&w->current) != NULL) return false;
        if (cc__files_any_pending(&w->reactor.files)) return false;
    }
    return true;
}

static uint64_t tasks_of(struct cc__runtime *rt) {
    uint64_t n = cc__load_relaxed(&rt->spawned);
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++)
        n += cc__load_relaxed(&rt->workers[i].count.spawned) - cc__load_relaxed(&rt->workers[i].count.ended);
    return n;
}

static void count_waiting(struct cc__task *t, void *threads) {
    uint64_t c = cc__load_relaxed(&t->control);
    if ((c & CC__CONTROL_THREAD) != 0 && (c & CC__CONTROL_STATE) == CC__PARKED) ++*(unsigned *)threads;
}

/* Whether no thread could wake a task. */
static bool all_threads_wait(void) {
    unsigned waiting = 0;
    if (cc__park_timed_threads() != 0) return false;
    cc__task_each(count_waiting, &waiting);
    unsigned count = cc__thread_count(), known = cc__thread_count_own() + waiting;
    return count == known || count == known + cc__thread_count_kernels();
}

/* ---- what is told besides, where it is asked for ---- */

static void tell_runtime(struct cc__runtime *rt) {
    char line[200];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: deadlock: runtime \"");
    cc__text_str(&text, rt->name);
    cc__text_str(&text, "\": ");
    cc__text_dec(&text, cc__load_relaxed(&rt->growth.running));
    cc__text_str(&text, " workers, all idle; ");
    cc__text_dec(&text, tasks_of(rt));
    cc__text_str(&text, " tasks, none queued, no timer\n");
    cc__text_print(&text);
}

static void tell_inboxes(struct cc__runtime *rt) {
    unsigned count = cc__worker_count(rt);
    for (unsigned i = 0; i < count; i++) {
        struct cc__worker *w = &rt->workers[i];
        bool empty = cc__load_relaxed(&w->mail) == NULL && cc__load_relaxed(&w->post) == NULL;
        char line[120];
        struct cc__text text = cc__text_on(line, sizeof line);
        cc__text_str(&text, "ccrt: deadlock: inbox of ");
        cc__text_str(&text, rt->name);
        cc__text_str(&text, "-");
        cc__text_dec(&text, i);
        cc__text_str(&text, empty ? ": empty\n" : ": something came just now\n");
        cc__text_print(&text);
    }
}

bool cc__deadlock_check(struct cc__runtime *first) {
    uint64_t tasks = 0;
    if (cc__load_relaxed(&external) > 0 || cc__blocking_pending() != 0 || cc__fd_any_waits()) return false;
    for (struct cc__runtime *rt = first; rt != NULL; rt = rt->growth.next) {
        if (!is_still(rt)) return false;
        tasks += tasks_of(rt);
    }
    if (tasks == 0 || !all_threads_wait() || cc__signal_caught()) return false;
    char line[160];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: deadlock: ");
    cc__text_dec(&text, tasks);
    cc__text_str(&text, tasks == 1 ? " task waits" : " tasks wait");
    cc__text_str(&text, ", and nothing in this process can wake one of them\n");
    cc__text_print(&text);
    for (struct cc__runtime *rt = first; rt != NULL; rt = rt->growth.next) {
        if (cc__env.debug_deadlock_runtime) tell_runtime(rt);
        if (cc__env.debug_inbox_dump) tell_inboxes(rt);
    }
    cc__dump_to(STDERR_FILENO, cc__env.debug_deadlock != 0);
    return true;
}

void cc__deadlock_end(void) {
    if (cc__env.deadlock_abort) abort();
}
