/* SPDX-License-Identifier: MIT */
/* Intrusive lists. The links live in the element, so nothing allocates; neither is thread-safe.
 *
 *   cc__list   doubly linked ring with a head: remove from the middle in O(1)
 *   cc__fifo   singly linked queue: one pointer an element, append and take the first in O(1)
 *
 * An element off every list has NULL links, which cc__node_linked() tells: records are checked to be
 * unlinked before they are freed.
 *
 * Prev: base/error.c  Next: base/rng.h */
#ifndef CC__BASE_LIST_H
#define CC__BASE_LIST_H

#include "assert.h"

struct cc__node {
    struct cc__node *prev, *next;
};

struct cc__list {
    struct cc__node head; /* a ring through head: never NULL links */
};

static inline void cc__list_init(struct cc__list *l) {
    l->head.prev = l->head.next = &l->head;
}
static inline bool cc__list_empty(const struct cc__list *l) {
    return l->head.next == &l->head;
}
static inline bool cc__node_linked(const struct cc__node *n) {
    return n->next != NULL;
}
static inline struct cc__node *cc__list_first(const struct cc__list *l) {
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyzer does not see that a removal changes the head */
    return cc__list_empty(l) ? NULL : l->head.next;
}
static inline struct cc__node *cc__list_next(const struct cc__list *l, const struct cc__node *n) {
    return n->next == &l->head ? NULL : n->next;
}
static inline void cc__list_insert_before(struct cc__node *at, struct cc__node *n) {
    CC_ASSERT(!cc__node_linked(n));
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}
static inline void cc__list_append(struct cc__list *l, struct cc__node *n) {
    cc__list_insert_before(&l->head, n);
}
static inline void cc__list_prepend(struct cc__list *l, struct cc__node *n) {
    cc__list_insert_before(l->head.next, n);
}
static inline void cc__list_remove(struct cc__node *n) {
    CC_ASSERT(cc__node_linked(n));
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = NULL;
}
static inline struct cc__node *cc__list_take_first(struct cc__list *l) {
    struct cc__node *n = cc__list_first(l);
    if (n != NULL) cc__list_remove(n);
    return n;
}

struct cc__link {
    struct cc__link *next;
};

struct cc__fifo {
    struct cc__link *first;
    struct cc__link **last; /* where the next one is hooked in: &first, or the last element's next */
};

static inline void cc__fifo_init(struct cc__fifo *q) {
    q->first = NULL;
    q->last = &q->first;
}
static inline bool cc__fifo_empty(const struct cc__fifo *q) {
    return q->first == NULL;
}
static inline void cc__fifo_append(struct cc__fifo *q, struct cc__link *n) {
    n->next = NULL;
    *q->last = n;
    q->last = &n->next;
}
static inline void cc__fifo_prepend(struct cc__fifo *q, struct cc__link *n) {
    n->next = q->first;
    if (q->first == NULL) q->last = &n->next;
    q->first = n;
}
static inline struct cc__link *cc__fifo_take_first(struct cc__fifo *q) {
    struct cc__link *n = q->first;
    if (n == NULL) return NULL;
    q->first = n->next;
    if (q->first == NULL) q->last = &q->first;
    n->next = NULL;
    return n;
}

#endif /* CC__BASE_LIST_H */
