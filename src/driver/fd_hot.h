/* SPDX-License-Identifier: MIT */
/* What every call on a descriptor goes through, inline in release builds, as task/wait_hot.h is; elsewhere fd.c has it
 * as functions. See fd.c for the protocol.
 *
 * Prev: driver/fd.h  Next: driver/fd.c */
#ifndef CC__DRIVER_FD_HOT_H
#define CC__DRIVER_FD_HOT_H

#include "../base/assert.h"
#include "../plat/poll.h"
#include "fd.h"

#include <errno.h>

/* ---- the table ---- */

enum { CC__FD_CHUNK_BITS = 12, CC__FD_CHUNK = 1 << CC__FD_CHUNK_BITS };

/* Chunks of entries, zeroed by the kernel and touched when needed.  W: with a lock.  R: any.  [FD2] */
extern struct cc__fd *_Atomic cc__fd_chunks[CC__FD_NUMBERS >> CC__FD_CHUNK_BITS];

CC__COLD struct cc__fd *cc__fd_make(int fd); /* cc__fd_get() of one that is not there */

CC__HOT struct cc__fd *cc__fd_known(int fd) {
    CC_ASSERT(fd >= 0);
    if (!cc__fd_possible(fd)) return NULL;
    struct cc__fd *chunk = cc__load_acquire(&cc__fd_chunks[fd >> CC__FD_CHUNK_BITS]); /* [FD2] acquire */
    return chunk == NULL ? NULL : &chunk[fd % CC__FD_CHUNK];
}

CC__HOT struct cc__fd *cc__fd_get(int fd) {
    struct cc__fd *e = cc__fd_known(fd);
    return CC__LIKELY(e != NULL) ? e : cc__fd_make(fd);
}

/* ---- users ---- */

#define CC__FD_GENERATION (UINT64_C(1) << 32)

static inline bool cc__fd_is_odd(uint64_t life) {
    return (life & CC__FD_GENERATION) != 0;
}

CC__COLD int cc__fd_which_slowly(struct cc__fd *e, uint32_t *generation); /* it was odd */

CC__HOT bool cc__fd_which_now(const struct cc__fd *e, uint32_t *generation) {
    uint64_t life = cc__load_acquire(&e->life); /* [FD3] acquire: the one before is closed */
    *generation = (uint32_t)(life >> 32);
    return CC__LIKELY(!cc__fd_is_odd(life));
}
CC__HOT int cc__fd_which(struct cc__fd *e, uint32_t *generation) {
    return CC__LIKELY(cc__fd_which_now(e, generation)) ? 0 : cc__fd_which_slowly(e, generation);
}

CC__HOT bool cc__fd_hold(struct cc__fd *e, uint32_t generation) {
    uint64_t life = cc__load_relaxed(&e->life);
    while (CC__LIKELY((uint32_t)(life >> 32) == generation))
        if (CC__LIKELY(cc__cas_weak_acq_rel(&e->life, &life, life + 1))) return true;
    return false;
}

CC__HOT bool cc__fd_drop(struct cc__fd *e) {
    uint64_t was = cc__sub_acq_rel(&e->life, 1); /* [FD3] release: what was done with it is before C2; acquire */
    return CC__UNLIKELY(cc__fd_is_odd(was)) && (uint32_t)was == 1;
}

/* ---- waiters ---- */

CC__HOT uint32_t cc__fd_take(struct cc__fd *e, enum cc__fd_way way) {
    return cc__xchg_acq_rel(&e->ready[way], 0); /* R1. [FD1] acquire: what who polled wrote before is seen */
}

CC__HOT enum cc__fd_joined cc__fd_look_locked(const struct cc__fd *e, enum cc__fd_way way, uint32_t generation,
                                              uint32_t home) {
    if (cc__fd_generation(e) != generation) return CC__FD_GONE;
    if (cc__load_relaxed(&e->ready[way]) != 0 || cc__fd_home(e) != home) return CC__FD_LOOK;
    return CC__FD_WAITS;
}

/* Begin to fetch whatever waits to read: its node, and its record, which the node cannot be asked for without the lock:
 * it may be gone. So who waits leaves word of its record where the second list would have a lock if it needed one, as
 * many bits of it as there is room for; the others are those of most of our memory. A guess that is wrong costs little.
 */
