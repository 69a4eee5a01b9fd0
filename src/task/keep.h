/* SPDX-License-Identifier: MIT */
/* Locks that a worker keeps: a lock that one worker alone has taken for long costs it no locked operation.
 *
 * Most channels are used by one worker for thousands of operations in a row, since who wakes and who is woken stay
 * together. Such a lock is not freed but kept: its word says by whom. Its keeper then takes it by a store, and whoever
 * else wants it pays for both:
 *
 *   the keeper (K)                               another (A)
 *   K1 the word says that it is its own          A1 the word says whose it is; held, by an exchange
 *   K2 in = the lock: it says where it is        A2 heavy fence
 *   K3 light fence                               A3 waits until that keeper is not in this lock
 *   K4 the word is as it was: has the lock       A4 has the lock, as any other; frees it
 *      else in = nothing, and as anybody
 *   K5 frees it: in = nothing
 *
 * By the fences K4 sees A1, or A3 sees K2 or what came after it. Where a keeper is, it says in memory of its own and
 * not in the lock: a keeper that was delayed after K1 would overwrite what the next one says.
 *
 * A lock is kept when the same worker has had it for CC__KEEP_AFTER times in a row, and each time after that only
 * after four times as many: taking it back is dear (8 us), and gets rare where workers take turns.
 *
 * Who keeps nothing has no keeper: plain threads; workers beyond CC__KEEPERS; all, where there is no heavy fence, or
 * ThreadSanitizer is told of locks (trace/edges.h).
 * A worker that ends leaves what it kept to the next that gets its keeper.
 *
 * Rejected: the keeper's word in the lock alone (above); one keeper for the life of a lock (who migrates once would
 * pay for ever).
 *
 * Prev: task/wait_hot.h  Next: task/keep_hot.h */
#ifndef CC__TASK_KEEP_H
#define CC__TASK_KEEP_H

#include "../plat/barrier.h"
#include "task.h"

enum {
    CC__KEEPERS = 256,
    CC__KEEPS = 14,     /* locks that a keeper may be in at once; more it takes as anybody */
    CC__KEEP_GROWS = 8, /* times that it takes longer */
};
#ifndef CC__KEEP_AFTER
#if CCRT_ASSERT >= 1
#define CC__KEEP_AFTER 4 /* so that tests come to it */
#else
#define CC__KEEP_AFTER 256
#endif
#endif

struct cc__keeper {
    uint32_t word;                              /* of the locks it keeps */
    uint32_t depth;                             /* locks it is in; its worker's */
    struct cc__waitlist *_Atomic in[CC__KEEPS]; /* those.  W: its worker.  R: who takes one back.  [KP1] [KP2] */
} __attribute__((aligned(CC__FALSE_SHARING)));
_Static_assert(sizeof(struct cc__keeper) == CC__FALSE_SHARING, "what a keeper writes is on lines of its own");

/* Who takes a lock of late; guarded by it. */
struct cc__habit {
    uint32_t last;  /* word of its keeper; 0: somebody who has none */
    uint32_t times; /* in a row */
    uint32_t kept;  /* how often it was */
};

/* A keeper for a worker that begins, or NULL; and its end. */
struct cc__keeper *cc__keeper_begin(void);
void cc__keeper_end(struct cc__keeper *k);

/* K1 to K4; K5: both false if it is not the keeper's. k: of the worker that runs here, or NULL. */
CC__HOTTEST bool cc__keep_enter(struct cc__keeper *k, struct cc__waitlist *l);
CC__HOTTEST bool cc__keep_leave(struct cc__keeper *k, struct cc__waitlist *l);
/* Take the lock, whoever it is that does; free it, or keep it: it was taken so many times since that was counted last.
 * told: see wait.h. */
CC__HOTTEST void cc__keep_lock(struct cc__keeper *k, struct cc__waitlist *l, bool told);
CC__HOTTEST void cc__keep_unlock(struct cc__keeper *k, struct cc__waitlist *l, struct cc__habit *h, unsigned times,
                                 bool told);
/* The same, without a count of who takes it. */
CC__HOTTEST void cc__keep_unlock_as_it_is(struct cc__keeper *k, struct cc__waitlist *l, bool told);

#if CC__INLINE_HOT
#include "keep_hot.h"
#endif

#endif /* CC__TASK_KEEP_H */
