/* SPDX-License-Identifier: MIT */
/* Results in the order of their spawns. There is a slot for each task whose result was not received, in a list in
 * order: a task has its place there before it is spawned, and until its result is received.
 *
 *   spawner                          the task                         receiver
 *   S1 locks. Closed: -EPIPE.        T1 runs its function             R1 locks. The first slot is full: takes
 *      A free slot: is the next      T2 locks; its slot is full          the result, R3. Closed, and no slot
 *      in the list                   T3 gives results at the head        is in the list: -EPIPE
 *   S2 else waits until R3              to those who wait, R3;        R2 else waits until T3 gives it a result
 *      gives it one                     unlocks, and wakes them       R3 a slot is free: for the first spawner
 *   S3 spawns the task into it                                           that waits
 *   S4 that failed: the slot is                                       R4 unlocks, wakes; joins the task
 *      free, R3
 *
 * So while somebody waits to receive, the first slot is not full; and while somebody waits to spawn, no slot is free.
 * What is given is claimed first: a spawner that is given a slot uses it, a receiver that is given a result returns it,
 * whatever cancels them or closes this meanwhile. After S3 the slot is the task's, and after T2 whoever's it is next.
 *
 * A result is handed over by T2, not by the join that follows at R4: so several may wait for results and get them in
 * order, who gives up takes nothing along, and it makes no difference if a task has detached itself.
 *
 * Rejected: to spawn first and publish the handle then. Where that fails, by a close or a cancellation, there is a task
 * to be joined that has run for nothing.
 *
 * Prev: chan/watch.c  Next: sync/sync.h */
#include <ccrt/ordered.h>

#include "../base/assert.h"
#include "../sched/claims.h"

#include <errno.h>
#include <stdlib.h>

/* The function itself, for who binds it: in C the macro of this name notes the place. */
#undef cc_ordered_spawn

/* One task. Its spawner's until S3, then the task's until T2. */
struct slot {
    struct cc__node node; /* in one of the two lists; guarded by the lock, as is the next */
    bool full;            /* its task's function has returned */
    struct cc_ordered *q;
    void *(*fn)(void *);
    void *value; /* argument, then result */
    cc_task task;
};

struct cc_ordered {
    struct cc__waitlist receivers; /* its lock guards the rest, also the other list */
    struct cc__waitlist spawners;
    struct cc__list taken, free; /* slots; those that are taken in order */
    bool closed;
    struct slot slots[];
};

/* Who waits to receive, in its frame: what it is given. */
struct receiver {
    struct cc__wait wait;
    void *result;
    cc_task task;
};

int cc_ordered_create(cc_ordered **out, size_t window) {
    if (out == NULL) return -EINVAL;
    *out = NULL;
    if (window == 0 || window > (PTRDIFF_MAX - sizeof(cc_ordered)) / sizeof(struct slot)) return -EINVAL;
    cc_ordered *q = calloc(1, sizeof *q + window * sizeof(struct slot));
    if (q == NULL) return -ENOMEM;
    cc__list_init(&q->taken);
    cc__list_init(&q->free);
    for (size_t i = 0; i < window; i++) {
        q->slots[i].q = q;
        cc__list_append(&q->free, &q->slots[i].node);
    }
    *out = q;
    return 0;
}

/* ---- what is given to whom, with the lock ---- */

static struct slot *slot_of(struct cc__node *n) {
    return n == NULL ? NULL : CC__CONTAINER_OF(n, struct slot, node);
}

/* S1: the next slot in order, or NULL if none is free. */
static struct slot *take_slot(cc_ordered *q) {
    struct slot *s = slot_of(cc__list_take_first(&q->free));
    if (s == NULL) return NULL;
    s->full = false;
    cc__list_append(&q->taken, &s->node);
    return s;
}

static void free_slot(cc_ordered *q, struct slot *s) {
    cc__list_remove(&s->node);
    cc__list_prepend(&q->free, &s->node);
}

static bool has_result(cc_ordered *q) {
    struct slot *first = slot_of(cc__list_first(&q->taken));
    return first != NULL && first->full;
}

/* R1: the first result, which is there. */
static void take_result(cc_ordered *q, struct receiver *r) {
    struct slot *s = slot_of(cc__list_first(&q->taken));
    r->result = s->value;
    r->task = s->task;
    free_slot(q, s);
}

static bool is_over(cc_ordered *q) {
    return q->closed && cc__list_empty(&q->taken);
}

/* R3 */
static void give_slots(cc_ordered *q, struct cc__claims *claims) {
    struct cc__wait *w;
    while (!cc__list_empty(&q->free) && (w = cc__claims_first(claims, &q->spawners, CC__MATCHED)) != NULL)
        w->value = take_slot(q);
}

/* T3; and who waits for what cannot come any more hears of that. */
static void give_results(cc_ordered *q, struct cc__claims *claims) {
    struct cc__wait *w;
    while (has_result(q) && (w = cc__claims_first(claims, &q->receivers, CC__MATCHED)) != NULL)
        take_result(q, CC__CONTAINER_OF(w, struct receiver, wait));
    give_slots(q, claims);
    if (is_over(q)) cc__claims_all(claims, &q->receivers, CC__CLOSED);
}

/* ---- spawning ---- */

/* T1 to T3: what is spawned. */
static void *run(void *arg) {
    struct slot *s = arg;
    struct cc_ordered *q = s->q;
    struct cc__claims claims = {0};
    void *result = s->fn(s->value);
    cc__waitlist_lock(&q->receivers);
    s->value = result;
    s->full = true;
    give_results(q, &claims);
    cc__waitlist_unlock(&q->receivers);
    cc__claims_wake(&claims);
    return result;
}

