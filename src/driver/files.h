/* SPDX-License-Identifier: MIT */
/* Calls on files that the kernel makes while their callers wait: io_uring, a ring a worker. See files.c for the
 * protocol.
 *
 * Prev: driver/fd.c  Next: driver/files.c */
#ifndef CC__DRIVER_FILES_H
#define CC__DRIVER_FILES_H

#include "../base/atomic.h"
#include "../plat/thread.h"
#include "../plat/uring.h"
#include "../task/claims.h"
#include "../task/task.h"

enum { CC__FILES_TURNS = 8 }; /* of CC__URING_OVER each: 256 calls at a time are told to be over */

struct cc__files {
    struct cc__uring *_Atomic uring; /* NULL: none.  W: its worker, once; the end.  R: any.  [FL1] */
    bool refused;                    /* there is none to be had; its worker's */
    cc__lock asking;                 /* who asks the kernel for something */
    struct cc__waitlist over;        /* its lock guards the other end, and all calls; nobody is on the list */
    _Atomic unsigned pending;        /* calls that are not over.  W: any thread.  R: the monitor.  [FL2] */
};

/* One call: in the frame of its caller, who leaves when it is over. Guarded by the lock of `over`. */
struct cc__files_call {
    struct cc__wait wait;
    bool waits, over;
    int result;
};

static inline struct cc__uring *cc__files_uring(const struct cc__files *f) {
    return cc__load_acquire(&f->uring); /* [FL1] acquire: it is made */
}

void cc__files_init(struct cc__files *f); /* over zeroed memory */
/* Make it; by its worker, once.
 *   Returns    0; a negative errno, and from now on it is refused */
int cc__files_start(struct cc__files *f);
void cc__files_end(struct cc__files *f); /* no call is under way; harmless if there is none */

/* C1: ask the kernel for a call.
 *   Returns    0; a negative errno: it is to be made in another way */
int cc__files_ask(struct cc__files *f, struct cc__files_call *call, const struct cc__file_call *what);
/* C2: begin to wait for it. False: it is over. */
bool cc__files_join(struct cc__files *f, struct cc__files_call *call, struct cc__task *self, enum cc__deciders by);
/* C4: ask the kernel to give it up. */
void cc__files_give_up(struct cc__files *f, struct cc__files_call *call);
/* R1 to R3: take what is over, and claim who waits for it. */
void cc__files_reap(struct cc__files *f, struct cc__claims *woken);

static inline bool cc__files_any_pending(const struct cc__files *f) {
    return cc__load_relaxed(&f->pending) != 0;
}

#endif /* CC__DRIVER_FILES_H */
