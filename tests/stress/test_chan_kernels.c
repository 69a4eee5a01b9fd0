/* SPDX-License-Identifier: MIT */
/* Goal: programs in the shape of well-known bugs of concurrent programs over channels end, and tell what was wrong by a
 * return code, where elsewhere they panic, leak or hang. Those that hang here, too, are in test_chan_deadlocks.c.
 * Method: one small program a test, with what it must come to; on runtimes of 1, 2, 7 and 16 workers, many times.
 * Timeout: 120
 */
#include "runtimes.h"

typedef CC_CHAN(int) int_chan;

static int_chan make(size_t capacity) {
    int_chan c;
    test_must(cc_chan_create(c, capacity) == 0);
    return c;
}

CC_TASK(sends, (int_chan, c), (int, v), (int *, rc)) {
    int sent = cc_send(c, v);
    if (rc != NULL) *rc = sent;
    return 0;
}
CC_TASK(closes, (int_chan, c)) {
    test_jitter();
    cc_chan_close(c);
    return 0;
}

/* Two think that it is theirs to close: the second does nothing. */
static void *double_close(void *arg) {
    int_chan c = make(1);
    int v;
    test_must(cc_send(c, 4) == 0);
    CC_NURSERY(n) for (int i = 0; i < 4; i++) test_must(cc_spawn(n, closes, c) == 0);
    test_must(cc_recv(c, &v) == 0 && v == 4 && cc_recv(c, &v) == -EPIPE);
    cc_chan_destroy(c);
    return arg;
}

/* A sender does not know that it was closed: a code, no panic, also for one that waits. */
static void *send_on_closed(void *arg) {
    int_chan c = make(0);
    int rc[3] = {1, 1, 1};
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, sends, c, i, &rc[i]) == 0);
        cc_yield();
        cc_chan_close(c);
    }
    for (int i = 0; i < 3; i++) test_must(rc[i] == -EPIPE);
    cc_chan_destroy(c);
    return arg;
}

/* An answer that comes after the asker's patience is over: its sender must not wait for ever. */
CC_TASK(answers_late, (int_chan, c), (_Atomic int *, asked), (int *, rc)) {
    while (cc__load_acquire(asked) == 0) cc_yield();
    *rc = cc_send(c, 1);
    return 0;
}
static void *timeout_leaves_sender(void *arg) {
    int_chan c = make(0);
    _Atomic int over = 0;
    int rc = 1, v;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, answers_late, c, &over, &rc) == 0);
        test_must(cc_select(CC_RECV(c, &v), CC_AFTER_MS(0)) == 1);
        cc__store_release(&over, 1);
        cc_chan_close_recv(c, -ECONNABORTED); /* who asked tells that it is gone */
    }
    test_must(rc == -ECONNABORTED);
    cc_chan_destroy(c);
    return arg;
}

/* The first of several answers is enough: the others are cancelled with the braces, however those are left. */
static int first_answer(int_chan c, int *rc, int count) {
    int v = -1;
    CC_NURSERY(n) {
        for (int i = 0; i < count; i++) test_must(cc_spawn(n, sends, c, i, &rc[i]) == 0);
        if (cc_recv(c, &v) == 0) return v;
    }
    return -1;
}
static void *fan_in_returns_early(void *arg) {
    int_chan c = make(0);
    int rc[5], sent = 0, v = first_answer(c, rc, 5);
    test_must(v >= 0 && rc[v] == 0);
    for (int i = 0; i < 5; i++) {
        test_must(rc[i] == 0 || rc[i] == -ECANCELED);
        sent += rc[i] == 0;
    }
    test_must(sent == 1);
    cc_chan_destroy(c);
    return arg;
}

/* A counter of children that is added to while somebody waits at zero: a nursery counts what its children spawn. */
CC_TASK(spawns_more, (cc_nursery *, n), (int, depth), (_Atomic int *, count)) {
    cc__add_relaxed(count, 1);
    if (depth == 0) return 0;
    for (int i = 0; i < 2; i++) test_must(cc_spawn(n, spawns_more, n, depth - 1, count) == 0);
    return 0;
}
static void *counted_too_late(void *arg) {
    _Atomic int count = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, spawns_more, n, 5, &count) == 0);
        test_must(cc_nursery_wait(n) == 0 && cc__load_relaxed(&count) == 63);
    }
    return arg;
}

