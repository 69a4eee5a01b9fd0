/* SPDX-License-Identifier: MIT */
/* For stress tests of what several send to and many see: actors that send numbers, one after the other, so that whoever
 * receives can tell what it missed. */
#ifndef CCRT_TESTS_SENDERS_H
#define CCRT_TESTS_SENDERS_H

#include "actors.h"

enum { SENDERS = 3 };

struct senders {
    int (*send)(void *to, uint64_t number); /* 0, or -EPIPE closed */
    void (*close)(void *to);
    void *to;
    uint64_t each;               /* how many numbers */
    uint64_t turns;              /* within which it may be closed early */
    bool early;                  /* it is closed while they send; else by the last of them */
    _Atomic uint64_t last, left; /* the newest number, from what the test sets; who still sends */
    _Atomic uint32_t lock;       /* one number at a time */
};

static inline TEST_UNUSED void *senders_send(void *arg) {
    struct senders *s = arg;
    for (uint64_t i = 0; i < s->each; i++) {
        while (cc__xchg_acquire(&s->lock, 1) != 0) cc_yield();
        uint64_t number = cc__load_relaxed(&s->last) + 1;
        int rc = s->send(s->to, number);
        test_must(rc == 0 || (s->early && rc == -EPIPE));
        if (rc == 0) cc__store_relaxed(&s->last, number);
        cc__store_release(&s->lock, 0);
        if (rc != 0) break;
        test_jitter();
        if (test_random() % 8 == 0) cc_yield();
    }
    if (cc__sub_acq_rel(&s->left, 1) == 1) s->close(s->to);
    return NULL;
}
static inline TEST_UNUSED void *senders_close(void *arg) {
    struct senders *s = arg;
    for (uint64_t turns = test_random() % s->turns; turns > 0; turns--) cc_yield();
    s->close(s->to);
    return NULL;
}

/* Two tasks and a thread, and now and then one that closes early. */
static inline TEST_UNUSED void senders_begin(struct senders *s, struct actors *a) {
    cc__store_relaxed(&s->left, SENDERS);
    s->early = test_random() % 4 == 0;
    for (int i = 1; i < SENDERS; i++) actors_task(a, senders_send, s);
    if (s->early) actors_task(a, senders_close, s);
    actors_thread(a, senders_send, s);
}

/* The newest number, when all have sent theirs. */
static inline TEST_UNUSED uint64_t senders_last(struct senders *s) {
    while (cc__load_acquire(&s->left) > 0) cc_sleep_ms(1);
    return cc__load_acquire(&s->last);
}

#endif /* CCRT_TESTS_SENDERS_H */
