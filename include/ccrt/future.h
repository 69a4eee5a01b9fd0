/* SPDX-License-Identifier: MIT */
/* Futures: tasks without a stack. A poll function and its state, in a struct of the user's; a million of them are a
 * million structs.
 *
 *     typedef struct { cc_future fut; int_chan in; int v; long sum; } adder;
 *
 *     static cc_poll_state add(cc_future *f, cc_waker *w) {
 *         adder *a = CC_CONTAINER_OF(f, adder, fut);
 *         int rc;
 *         while ((rc = cc_poll_recv(f, a->in, &a->v)) == 0) a->sum += a->v;
 *         return rc == -EAGAIN ? CC_PENDING : CC_READY;      polled again when there is something
 *     }
 *
 *     cc_future_init(&a->fut, add);
 *     cc_future_spawn(&a->fut, &counter);
 *     cc_counter_wait(&counter);                             from here on the struct may be freed
 *
 * A poll function does what it can and returns: CC_READY when all is done, CC_PENDING after it has seen to it that it
 * is woken: by a cc_poll_...() that returned -EAGAIN, or by somebody who has a clone of its waker. It never waits: a
 * call in it that would have to is a misuse. It is never polled by two workers at once, and never before a wake; a wake
 * that comes while it is polled has it polled again; several wakes before a poll are one. */
#ifndef CCRT_FUTURE_H
#define CCRT_FUTURE_H

#include <stdint.h>

#include "chan.h"
#include "defs.h"
#include "job.h"
#include "task.h"

CC_BEGIN_DECLS

typedef enum { CC_PENDING, CC_READY } cc_poll_state;

/* Who may wake a future. */
typedef struct cc_waker cc_waker;

/* In a struct of the user's; stays where it is from its spawn until it is over. The fields are private. */
typedef struct cc_future {
    uint64_t priv_words[24];
} cc_future;

typedef cc_poll_state cc_poll_fn(cc_future *f, cc_waker *w);

/* Set one up, that was never spawned or is over. */
CC_API void cc_future_init(cc_future *f, cc_poll_fn *poll);
CC_API void cc_future_init_at(const cc_site *site, cc_future *f, cc_poll_fn *poll);
#define cc_future_init(...) cc_future_init_at(CC_SITE(CC_PRIV_TEXT2(__VA_ARGS__, )), __VA_ARGS__)
#define CC_PRIV_TEXT2(a, b, ...) #b

/* Have it polled, soon, and whenever it is woken, until it is ready. It is over when it is ready and its last waker was
 * dropped; only then the counter, if there is one, is one less, and nobody touches it any more: whoever waited may free
 * it, or spawn it again.
 *   Returns    0; -EINVAL not set up; -EBUSY it is not over; -ENOMEM, -EAGAIN no default runtime; -ESHUTDOWN
 *   Call from  fiber or thread           Blocks: never
 *   Ordering   what was written before is seen by its first poll; each poll sees what the one before wrote; what they
 *              wrote, and what was done with its wakers, is seen by who waits for the counter, or awaits it */
CC_API int cc_future_spawn(cc_future *f, cc_counter *counter);

/* Wait until it is over. It must not be freed before this returns.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point */
CC_API void cc_future_await(cc_future *f);

/* The same, as a cancellation point.
 *   Returns    0; -ECANCELED, -ETIMEDOUT */
CC_API CC_NODISCARD int cc_future_await_cancellable(cc_future *f);

/* Cancel it: it is polled once more at least, and whatever it polls for returns -ECANCELED from then on, unless it can
 * succeed at once. It ends as its poll function sees fit. Does nothing to one that is ready.
 *   Call from  fiber or thread, whoever knows that it is not freed: its owner, or who has a waker; Blocks: never */
CC_API void cc_future_cancel(cc_future *f);

/* Whether it was cancelled, and is not in a shield: 0 or -ECANCELED. For its poll function. */
CC_API int cc_future_cancelled(const cc_future *f);

/* Between these a cancellation is not delivered; it is polled for all the same. They nest, and may be calls in
 * different polls. For its poll function, or before it is spawned. */
CC_API void cc_future_shield(cc_future *f);
CC_API void cc_future_unshield(cc_future *f);

/* Have the future polled. Does nothing to one that is ready.
 *   Call from  fiber or thread; the poll function that got w, or who has a clone   Blocks: never
 *   Ordering   what was written before is seen by the poll */
CC_API void cc_waker_wake(cc_waker *w);

/* One that may be kept after the poll function has returned, which only borrows its own; to be dropped when done with.
 *   Returns    the waker */
CC_API cc_waker *cc_waker_clone(cc_waker *w);
CC_API void cc_waker_drop(cc_waker *w);

/* ---- what a poll function can poll ----
 *
 * Each returns -EAGAIN where the call it is named after would wait: the future is woken when it is worth another look,
 * and then the same is called again, with the same arguments. One at a time. After 128 in one poll that did not have to
 * wait, -EAGAIN lets others run. They are called by the poll function, for its own future. */

/* Send, receive; the element lies in the future's struct, not in the frame of the poll function.
 *   Returns    0; -EAGAIN; -EPIPE, or the closer's code; -ECANCELED; -EINVAL; -ENOMEM */
CC_API CC_NODISCARD int cc_channel_poll_send(cc_future *f, cc_chan *c, const void *elem);
CC_API CC_NODISCARD int cc_channel_poll_recv(cc_future *f, cc_chan *c, void *elem);
#define cc_poll_send(f, c, ptr) cc_channel_poll_send((f), (c).ch, CC_PRIV_SAME((c).type, (ptr)))
#define cc_poll_recv(f, c, ptr) cc_channel_poll_recv((f), (c).ch, CC_PRIV_SAME((c).type, (ptr)))

/* Sleep: so long from the first call on.
 *   Returns    0; -EAGAIN; -ECANCELED */
CC_API CC_NODISCARD int cc_poll_sleep_ms(cc_future *f, int64_t ms);

/* Join a task; result may be NULL.
 *   Returns    0; -EAGAIN; -ESRCH; -ECANCELED: it is still to be joined */
CC_API CC_NODISCARD int cc_poll_join(cc_future *f, cc_task t, void **result);

/* Until another future is over, which must not be freed before this has returned something else than -EAGAIN.
 *   Returns    0; -EAGAIN; -ECANCELED */
CC_API CC_NODISCARD int cc_poll_await(cc_future *f, cc_future *other);

/* Give up what returned -EAGAIN last, to poll for something else. A future that is ready has it given up for it.
 *   Returns    -ECANCELED: it was given up; else what it would have returned; -ESRCH there is none */
CC_API int cc_poll_cancel(cc_future *f);

CC_END_DECLS

#endif /* CCRT_FUTURE_H */
