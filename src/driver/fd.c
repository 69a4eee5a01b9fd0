/* SPDX-License-Identifier: MIT */
/* Descriptors that are waited for.
 *
 * Each is watched by one reactor, edge by edge, from the first wait on: the kernel tells once each time something
 * arrives, and `ready` remembers that until somebody tries. So a descriptor that is ready costs no more than the
 * attempt, and one that is drained no attempt at all.
 *
 *   who reads (R)                                   who polls (P)
 *   R1 generation g, even. Holds it: if it is g     P1 an event of generation g
 *      still, users + 1. ready = 0, was what        P2 locks; g is over: unlocks, forgets it
 *   R2 tries. Done: if there may be more, with      P3 ready |= bits; takes the waiters, claims them
 *      the lock: ready |= was, and the first who
 *      waits is claimed, then woken. Drops it:      P4 unlocks
 *      users - 1. Returns                           P5 settles their waits, unparks them
 *   R3 would wait: drops it; has a reactor watch
 *      it, with another hold                        who closes (C)
 *   R4 locks. Another generation: closed.           C1 locks; generation + 1, odd; claims all waiters as closed;
 *      ready again: unlocks, R1                        unlocks, wakes them
 *   R5 node on the list; unlocks; waits             C2 no users: closes the descriptor. Else the last who drops it
 *   R6 matched: R1. Closed: returns.                   does that, and C3
 *      Cancelled, too late: off the list,           C3 locks; generation still that one: + 1; unlocks
 *      with the lock
 *   R7 a select that was matched does not try:
 *      locks; if it is still ready, the next who
 *      waits is claimed; unlocks, wakes it
 *
 * R against P. What arrived before R2 is seen by it; what arrives later is an event that comes after R1: P3 sets what
 * R1 cleared. (Bits that P3 finds set it leaves alone: an R1 that clears them comes after that look, and tries then.)
 * If P3 is before R4, R4 sees it; else P3 finds the node. The kernel's own locks put R1 before P3: the attempt that
 * found nothing was over before what it did not find arrived. [FD1] is for what the waker of a wait has written.
 *
 * R against R. Who comes between another's R1 and the end of its R2 finds it drained, and waits; if it is not, the
 * other wakes it, and it wakes the next in turn. So what is left when a call has taken its share is never left to
 * nobody. R2 claims one, which may be a select, and whoever asked for that may never read: so it passes on at R7 what
 * it was woken for, unless somebody has taken that, at R1, who is then the one to look for more.
 *
 * "There may be more": a stream that gave less than was asked for is drained, unless an event said that its end, or an
 * error, is near; such an event may have come with the data, and comes only once (DOUBT). All else is tried until it
 * says that it would wait.
 *
 * R against C. A call that began before C1 finds another generation when it is to hold it again, or at R4. Generation
 * and users are one word, so either R1 finds it odd, or C2 finds a user: nobody ever reads from a descriptor that has
 * got the number of the one it was given, though numbers are used again at once. [FD3] puts what users did before C2.
 * A call that begins between C1 and C3 is too late as long as there are users; if there are none, the number may
 * already be that of another descriptor, made elsewhere: it waits for C3, which is near. An event of a generation that
 * is over is of a file that lives on under another number.
 *
 * A descriptor that was not made here may be closed without a word. It is always tried first, and watched anew before
 * each wait; the kernel says whether it is watched already.
 *
 * Rejected: a list of waiters for each reactor (closing has to find them all); one-shot events (another system call for
 * each wait); waking one of several waiters (it may not need all there is; then it would have to pass it on).
 *
 * Prev: driver/fd_hot.h  Next: driver/files.h */
#include "fd_hot.h"

#include "../plat/thread.h"
#include "../plat/vm.h"

#include <errno.h>

/* ---- the table ---- */

enum { CHUNK = CC__FD_CHUNK, CHUNKS = CC__COUNT_OF(cc__fd_chunks) };

struct cc__fd *_Atomic cc__fd_chunks[CHUNKS];
static cc__lock chunks_lock = CC__LOCK_INIT;

