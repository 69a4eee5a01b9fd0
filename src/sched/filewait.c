/* SPDX-License-Identifier: MIT */
/* Waiting for a call on a file that the kernel makes: C1 to C4 of driver/files.c.
 *
 * Prev: sched/fdwait.c  Next: sched/grow.c */
#include "sched.h"

#include "claims.h"
#include "leave.h"

#include <errno.h>

/* The ring of this worker, made on first use; NULL: there is none. One that is here for a while has none: what it had
 * asked for would end with it. */
static struct cc__files *files_here(struct cc__worker *w) {
    struct cc__files *f = &w->reactor.files;
    if (!w->runtime->rings || w->temporary || f->refused) return NULL;
    if (CC__LIKELY(cc__files_uring(f) != NULL)) return f;
    return cc__reactor_start_files(&w->reactor) == 0 ? f : NULL;
}

/* What is over already is told at once: perhaps this call is. */
static void look(struct cc__worker *w, struct cc__files *f) {
    struct cc__claims woken = {0};
    cc__files_reap(f, &woken);
    if (woken.first == NULL) return;
    cc__claims_wake_here(&woken, w);
    if (w->runtime->growth.off) cc__idle_notify(w->runtime); /* as in poll.c */
}

static int64_t give_up(struct cc__files *f, struct cc__files_call *call, struct cc__task *self, int code) {
    if (cc__files_join(f, call, self, CC__BY_LIST)) {
        cc__files_give_up(f, call);
        cc__wait_for_ever(&call->wait);
    }
    int result = call->result;
    return result == -ECANCELED || result == -EINTR || result == -EAGAIN ? code : result;
}

int64_t cc__files_make(const struct cc__file_call *what) {
    struct cc__worker *w = cc__worker_current();
    struct cc__task *self = w == NULL ? NULL : cc__load_relaxed(&w->current);
    struct cc__files *f = self == NULL ? NULL : files_here(w);
    struct cc__files_call call;
    if (f == NULL || cc__files_ask(f, &call, what) != 0) return CC__FILES_NONE;
    look(w, f);
    while (cc__files_join(f, &call, self, CC__BY_CANCEL)) {
        int rc = cc__wait_cancellable_here(&call.wait, CC__NEVER);
        if (rc == 0) break;
        if (rc != CC__WAIT_AGAIN) return give_up(f, &call, self, rc);
    }
    return call.result == -EAGAIN || call.result == -EINTR ? CC__FILES_NONE : call.result;
}
