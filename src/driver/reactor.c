/* SPDX-License-Identifier: MIT */
/* One set of watched descriptors. An event carries the number of its descriptor and the generation it was watched in;
 * fd.c has what becomes of it.
 *
 * Prev: driver/reactor.h  Next: sched/sched.h */
#include "reactor.h"

#include "../plat/fdio.h"

#include <errno.h>

/* What is no descriptor's number. */
#define BELL UINT64_MAX
#define RING (UINT64_MAX - 1)

static _Atomic uint32_t numbers; /* reactors so far.  W: who makes one */

void cc__reactor_init(struct cc__reactor *r) {
    r->lock = (cc__lock)CC__LOCK_INIT;
    cc__files_init(&r->files);
}

/* With the lock. */
static int open_all(struct cc__reactor *r) {
    int set = cc__epoll_create();
    if (set < 0) return set;
    int bell = cc__bell_open(), rc = bell < 0 ? bell : cc__epoll_watch_bell(set, bell, BELL);
    if (rc == 0) {
        r->set = set;
        r->bell = bell;
        return 1;
    }
    if (bell >= 0) cc__fdio_close(bell);
    cc__fdio_close(set);
    return rc;
}

int cc__reactor_start(struct cc__reactor *r) {
    if (CC__LIKELY(cc__reactor_on(r))) return 0;
    cc__lock_take(&r->lock);
    int rc = cc__reactor_on(r) ? 0 : open_all(r);
    if (rc == 1) cc__store_release(&r->number, cc__add_relaxed(&numbers, 1) + 1); /* [RE1] release */
    cc__lock_drop(&r->lock);
    return rc;
}

/* Ready for as long as something is over, as a bell: whoever looks may take it. */
int cc__reactor_start_files(struct cc__reactor *r) {
    int rc = cc__reactor_start(r);
    if (rc >= 0) rc = cc__files_start(&r->files);
    if (rc == 0) rc = cc__epoll_watch_bell(r->set, cc__uring_fd(cc__files_uring(&r->files)), RING);
    if (rc == 0) return 0;
    cc__files_end(&r->files);
    r->files.refused = true;
    return rc;
}

int cc__reactor_watch(struct cc__reactor *r, int fd, uint32_t generation, bool known) {
    return cc__epoll_watch(r->set, fd, (uint64_t)generation << 32 | (uint32_t)fd, known);
}

/* Events but for the bell; *rung: that was among them. */
static int wait_for(struct cc__reactor *r, struct cc__poll_event *events, int most, int64_t ns, bool *rung) {
    int n = cc__epoll_wait(r->set, events, most, ns), kept = 0;
    *rung = false;
    for (int i = 0; i < n; i++) {
        if (events[i].data == BELL) {
            *rung = true;
            continue;
        }
        if (kept != i) events[kept] = events[i];
        kept++;
    }
    return kept;
}

int cc__reactor_sleep(struct cc__reactor *r, struct cc__poll_event *events, int64_t ns) {
    bool rung;
    int n = wait_for(r, events, CC__REACTOR_EVENTS, ns, &rung);
    if (rung) cc__bell_hush(r->bell);
    return n;
}

int cc__reactor_look(struct cc__reactor *r, struct cc__poll_event *events, int most) {
    bool rung;
    return wait_for(r, events, most, 0, &rung);
}

/* The entry that an event is about; or NULL. */
static struct cc__fd *entry_of(const struct cc__poll_event *event) {
    return event->data == RING ? NULL : cc__fd_known((int)(uint32_t)event->data);
}

/* What many events are about is nowhere near: all of it is asked for at once, before any of it is looked at under a
 * lock, which would wait for it one by one. */
static void fetch(const struct cc__poll_event *events, int n) {
    for (int i = 0; i < n; i++) cc__prefetch_to_write((uintptr_t)entry_of(&events[i]));
    for (int i = 0; i < n; i++) {
        struct cc__fd *e = entry_of(&events[i]);
        if (e != NULL) cc__fd_fetch_waiter(e);
    }
}

void cc__reactor_take(struct cc__reactor *r, const struct cc__poll_event *events, int n, struct cc__claims *woken) {
    if (n > 1) fetch(events, n);
    for (int i = 0; i < n; i++) {
        if (events[i].data == RING) {
            cc__files_reap(&r->files, woken);
            continue;
        }
        struct cc__fd *e = entry_of(&events[i]);
        if (e != NULL) cc__fd_event(e, (uint32_t)(events[i].data >> 32), cc__epoll_bits(&events[i]), woken);
    }
}

void cc__reactor_ring(struct cc__reactor *r) {
    cc__bell_ring(r->bell);
}

struct ending {
    uint32_t number;
    struct cc__claims *woken;
};

static void forget(struct cc__fd *e, void *arg) {
    struct ending *x = arg;
    if (cc__fd_home(e) == x->number) cc__fd_forget(e, x->number, x->woken);
}

void cc__reactor_end(struct cc__reactor *r, struct cc__claims *woken) {
    struct ending x = {.number = cc__load_relaxed(&r->number), .woken = woken};
    if (x.number == 0) return;
    cc__store_relaxed(&r->number, 0);
    cc__files_end(&r->files);
    cc__fdio_close(r->bell);
    cc__fdio_close(r->set);
    cc__fd_each(forget, &x);
}
