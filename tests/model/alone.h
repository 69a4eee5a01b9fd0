/* SPDX-License-Identifier: MIT */
/* What surrounds waits of tasks that are in no nursery: around.h, and a cancellation that comes from the runtime. To be
 * included once, by models of locks and channels. A model that has src/sched/finish.c and src/task/pool.c among its
 * sources defines REAL_FINISH. */
#ifndef CCMC_ALONE_H
#define CCMC_ALONE_H

#include "around.h"

/* Of no matter, or never called. */
#ifdef REAL_FINISH
void cc__nursery_children_ended(struct cc_nursery *n, size_t count) {
    (void)n, (void)count;
}
#else
void cc__finish_tell(struct cc__worker *w) {
    (void)w;
}
struct cc__task *cc__task_alloc(struct cc__task_cache *cache) {
    (void)cache;
    return NULL;
}
void cc__task_free(struct cc__task_cache *cache, struct cc__task *t) {
    (void)cache, (void)t;
}
#endif
void cc__nursery_list(struct cc__task *self) {
    (void)self;
}
void cc__nursery_cancel(struct cc_nursery *n, int code) {
    (void)n, (void)code;
}

/* Cancel the task of thread i, by its runtime, as runtime/shutdown.c does it. */
static CC__UNUSED void cancel(int i) {
    struct cc__task *t = &mine[i].task;
    cc__store_release(&rt.cancelled, 1);
    cc__unpark_to_cancel(t);
}
static CC__UNUSED void cancels_first(void) {
    cancel(0);
}

#endif /* CCMC_ALONE_H */
