/* SPDX-License-Identifier: MIT */
/* A task that keeps its worker for long: who it is, and where it computes.
 *
 * The monitor calls this once for each time. A thread that computes is stopped for the moment it takes to walk up its
 * stack; one that sleeps in the kernel is left alone, because the signal would end the system call that it is in.
 *
 * Prev: runtime/deadlock.c  Next: runtime/blocking.c */
#include "../fiber/backtrace.h"
#include "../plat/peek.h"
#include "../plat/stop.h"
#include "report.h"

void cc__stall_report(struct cc__worker *w, const char *kind, bool asleep) {
    struct cc__task *t = cc__load_relaxed(&w->current);
    uintptr_t pc[CC__REPORT_FRAMES];
    struct cc__stopped at;
    size_t depth = 0;
    if (t == NULL) return;
    if (!asleep && cc__stop(w->thread_id, &at)) {
        struct cc__fiber *f = NULL; /* it stands: if it is still that task, this is its fiber; a future may be gone */
        if (cc__peek((void *)&f, &t->fiber, sizeof f) && f != NULL && cc__load_relaxed(&w->current) == t)
            depth = cc__backtrace_from(f, (struct cc__frame){at.pc, at.sp, at.fp}, pc, CC__REPORT_FRAMES);
        cc__stop_over();
    }
    cc__dump_one(t, kind, asleep ? "; it sleeps in the kernel" : "; it computes", pc, depth);
}