/* The result is there as the cancellation comes: one or the other, and nothing stays behind. */
CC_TASK(waits_for_it, (int_chan, c), (int *, rc)) {
    int v = 0;
    *rc = cc_recv(c, &v);
    test_must(v == (*rc == 0 ? 8 : 0));
    return 0;
}
static void *cancel_meets_result(void *arg) {
    int_chan c = make(1);
    int rc = 1, v = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_for_it, c, &rc) == 0);
        test_jitter();
        test_must(cc_try_send(c, 8) == 0);
        cc_nursery_cancel(n);
    }
    test_must(rc == 0 || rc == -ECANCELED);
    test_must(cc_try_recv(c, &v) == (rc == 0 ? -EAGAIN : 0));
    cc_chan_destroy(c);
    return arg;
}

/* Two streams are merged until both have ended: a closed one, nulled, does not make the loop spin. */
CC_TASK(streams, (int_chan, c), (int, count)) {
    for (int i = 0; i < count; i++) test_must(cc_send(c, i) == 0);
    cc_chan_close(c);
    return 0;
}
static void *closed_case_spins(void *arg) {
    int_chan a = make(0), b = make(2), a_left = a, b_left = b;
    int v, values = 0, ends = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, streams, a, 10) == 0 && cc_spawn(n, streams, b, 20) == 0);
        while (a_left.ch != NULL || b_left.ch != NULL) {
            switch (cc_select(CC_RECV(a_left, &v), CC_RECV(b_left, &v), CC_CLOSED(a_left), CC_CLOSED(b_left))) {
            case 0:
            case 1: values++; break;
            case 2: a_left.ch = NULL, ends++; break;
            case 3: b_left.ch = NULL, ends++; break;
            default: test_must(0);
            }
        }
    }
    test_must(values == 30 && ends == 2);
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    return arg;
}

/* A stop that comes beside work that is always there: an ordered select sees it first. */
CC_TASK(works_until_stopped, (int_chan, work), (int_chan, stop), (_Atomic int *, done)) {
    int v;
    for (;;) {
        switch (cc_select_ordered(CC_CLOSED(stop), CC_RECV(work, &v))) {
        case 0: return 0;
        case 1: cc__add_relaxed(done, 1); break;
        default: test_must(0);
        }
    }
}
static void *stop_is_seen(void *arg) {
    int_chan work = make(100), stop = make(0);
    _Atomic int done = 0;
    for (int i = 0; i < 100; i++) test_must(cc_send(work, i) == 0);
    cc_chan_close(stop);
    CC_NURSERY(n) test_must(cc_spawn(n, works_until_stopped, work, stop, &done) == 0);
    test_must(cc__load_relaxed(&done) == 0 && cc_chan_len(work) == 100);
    cc_chan_destroy(work);
    cc_chan_destroy(stop);
    return arg;
}

/* Many replicas, one answer is wanted: with room for all nobody waits, and all end by themselves. */
static void *replicas_with_room(void *arg) {
    int_chan c = make(8);
    int rc[8], v = -1;
    CC_NURSERY(n) {
        for (int i = 0; i < 8; i++) test_must(cc_spawn(n, sends, c, i, &rc[i]) == 0);
        test_must(cc_recv(c, &v) == 0 && v >= 0 && cc_nursery_wait(n) == 0);
    }
    for (int i = 0; i < 8; i++) test_must(rc[i] == 0);
    test_must(cc_chan_len(c) == 7);
    cc_chan_destroy(c);
    return arg;
}

/* Permits in a channel, one of which is not given back on a way out: who waits under a deadline is told. */
CC_TASK(forgets_its_permit, (int_chan, permits)) {
    int v;
    return cc_recv(permits, &v) == 0 ? -EIO : 0; /* the error's way out */
}
static void *permit_not_returned(void *arg) {
    int_chan permits = make(1);
    int v, rc = 1;
    test_must(cc_send(permits, 0) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, forgets_its_permit, permits) == 0);
        test_must(cc_nursery_wait(n) == -EIO);
    }
    CC_DEADLINE_MS(1) rc = cc_recv(permits, &v);
    test_must(rc == -ETIMEDOUT);
    cc_chan_destroy(permits);
    return arg;
}

