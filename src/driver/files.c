/* SPDX-License-Identifier: MIT */
/* Calls on files that the kernel makes while their callers wait.
 *
 *   who calls (C)                                   who reaps (R)
 *   C1 the call in its frame; asks the kernel       R1 locks; takes what is over
 *      for it, under its address                    R2 of each: the result, over; its caller waits: claims that
 *   C2 locks. Over: unlocks, returns. Else begins   R3 unlocks
 *      a wait, waits = true; unlocks                R4 settles the waits, unparks the callers
 *   C3 waits. Matched: returns
 *   C4 cancelled, too late: C2 again, but this
 *      time only R ends the wait; asks the kernel
 *      to give the call up; waits. Returns
 *
 * The kernel has the caller's memory from C1 until the call is over, whatever cancels the caller; so C never leaves
 * before. What was given up is over soon, and says -ECANCELED or -EINTR; or it was too late for that, and has a result,
 * which is then the caller's: what was read was read.
 *
 * C against R. A call is touched by R under the lock, or because it claimed its caller's wait, until that is settled. C
 * leaves after C2 or C4 found it over, under the same lock, or when its wait was matched. If R2 could not claim a wait,
 * because it was cancelled, C comes to C4 and finds the call over there: nobody is left to wait for it.
 *
 * Any thread may reap, the one that calls among them: what is in memory is often over at C2. Only its worker asks a
 * ring for calls, because what a thread has asked for ends with it; C4 may be on another worker, and takes the lock for
 * that.
 *
 * Calls that move where a file stands are not asked for here: the kernel does not put those of one descriptor in order,
 * as read() does. They have the threads for blocking calls.
 *
 * Rejected: leaving the buffer to the kernel and returning at once when cancelled (it would have to be ours, and
 * copied); a limit of calls under way (the kernel keeps what does not fit).
 *
 * Prev: driver/files.h  Next: driver/reactor.h */
#include "files.h"

#include "../base/assert.h"

void cc__files_init(struct cc__files *f) {
    f->asking = (cc__lock)CC__LOCK_INIT;
}

int cc__files_start(struct cc__files *f) {
    struct cc__uring *u = NULL;
    int rc = cc__uring_open(&u);
    f->refused = rc != 0;
    if (rc == 0) cc__store_release(&f->uring, u); /* [FL1] release */
    return rc;
}

void cc__files_end(struct cc__files *f) {
    struct cc__uring *u = cc__load_relaxed(&f->uring);
    CC_ASSERT(!cc__files_any_pending(f));
    if (u == NULL) return;
    cc__store_relaxed(&f->uring, NULL);
    cc__uring_close(u);
}

static uint64_t number_of(struct cc__files_call *call) {
    return (uint64_t)(uintptr_t)call;
}

int cc__files_ask(struct cc__files *f, struct cc__files_call *call, const struct cc__file_call *what) {
    call->waits = call->over = false;
    cc__add_acq_rel(&f->pending, 1); /* [FL2] release: the call is as it is; see tell() */
    cc__lock_take(&f->asking);
    int rc = cc__uring_ask(cc__files_uring(f), what, number_of(call));
    cc__lock_drop(&f->asking);
    if (rc != 0) cc__sub_relaxed(&f->pending, 1);
    return rc;
}

bool cc__files_join(struct cc__files *f, struct cc__files_call *call, struct cc__task *self, enum cc__deciders by) {
    cc__waitlist_lock(&f->over);
    bool over = call->over;
    if (!over) {
        cc__wait_begin(&call->wait, self, by, call, "file");
        call->waits = true;
    }
    cc__waitlist_unlock(&f->over);
    return !over;
}

/* If the kernel cannot be asked, the call takes as long as it takes. */
void cc__files_give_up(struct cc__files *f, struct cc__files_call *call) {
    cc__lock_take(&f->asking);
    (void)cc__uring_ask_to_give_up(cc__files_uring(f), number_of(call));
    cc__lock_drop(&f->asking);
}

/* With the lock. */
static void tell(struct cc__files *f, const struct cc__uring_over *over, struct cc__claims *woken) {
    struct cc__files_call *call = (struct cc__files_call *)(uintptr_t)over->number;
    if (call == NULL) return; /* nobody waits for the answer to C4 */
    /* [FL2] acquire: its caller may not have come to C2 yet. The kernel has passed the call on to us, and with it what
     * was written before; but neither C11 nor a sanitizer knows of that. */
    cc__sub_acq_rel(&f->pending, 1);
    call->result = over->result;
    call->over = true;
    if (call->waits && cc__wait_claim(&call->wait)) cc__claims_add(woken, &call->wait, CC__MATCHED);
}

void cc__files_reap(struct cc__files *f, struct cc__claims *woken) {
    struct cc__uring_over over[CC__URING_OVER];
    struct cc__uring *u = cc__files_uring(f);
    if (u == NULL) return;
    cc__waitlist_lock(&f->over);
    for (unsigned turns = 0, n = CC__URING_OVER; n == CC__URING_OVER && turns < CC__FILES_TURNS; turns++) {
        n = cc__uring_reap(u, over, CC__URING_OVER);
        for (unsigned i = 0; i < n; i++) tell(f, &over[i], woken);
    }
    cc__waitlist_unlock(&f->over);
}