/* S1, S2: a slot, or why there is none. */
static int wait_for_slot(cc_ordered *q, struct slot **out) {
    struct cc__task *self = cc__self();
    int rc;
    do {
        struct cc__wait w;
        cc__waitlist_lock(&q->receivers);
        *out = q->closed ? NULL : take_slot(q);
        if (*out != NULL || q->closed || self == NULL) {
            rc = *out != NULL ? 0 : q->closed ? -EPIPE : -ENOMEM;
            cc__waitlist_unlock(&q->receivers);
            return rc;
        }
        cc__wait_begin(&w, self, CC__BY_CANCEL, q, "ordered spawn");
        cc__waitlist_append(&q->spawners, &w);
        cc__waitlist_unlock(&q->receivers);
        rc = cc__claims_wait(&w, &q->receivers, &q->spawners);
        *out = w.value;
    } while (rc == CC__WAIT_AGAIN);
    return rc;
}

/* S4: as if it had never been taken. */
static void give_back(cc_ordered *q, struct slot *s) {
    struct cc__claims waited = {0}; /* for the one behind it, or the end */
    cc__waitlist_lock(&q->receivers);
    free_slot(q, s);
    give_results(q, &waited);
    cc__waitlist_unlock(&q->receivers);
    cc__claims_wake(&waited);
}

int cc_ordered_spawn_at(const cc_site *site, cc_ordered *q, void *(*fn)(void *), void *arg) {
    if (q == NULL || fn == NULL) return -EINVAL;
    struct slot *s;
    int rc = wait_for_slot(q, &s);
    if (rc != 0) return rc;
    s->fn = fn;
    s->value = arg;
    rc = cc_task_spawn_at(site, &s->task, NULL, run, s); /* its handle is in place before it runs */
    if (rc != 0) give_back(q, s);
    return rc;
}

int cc_ordered_spawn(cc_ordered *q, void *(*fn)(void *), void *arg) {
    return cc_ordered_spawn_at(NULL, q, fn, arg);
}

void cc_ordered_close(cc_ordered *q) {
    if (q == NULL) return;
    struct cc__claims claims = {0};
    cc__waitlist_lock(&q->receivers);
    q->closed = true;
    cc__claims_all(&claims, &q->spawners, CC__CLOSED);
    give_results(q, &claims);
    cc__waitlist_unlock(&q->receivers);
    cc__claims_wake(&claims);
}

/* ---- receiving ---- */

/* R1, R2: 0, -EPIPE, or -EAGAIN, and then it is on the list if it waits. */
static int receive(cc_ordered *q, struct receiver *r, struct cc__task *self, enum cc__deciders by) {
    struct cc__claims claims = {0};
    cc__waitlist_lock(&q->receivers);
    int rc = has_result(q) ? 0 : is_over(q) ? -EPIPE : -EAGAIN;
    if (rc == 0) {
        take_result(q, r);
        give_slots(q, &claims);
    } else if (rc == -EAGAIN && self != NULL) {
        cc__wait_begin(&r->wait, self, by, q, "ordered recv");
        cc__waitlist_append(&q->receivers, &r->wait);
    }
    cc__waitlist_unlock(&q->receivers);
    cc__claims_wake(&claims);
    return rc;
}

/* R4: its function has returned, and it ends without further ado. */
static int received(const struct receiver *r, void **result) {
    if (result != NULL) *result = r->result;
    int rc = cc_task_join(r->task, NULL); /* -ESRCH: it has given up its handle itself */
    if (rc == -ENOMEM) (void)cc_task_detach(r->task);
    return 0;
}

int cc_ordered_try_recv(cc_ordered *q, void **result) {
    if (q == NULL) return -EINVAL;
    struct receiver r;
    int rc = receive(q, &r, NULL, CC__BY_LIST);
    if (rc == 0) return received(&r, result);
    cc__run_completed();
    return rc;
}

int cc_ordered_recv(cc_ordered *q, void **result) {
    if (q == NULL) return -EINVAL;
    struct cc__task *self = cc__self();
    int rc;
    do {
        struct receiver r;
        rc = receive(q, &r, self, CC__BY_CANCEL);
        if (rc == -EAGAIN) rc = self == NULL ? -ENOMEM : cc__claims_wait(&r.wait, &q->receivers, &q->receivers);
        if (rc == 0) return received(&r, result);
    } while (rc == CC__WAIT_AGAIN);
    return rc;
}

/* The same, whatever is cancelled. False: all were received. */
static bool drop_one(cc_ordered *q) {
    struct cc__task *self = cc__self();
    struct receiver r;
    int rc = receive(q, &r, self, CC__BY_LIST);
    if (rc == -EAGAIN && self == NULL) {
        cc_yield(); /* there is no memory to wait with */
        return true;
    }
    if (rc == -EAGAIN && cc__wait_for(&r.wait, CC__NEVER) == CC__MATCHED) rc = 0;
    return rc == 0 && received(&r, NULL) == 0;
}

void cc_ordered_destroy(cc_ordered *q) {
    if (q == NULL) return;
    cc_ordered_close(q);
    while (drop_one(q)) {
    }
    cc__waitlist_lock(&q->receivers);
    CC_CHECK(q->receivers.first == NULL && q->spawners.first == NULL,
             "an ordered channel is destroyed that somebody waits on");
    cc__waitlist_unlock(&q->receivers);
    free(q);
}
