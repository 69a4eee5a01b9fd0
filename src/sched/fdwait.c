/* SPDX-License-Identifier: MIT */
/* Waiting for a descriptor: R3 to R6 of driver/fd.c; closing it; and what a select needs of that, which holds the
 * locks of several lists at once.
 *
 * Prev: sched/fdwait_hot.h  Next: sched/filewait.c */
#include "sched.h"

#include "../plat/fdio.h"
#include "choice.h"
#include "claims.h"
#include "fdwait_hot.h"

#include <errno.h>
#include <poll.h>

int cc__fd_wait(struct cc__fd *e, int fd, enum cc__fd_way way, uint32_t generation) {
    return cc__fd_wait_here(e, fd, way, generation);
}

int cc__fd_waited(struct cc__fd *e, enum cc__fd_way way, struct cc__wait *w, int rc) {
    if (rc == -EPIPE) return -EBADF;
    cc__fd_leave(e, way, w);
    return rc;
}

int cc__fd_nap(struct cc__fd *e, int fd, enum cc__fd_way way, uint32_t generation, int64_t ns) {
    struct cc__task *self = cc__self_here();
    int64_t until = cc__choice_now() + ns;
    int rc = self == NULL ? -ENOMEM : CC__WAIT_AGAIN;
    while (rc == CC__WAIT_AGAIN) {
        struct cc__wait nap;
        if (!cc__fd_hold(e, generation)) return -EBADF;
        cc__fd_take(e, way); /* as an attempt that found nothing */
        cc__fd_release(e, fd);
        enum cc__fd_joined how = cc__fd_join(e, way, &nap, self, generation, cc__fd_home(e));
        if (how != CC__FD_WAITS) return how == CC__FD_LOOK ? 0 : -EBADF;
        rc = cc__wait_cancellable_here(&nap, until);
        if (rc == -EPIPE) return -EBADF;
        if (rc != 0) cc__fd_leave(e, way, &nap);
    }
    cc__fd_may_be_more(e, way, CC__FD_READY);
    return rc == CC__OWN_DEADLINE ? 0 : rc;
}

void cc__fd_may_be_more(struct cc__fd *e, enum cc__fd_way way, uint32_t bits) {
    struct cc__claims woken = {0};
    cc__fd_put_back(e, way, bits, &woken);
    cc__claims_wake(&woken);
}

/* ---- using and closing ---- */

/* C2 and C3. */
static inline int finish_closing(struct cc__fd *e, int fd) {
    uint32_t closing = cc__fd_generation(e);
    int rc = cc__fdio_close(fd);
    cc__fd_closed(e, closing);
    return rc;
}
int cc__fd_finish_closing(struct cc__fd *e, int fd) {
    return finish_closing(e, fd);
}

int cc__fd_close(struct cc__fd *e, int fd) {
    struct cc__claims woken = {0};
    int rc = cc__fd_closing(e, &woken);
    if (CC__UNLIKELY(woken.first != NULL)) cc__claims_wake(&woken);
    return CC__LIKELY(rc == 1) ? finish_closing(e, fd) : rc;
}

/* ---- for select ---- */

int cc__fd_ready_now(int fd, enum cc__fd_way way) {
    struct cc__fd *e = fd < 0 ? NULL : cc__fd_get(fd);
    if (e == NULL) return cc__fd_possible(fd) ? -ENOMEM : -EBADF;
    uint32_t generation;
    if (cc__fd_which(e, &generation) != 0 || !cc__fd_hold(e, generation)) return -EBADF;
    uint32_t was = cc__fd_take(e, way);
    int got = cc__poll_one(fd, way == CC__FD_IN ? POLLIN | POLLRDHUP : POLLOUT, 0);
    if (got > 0) cc__fd_may_be_more(e, way, was | CC__FD_READY);
    cc__fd_release(e, fd);
    return got > 0 ? 1 : got;
}

void cc__fd_chosen(int fd, enum cc__fd_way way) {
    struct cc__fd *e = cc__fd_known(fd);
    struct cc__claims woken = {0};
    cc__fd_pass_on(e, way, &woken);
    cc__claims_wake(&woken);
}

/* The node keeps what it was prepared with until it is on the list. */
int cc__fd_prepare(int fd, struct cc__wait *node) {
    struct cc__fd *e = cc__fd_get(fd);
    uint32_t home;
    if (e == NULL) return -ENOMEM;
    int rc = cc__fd_which(e, &node->tag);
    if (rc == 0) rc = cc__poll_watch(e, fd, node->tag, &home);
    if (rc != 0) return rc;
    node->value = (void *)(uintptr_t)home;
    return 0;
}

struct cc__waitlist *cc__fd_list_of(int fd, enum cc__fd_way way) {
    struct cc__fd *e = fd < 0 ? NULL : cc__fd_known(fd);
    return e == NULL ? NULL : cc__fd_list(e, way);
}

int cc__fd_look(int fd, enum cc__fd_way way, const struct cc__wait *node) {
    switch (cc__fd_look_locked(cc__fd_known(fd), way, node->tag, (uint32_t)(uintptr_t)node->value)) {
    case CC__FD_WAITS: return 0;
    case CC__FD_LOOK: return 1;
    case CC__FD_GONE: break;
    }
    return -EBADF;
}
