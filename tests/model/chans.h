/* SPDX-License-Identifier: MIT */
/* What models of channels share: to be included once, by a model that has
 *     Sources: src/chan/chan.c src/sched/park.c src/sched/cancel.c src/task/state.c src/task/wait.c ...
 *     Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave */
#ifndef CCMC_CHANS_H
#define CCMC_CHANS_H

#include "base/env.h"
#include "chan/chan.h"

#include "alone.h"

#include <stdlib.h>
#include <string.h>

static int sent[MC_THREADS], received[MC_THREADS], codes[MC_THREADS];

/* Of no matter, or never called. */
void cc__env_read(void) {
}
bool cc__chan_waits_for_itself(const cc_chan *c, const struct cc__wait *w) {
    (void)c, (void)w;
    return false;
}

/* Nobody keeps a lock: model_keep.c has that. */
void cc__keep_lock(struct cc__keeper *k, struct cc__waitlist *l, bool told) {
    (void)k, (void)told;
    cc__waitlist_lock(l);
}
void cc__keep_unlock(struct cc__keeper *k, struct cc__waitlist *l, struct cc__habit *h, unsigned times, bool told) {
    (void)k, (void)h, (void)times, (void)told;
    cc__waitlist_unlock(l);
}
void cc__keep_unlock_as_it_is(struct cc__keeper *k, struct cc__waitlist *l, bool told) {
    (void)k, (void)told;
    cc__waitlist_unlock(l);
}

/* Descriptors: none here. */
int cc__fd_ready_now(int fd, enum cc__fd_way way) {
    (void)fd, (void)way;
    return -EBADF;
}
int cc__fd_prepare(int fd, struct cc__wait *node) {
    (void)fd, (void)node;
    return -EBADF;
}
struct cc__waitlist *cc__fd_list_of(int fd, enum cc__fd_way way) {
    (void)fd, (void)way;
    return NULL;
}
int cc__fd_look(int fd, enum cc__fd_way way, const struct cc__wait *node) {
    (void)fd, (void)way, (void)node;
    return -EBADF;
}
void cc__fd_chosen(int fd, enum cc__fd_way way) {
    (void)fd, (void)way;
}

/* A channel for letters, as chan.c makes one; capacity: a power of two, or none. */
static struct cc_chan *channel(size_t capacity) {
    struct cc_chan *c = malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->alive = CC__CHAN_ALIVE;
    c->elem_bytes = sizeof(int *);
    c->capacity = capacity;
    c->always = capacity == 0;
    if (c->always) {
        cc__chan_freeze(c);
        return c;
    }
    c->mask = capacity - 1;
    c->ring = malloc(capacity * sizeof(int *));
    return c;
}

/* A value is a number that tells who sent it, on the heap: who receives it reads what was written, and frees it. */
static int *letter(void) {
    int *l = malloc(sizeof *l);
    *l = 1 << mc_self();
    return l;
}

/* What is left in it counts as received; and it is gone. */
static int empty_and_free(struct cc_chan *c) {
    int sum = 0;
    mc_assert(c->rx.first == NULL && c->tx.first == NULL && c->ends.first == NULL);
    mc_assert(cc__load_relaxed(&c->rx.mark) == 0 && cc__load_relaxed(&c->tx.mark) == 0);
    for (int *l; cc_channel_try_recv(c, &l) == 0; free(l)) sum += *l;
    free(c->ring);
    free(c);
    return sum;
}

static void accepted_is_received(int left) {
    int balance = left;
    for (int i = 0; i < MC_THREADS; i++) balance += received[i] - sent[i];
    mc_assert(balance == 0);
    mc_outcome("%d,%d,%d,%d", codes[0], codes[1], codes[2], codes[3]);
}

#endif /* CCMC_CHANS_H */