static CC__COLD struct cc__fd *make_chunk(size_t i) {
    void *made = NULL;
    cc__lock_take(&chunks_lock);
    struct cc__fd *chunk = cc__load_relaxed(&cc__fd_chunks[i]);
    if (chunk == NULL && cc__vm_map(&made, CHUNK * sizeof *chunk) == 0) {
        chunk = made;
        cc__store_release(&cc__fd_chunks[i], chunk); /* [FD2] release: it is zeroed */
    }
    cc__lock_drop(&chunks_lock);
    return chunk;
}

struct cc__fd *cc__fd_make(int fd) {
    if (!cc__fd_possible(fd)) return NULL;
    struct cc__fd *chunk = make_chunk((size_t)fd >> CC__FD_CHUNK_BITS);
    return chunk == NULL ? NULL : &chunk[fd % CHUNK];
}

void cc__fd_each(void (*fn)(struct cc__fd *e, void *arg), void *arg) {
    for (size_t i = 0; i < CHUNKS; i++) {
        struct cc__fd *chunk = cc__load_acquire(&cc__fd_chunks[i]); /* [FD2] acquire */
        for (size_t k = 0; chunk != NULL && k < CHUNK; k++)
            if (cc__fd_generation(&chunk[k]) != 0 || cc__fd_home(&chunk[k]) != 0) fn(&chunk[k], arg);
    }
}

/* ---- users ---- */

int cc__fd_which_slowly(struct cc__fd *e, uint32_t *generation) {
    for (;;) {
        uint64_t life = cc__load_acquire(&e->life); /* [FD3] acquire: the one before is closed */
        *generation = (uint32_t)(life >> 32);
        if (!cc__fd_is_odd(life)) return 0;
        if ((uint32_t)life != 0) return -EBADF;
        cc__thread_yield();
    }
}

/* ---- waiters ---- */

void cc__fd_put_back(struct cc__fd *e, enum cc__fd_way way, uint32_t bits, struct cc__claims *woken) {
    cc__waitlist_lock(&e->in);
    cc__or_acq_rel(&e->ready[way], bits); /* [FD1] release: the next to try comes after us */
    (void)cc__claims_first(woken, cc__fd_list(e, way), CC__MATCHED);
    cc__waitlist_unlock(&e->in);
}

void cc__fd_pass_on(struct cc__fd *e, enum cc__fd_way way, struct cc__claims *woken) {
    struct cc__waitlist *next = cc__fd_list(e, way);
    cc__waitlist_lock(&e->in);
    if (cc__load_relaxed(&e->ready[way]) != 0) (void)cc__claims_first(woken, next, CC__MATCHED);
    cc__waitlist_unlock(&e->in);
}

void cc__fd_watched(struct cc__fd *e, uint32_t generation, uint32_t home) {
    cc__waitlist_lock(&e->in);
    if (cc__fd_generation(e) == generation) cc__store_relaxed(&e->out.mark, home);
    cc__waitlist_unlock(&e->in);
}

void cc__fd_leave(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w) {
    cc__waitlist_lock(&e->in);
    cc__waitlist_remove(cc__fd_list(e, way), w);
    cc__waitlist_unlock(&e->in);
}

static void look_whether(struct cc__fd *e, void *any) {
    cc__waitlist_lock(&e->in);
    if (e->in.first != NULL || e->out.first != NULL) *(bool *)any = true;
    cc__waitlist_unlock(&e->in);
}

bool cc__fd_any_waits(void) {
    bool any = false;
    cc__fd_each(look_whether, &any);
    return any;
}

/* ---- who wakes them ---- */

void cc__fd_end_waits(struct cc__fd *e, struct cc__claims *woken) {
    cc__claims_all(woken, &e->in, CC__CLOSED);
    cc__claims_all(woken, &e->out, CC__CLOSED);
}

void cc__fd_made(struct cc__fd *e, uint32_t nature, struct cc__claims *woken) {
    cc__waitlist_lock(&e->in);
    cc__fd_begin_anew(e, true, nature, woken);
    cc__waitlist_unlock(&e->in);
}

void cc__fd_forget(struct cc__fd *e, uint32_t home, struct cc__claims *woken) {
    cc__waitlist_lock(&e->in);
    if (cc__fd_home(e) == home) {
        cc__store_relaxed(&e->out.mark, 0);
        cc__claims_all(woken, &e->in, CC__MATCHED);
        cc__claims_all(woken, &e->out, CC__MATCHED);
    }
    cc__waitlist_unlock(&e->in);
}
