/* SPDX-License-Identifier: MIT */
/* Descriptors: what is known of each, and who waits until it may be read or written. An entry a number, for the whole
 * process, that is never freed. See fd.c for the protocol.
 *
 * Prev: driver/timer.c  Next: driver/fd_hot.h */
#ifndef CC__DRIVER_FD_H
#define CC__DRIVER_FD_H

#include "../base/atomic.h"
#include "../task/claims.h"
#include "../task/task.h"

enum cc__fd_way { CC__FD_IN, CC__FD_OUT };
/* Bits of `ready`: it may be; and it may end sooner than what is there does. */
enum { CC__FD_READY = 1, CC__FD_DOUBT = 2 };
/* What it is: not made here, so its number may come to mean another file without a word; or one of ours, which does not
 * block; a stream, of which a short read leaves nothing; a socket. */
enum { CC__FD_OURS = 1, CC__FD_STREAM = 2, CC__FD_SOCKET = 4 };

struct cc__fd {
    struct cc__waitlist in;    /* who reads. Its lock guards the other list, too. mark: CC__FD_OURS and so on */
    struct cc__waitlist out;   /* who writes. mark: the number of the reactor that watches it; 0: none. lock: see
                                * cc__fd_leave_word() */
    _Atomic uint32_t ready[2]; /* by way.  W: who polls, who tries; by read-modify-write.  R: any.  [FD1] */
    /* Generation << 32 | how many use it now. The generation is one more each time it is closed, or made; odd: being
     * closed.  W: the generation with the lock, the count any; by read-modify-write.  R: any.  [FD3] */
    _Atomic uint64_t life;
} __attribute__((aligned(CC__CACHE_LINE)));
_Static_assert(sizeof(struct cc__fd) == 64, "a descriptor is one cache line");

enum { CC__FD_NUMBERS = 1 << 24 }; /* more than any kernel gives a process unless it is told to */
static inline bool cc__fd_possible(int fd) {
    return fd >= 0 && fd < CC__FD_NUMBERS;
}

/* The entry of a number that is not negative. NULL: no memory for it, or none is possible. */
CC__HOT struct cc__fd *cc__fd_get(int fd);
/* The same if it is there already. */
CC__HOT struct cc__fd *cc__fd_known(int fd);

static inline uint32_t cc__fd_nature(const struct cc__fd *e) {
    return cc__load_relaxed(&e->in.mark);
}
static inline uint32_t cc__fd_home(const struct cc__fd *e) {
    return cc__load_relaxed(&e->out.mark);
}
static inline uint32_t cc__fd_generation(const struct cc__fd *e) {
    return (uint32_t)(cc__load_relaxed(&e->life) >> 32);
}

/* Which descriptor it is now, for the calls below.
 *   Returns    0; -EBADF it is being closed */
CC__HOT int cc__fd_which(struct cc__fd *e, uint32_t *generation);
CC__HOT bool cc__fd_which_now(const struct cc__fd *e, uint32_t *generation); /* false: it is being closed */
/* Use it: from now on until the drop its number stays its own, for who closes it leaves that to the last who uses it.
 * False: it is another one by now. */
CC__HOT bool cc__fd_hold(struct cc__fd *e, uint32_t generation);
/* True: it is for the caller to close it, and to say so by cc__fd_closed(). */
CC__HOT bool cc__fd_drop(struct cc__fd *e);

/* Whether trying makes sense: it is not known to be drained. */
static inline bool cc__fd_may_try(const struct cc__fd *e, enum cc__fd_way way) {
    return (cc__fd_nature(e) & CC__FD_OURS) == 0 || cc__load_relaxed(&e->ready[way]) != 0;
}
/* Before an attempt: what arrives from here on is told anew. Returns what was known. */
CC__HOT uint32_t cc__fd_take(struct cc__fd *e, enum cc__fd_way way);
/* After it: there may be more, also for who began to wait meanwhile: one of them is claimed. */
void cc__fd_put_back(struct cc__fd *e, enum cc__fd_way way, uint32_t bits, struct cc__claims *woken);

/* For who was claimed and will not try, but only say that it may be (a select): the next of those who wait is claimed,
 * unless somebody tries. */
void cc__fd_pass_on(struct cc__fd *e, enum cc__fd_way way, struct cc__claims *woken);

/* A reactor watches it from now on. */
void cc__fd_watched(struct cc__fd *e, uint32_t generation, uint32_t home);
/* Wait: begin a wait and put its node on the list, unless it is ready, or another descriptor by now.
 *   Returns    0 it waits; CC__FD_LOOK try again; CC__FD_GONE it was closed */
enum cc__fd_joined { CC__FD_WAITS, CC__FD_LOOK, CC__FD_GONE };
CC__HOTTEST enum cc__fd_joined cc__fd_join(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w,
                                           struct cc__task *self, uint32_t generation, uint32_t home);
/* For who has the lock already (a select): the same looks, without a node. */
CC__HOT enum cc__fd_joined cc__fd_look_locked(const struct cc__fd *e, enum cc__fd_way way, uint32_t generation,
                                              uint32_t home);
void cc__fd_leave(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w);
static inline struct cc__waitlist *cc__fd_list(struct cc__fd *e, enum cc__fd_way way) {
    return way == CC__FD_IN ? &e->in : &e->out;
}

/* Begin to fetch what an event of it will touch. */
CC__HOT void cc__fd_fetch_waiter(struct cc__fd *e);
/* An event said so, of that generation; bits: CC__POLL_*. Who waits for it is claimed. */
CC__HOT void cc__fd_event(struct cc__fd *e, uint32_t generation, unsigned bits, struct cc__claims *woken);
/* A descriptor was made that has this number. Who still waits for the one before is told that it is closed. */
void cc__fd_made(struct cc__fd *e, uint32_t nature, struct cc__claims *woken);
/* Begin to close it: who waits for it is claimed.
 *   Returns    1 the caller is to close it, then cc__fd_closed(); 0 the last who uses it is; -EBADF another does */
CC__HOT int cc__fd_closing(struct cc__fd *e, struct cc__claims *woken);
CC__HOT void cc__fd_closed(struct cc__fd *e, uint32_t closing);
/* That reactor is no more: all it watches is to be watched by others. Called for each entry. */
void cc__fd_forget(struct cc__fd *e, uint32_t home, struct cc__claims *woken);
bool cc__fd_any_waits(void); /* whether somebody waits for any of them */
void cc__fd_each(void (*fn)(struct cc__fd *e, void *arg), void *arg);

#if CC__INLINE_HOT
#include "fd_hot.h"
#endif

#endif /* CC__DRIVER_FD_H */
