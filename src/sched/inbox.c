/* SPDX-License-Identifier: MIT */
/* Inboxes: stacks that anyone pushes to, one at a time, and that are taken whole, by exchange. A worker has two: `mail`
 * for tasks pinned to it, which only it takes; `post` for tasks that should run there, which anyone may take. There is
 * no taking of one from the middle or the top, so nothing is compared that may have come back meanwhile.
 *
 * Prev: sched/inject.c  Next: sched/worker.c */
#include "sched.h"

#include "events.h"

void cc__inbox_push(struct cc__task *_Atomic *box, struct cc__task *t) {
    struct cc__task *top = cc__load_relaxed(box);
    if (CC__TRACING(CC__LOG_INBOX)) cc__event_inbox_push(box, t);
    do {
        t->next = top;
        /* [IB1] release: the task, and its link, are seen by who takes the box. Acquire is not needed: who pushes
         * looks at no other task. */
    } while (!cc__cas_weak_release(box, &top, t));
}

struct cc__tasks cc__inbox_take(struct cc__task *_Atomic *box) {
    struct cc__tasks all = {0};
    if (cc__load_relaxed(box) == NULL) return all;
    struct cc__task *t = cc__xchg_acquire(box, NULL); /* [IB1] acquire: pairs with every push */
    all.last = t;
    while (t != NULL) { /* newest first: turn it round */
        struct cc__task *older = t->next;
        t->next = all.first;
        all.first = t;
        t = older;
    }
    if (CC__TRACING(CC__LOG_INBOX)) cc__event_inbox_take(box, &all);
    return all;
}

void cc__tasks_append(struct cc__tasks *l, struct cc__task *t) {
    t->next = NULL;
    if (l->first == NULL)
        l->first = t;
    else
        l->last->next = t;
    l->last = t;
}

struct cc__task *cc__tasks_take(struct cc__tasks *l) {
    struct cc__task *t = l->first;
    if (t == NULL) return NULL;
    l->first = t->next;
    t->next = NULL;
    return t;
}