/* A stage in the middle of a pipeline fails: both its neighbours learn why, and the pipeline unwinds. */
CC_TASK(feeds, (int_chan, out), (int *, rc)) {
    for (int i = 0; (*rc = cc_send(out, i)) == 0; i++) {
    }
    return 0;
}
CC_TASK(breaks, (int_chan, in), (int_chan, out)) {
    int v = 0;
    for (int i = 0; i < 10; i++) test_must(cc_recv(in, &v) == 0 && cc_send(out, v) == 0);
    cc_chan_close_recv(in, -EIO);
    cc_chan_close_error(out, -EIO);
    return 0;
}
static void *stage_dies(void *arg) {
    int_chan a = make(2), b = make(2);
    int fed = 1, drained = 1, count = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, feeds, a, &fed) == 0 && cc_spawn(n, breaks, a, b) == 0);
        CC_EACH(int, v, b, drained) test_must(v == count++);
    }
    test_must(count == 10 && fed == -EIO && drained == -EIO);
    cc_chan_destroy(a);
    cc_chan_destroy(b);
    return arg;
}

/* A send beside a default: what was not taken is told, not lost in silence. */
static void *default_drops(void *arg) {
    int_chan c = make(2);
    int taken = 0, left = 0;
    for (int i = 0; i < 5; i++) {
        int rc = cc_select(CC_SEND(c, i), CC_DEFAULT);
        taken += rc == 0;
        left += rc == 1;
    }
    test_must(taken == 2 && left == 3 && cc_chan_len(c) == 2);
    cc_chan_destroy(c);
    return arg;
}

/* The last user destroys: who got the answer owns the channel it came by, and its sender is through with it. */
typedef struct {
    int question;
    int_chan answer;
} request;
typedef CC_CHAN(request) request_chan;

CC_TASK(serves, (request_chan, c)) {
    CC_EACH(request, r, c) test_must(cc_send(r.answer, r.question + 1) == 0);
    return 0;
}
static void *answer_channel_is_freed(void *arg) {
    request_chan c;
    test_must(cc_chan_create(c, 1) == 0);
    CC_NURSERY(n) {
        for (int i = 0; i < 3; i++) test_must(cc_spawn(n, serves, c) == 0);
        for (int i = 0; i < 20; i++) {
            int_chan answer = make((size_t)(i % 2));
            int v = 0;
            test_must(cc_send(c, {i, answer}) == 0 && cc_recv(answer, &v) == 0 && v == i + 1);
            cc_chan_destroy(answer);
        }
        cc_chan_close(c);
    }
    cc_chan_destroy(c);
    return arg;
}

/* A loop of selects over a stream and a timeout that begins anew each time ends with the stream. */
static void *timeout_in_a_loop(void *arg) {
    int_chan c = make(0);
    int v, values = 0, rc;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, streams, c, 50) == 0);
        while ((rc = cc_select(CC_RECV(c, &v), CC_AFTER_MS(60000))) == 0) test_must(v == values++);
    }
    test_must(values == 50 && rc == -EPIPE);
    cc_chan_destroy(c);
    return arg;
}

/* A child that receives from the channel its own nursery's owner sends to, and fails: the owner, inside the braces, is
 * cancelled with the others instead of waiting for a receiver that is gone. */
CC_TASK(fails_after_one, (int_chan, c)) {
    int v;
    return cc_recv(c, &v) == 0 ? -EPROTO : 0;
}
static void *receiver_fails(void *arg) {
    int_chan c = make(0);
    int rc = 0, sent = 0, why = 0;
    CC_NURSERY(n) {
        test_must(cc_spawn(n, fails_after_one, c) == 0);
        while ((rc = cc_send(c, sent)) == 0) sent++;
        why = cc_nursery_wait(n);
    }
    test_must(sent == 1 && rc == -ECANCELED && why == -EPROTO);
    cc_chan_destroy(c);
    return arg;
}

static void *(*const kernel[])(void *) = {
    double_close,
    send_on_closed,
    timeout_leaves_sender,
    fan_in_returns_early,
    counted_too_late,
    cancel_meets_result,
    closed_case_spins,
    stop_is_seen,
    replicas_with_room,
    permit_not_returned,
    stage_dies,
    default_drops,
    answer_channel_is_freed,
    timeout_in_a_loop,
    receiver_fails,
};

static void *all_kernels(void *arg) {
    for (size_t round = test_rounds(100); round > 0; round--)
        for (size_t i = 0; i < TEST_COUNT_OF(kernel); i++) (void)kernel[i](NULL);
    return arg;
}
static void they_end_and_tell(void **state) {
    (void)state;
    test_on_all(all_kernels);
}

TEST_MAIN(cmocka_unit_test(they_end_and_tell))