enum { CC__FD_RECORD_SHIFT = 6 };
static inline void cc__fd_leave_word(struct cc__fd *e, const struct cc__task *self) {
    cc__store_relaxed(&e->out.lock, (uint32_t)((uintptr_t)self >> CC__FD_RECORD_SHIFT));
}
CC__HOT void cc__fd_fetch_waiter(struct cc__fd *e) {
    uintptr_t word = cc__load_relaxed(&e->out.lock), node = (uintptr_t)cc__glance(&e->in.first);
    uintptr_t high = (uintptr_t)e >> CC__FD_RECORD_SHIFT >> 32 << 32;
    cc__prefetch_to_write((high | word) << CC__FD_RECORD_SHIFT);
    cc__prefetch_to_write(node);
    cc__prefetch_to_write(node + CC__CACHE_LINE - 1);
}

CC__HOTTEST enum cc__fd_joined cc__fd_join(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w,
                                           struct cc__task *self, uint32_t generation, uint32_t home) {
    cc__waitlist_lock(&e->in);
    enum cc__fd_joined how = cc__fd_look_locked(e, way, generation, home);
    if (how == CC__FD_WAITS) {
        cc__wait_begin(w, self, CC__BY_CANCEL, e, way == CC__FD_IN ? "descriptor to read" : "descriptor to write");
        cc__waitlist_append(cc__fd_list(e, way), w);
        cc__fd_leave_word(e, self);
    }
    cc__waitlist_unlock(&e->in);
    return how;
}

/* With the lock. */
static inline void cc__fd_tell(struct cc__fd *e, enum cc__fd_way way, uint32_t bits, struct cc__claims *woken) {
    /* P3. [FD1] release. What is set stays so until somebody tries, after this look. */
    if ((cc__load_relaxed(&e->ready[way]) & bits) != bits) cc__or_acq_rel(&e->ready[way], bits);
    cc__claims_all(woken, cc__fd_list(e, way), CC__MATCHED);
}

CC__HOT void cc__fd_event(struct cc__fd *e, uint32_t generation, unsigned bits, struct cc__claims *woken) {
    uint32_t doubt = (bits & CC__POLL_DOUBT) != 0 ? CC__FD_DOUBT : 0;
    cc__waitlist_lock(&e->in);
    if (cc__fd_generation(e) == generation) {
        if ((bits & CC__POLL_IN) != 0) cc__fd_tell(e, CC__FD_IN, CC__FD_READY | doubt, woken);
        if ((bits & CC__POLL_OUT) != 0) cc__fd_tell(e, CC__FD_OUT, CC__FD_READY, woken);
    }
    cc__waitlist_unlock(&e->in);
}

/* ---- who closes ---- */

CC__COLD void cc__fd_end_waits(struct cc__fd *e, struct cc__claims *woken); /* with the lock */

/* With the lock: it is closed, or another was made; nothing is known of it, and nobody waits. Returns what was before.
 * Who makes one with the number of one that is being closed may meet C3. */
static inline uint64_t cc__fd_begin_anew(struct cc__fd *e, bool made, uint32_t nature, struct cc__claims *woken) {
    uint64_t was = cc__load_relaxed(&e->life), next;
    do next = was + (made && !cc__fd_is_odd(was) ? 2 : 1) * CC__FD_GENERATION;
    while (!cc__cas_weak_acq_rel(&e->life, &was, next)); /* C1. [FD3] acquire: what users did */
    cc__store_relaxed(&e->in.mark, nature);
    cc__store_relaxed(&e->out.mark, 0);
    cc__store_relaxed(&e->ready[CC__FD_IN], CC__FD_READY);
    cc__store_relaxed(&e->ready[CC__FD_OUT], CC__FD_READY);
    if (CC__UNLIKELY(e->in.first != NULL || e->out.first != NULL)) cc__fd_end_waits(e, woken);
    return was;
}

CC__HOT int cc__fd_closing(struct cc__fd *e, struct cc__claims *woken) {
    uint32_t generation;
    int rc = cc__fd_which(e, &generation);
    if (CC__UNLIKELY(rc != 0)) return rc;
    cc__waitlist_lock(&e->in);
    bool same = cc__fd_generation(e) == generation;
    bool alone = same && (uint32_t)cc__fd_begin_anew(e, false, 0, woken) == 0; /* else the last who uses it is to */
    cc__waitlist_unlock(&e->in);
    return alone ? 1 : same ? 0 : -EBADF;
}

CC__HOT void cc__fd_closed(struct cc__fd *e, uint32_t closing) {
    uint64_t life = closing * CC__FD_GENERATION;
    /* C3, unless one with that number was made meanwhile. [FD3] release: it is closed. */
    (void)cc__cas_release(&e->life, &life, life + CC__FD_GENERATION);
}

#endif /* CC__DRIVER_FD_HOT_H */
