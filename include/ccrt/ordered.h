/* SPDX-License-Identifier: MIT */
/* Ordered: tasks that run at the same time, and their results in the order in which they were spawned.
 *
 *     cc_ordered *q;
 *     cc_ordered_create(&q, 16);                    up to 16 tasks whose results were not received
 *     cc_ordered_spawn(q, work, item);              starts work(item); waits while there are 16
 *     cc_ordered_close(q);                          no more
 *     void *result;
 *     while (cc_ordered_recv(q, &result) == 0)      the first one's, the second one's, ...
 *         use(result);                              -EPIPE: closed, and all were received
 *     cc_ordered_destroy(q);
 *
 * A task that is slow keeps the results of later ones waiting, and after `window` of them the spawners. Any number may
 * spawn and receive. The tasks are tasks of their own in the spawner's runtime, under none of its nurseries and
 * deadlines; each is joined by who receives its result, and each has one, whatever happens to it. */
#ifndef CCRT_ORDERED_H
#define CCRT_ORDERED_H

#include <stddef.h>

#include "defs.h"
#include "task.h"

CC_BEGIN_DECLS

typedef struct cc_ordered cc_ordered;

/* Make one for up to `window` (1 or more) tasks at a time.
 *   Returns    0; -EINVAL no such window; -ENOMEM
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_ordered_create(cc_ordered **out, size_t window);

/* Start fn(arg) as a task, waiting while `window` tasks are there whose results were not received. Its place in the
 * order is certain before it is started, so a spawn that fails has run nothing, and one that returns 0 is received.
 *   Returns    0; -EPIPE closed; -ECANCELED, -ETIMEDOUT; -EINVAL; or as cc_task_spawn: -ENOMEM, -EAGAIN, -ESHUTDOWN
 *   Call from  fiber or thread           Blocks: the caller only; a cancellation point
 *   Ordering   what the caller wrote before is seen by the task */
CC_API int cc_ordered_spawn(cc_ordered *q, void *(*fn)(void *), void *arg);
CC_API int cc_ordered_spawn_at(const cc_site *site, cc_ordered *q, void *(*fn)(void *), void *arg);

/* Receive the next result, waiting until that task has ended; result may be NULL. If it fails, no result is lost.
 *   Returns    0; -EPIPE closed, and all were received; -ECANCELED, -ETIMEDOUT; -EINVAL; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only; a cancellation point
 *   Ordering   what the task wrote is seen by the caller */
CC_API int cc_ordered_recv(cc_ordered *q, void **result);

/* The same without waiting: also -EAGAIN. */
CC_API int cc_ordered_try_recv(cc_ordered *q, void **result);

/* Close it: what was spawned is still received; spawns return -EPIPE, also those that wait. Closing again does nothing;
 * nor does NULL.
 *   Call from  fiber or thread           Blocks: never; not a cancellation point */
CC_API void cc_ordered_close(cc_ordered *q);

/* End it: closes it, and joins the tasks whose results were not received; these are dropped. Nobody may use it any
 * more, but those tasks may be about to spawn, and get -EPIPE. NULL does nothing.
 *   Call from  fiber or thread, not a task of its own      Blocks: the caller only; not a cancellation point */
CC_API void cc_ordered_destroy(cc_ordered *q);

CC_END_DECLS

/* In C and C++ the call notes where it stands; elsewhere the function serves. */
#define cc_ordered_spawn(...) cc_ordered_spawn_at(CC_SITE(CC_PRIV_TEXT2(__VA_ARGS__, )), __VA_ARGS__)
#define CC_PRIV_TEXT2(a, b, ...) #b

#endif /* CCRT_ORDERED_H */
