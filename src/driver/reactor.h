/* SPDX-License-Identifier: MIT */
/* The reactor: one set of watched descriptors, of one worker, a bell to wake who sleeps in it, and a ring for calls on
 * files, if there are any, whose descriptor is one of those it watches. Any thread may poll it. It is made when the
 * first descriptor, or file, is waited for there.
 *
 * Prev: driver/files.c  Next: driver/reactor.c */
#ifndef CC__DRIVER_REACTOR_H
#define CC__DRIVER_REACTOR_H

#include "../base/atomic.h"
#include "../plat/poll.h"
#include "../plat/thread.h"
#include "fd.h"
#include "files.h"

enum { CC__REACTOR_EVENTS = 64 }; /* at a time: about what a worker runs from one look to the next */

struct cc__reactor {
    _Atomic uint32_t number; /* in this process, never used again; 0: there is none.  W: with the lock.  [RE1] */
    int set, bell;
    cc__lock lock;
    struct cc__files files;
};

static inline bool cc__reactor_on(const struct cc__reactor *r) {
    return cc__load_acquire(&r->number) != 0; /* [RE1] acquire: its descriptors are known */
}

void cc__reactor_init(struct cc__reactor *r); /* over zeroed memory */
/* Make it, if there is none.
 *   Returns    0 it is there; 1 it was made by this call; -EMFILE, -ENFILE, -ENOMEM */
int cc__reactor_start(struct cc__reactor *r);
/* Make its ring, and watch that: by its worker.
 *   Returns    0; a negative errno: there is none, and will be none */
int cc__reactor_start_files(struct cc__reactor *r);
/* Have it watch a descriptor; as cc__epoll_watch(). */
int cc__reactor_watch(struct cc__reactor *r, int fd, uint32_t generation, bool known);
/* Events, up to CC__REACTOR_EVENTS. How many, the bell's own not counted. For the worker it belongs to, which waits for
 * so long, as cc__epoll_wait(), and whose bell it is; and for anyone, without waiting. */
int cc__reactor_sleep(struct cc__reactor *r, struct cc__poll_event *events, int64_t ns);
int cc__reactor_look(struct cc__reactor *r, struct cc__poll_event *events, int most);
/* Claim the waits that n events are about. */
void cc__reactor_take(struct cc__reactor *r, const struct cc__poll_event *events, int n, struct cc__claims *woken);
/* Wake who sleeps in it. */
void cc__reactor_ring(struct cc__reactor *r);
/* Nobody polls it any more: who waits for what it watches is to look again. */
void cc__reactor_end(struct cc__reactor *r, struct cc__claims *woken);

#endif /* CC__DRIVER_REACTOR_H */
