/* SPDX-License-Identifier: MIT */
/* The lock of wait lists as a mutex, which does the same in fewer steps: model_timer.c checks the real one. To be
 * included once, by a model that has
 *     Wrap: cc__waitlist_lock cc__waitlist_unlock cc__waitlist_leave */
#ifndef CCMC_WAITLOCK_H
#define CCMC_WAITLOCK_H

#include "task/wait.h"

#include <pthread.h>

void __wrap_cc__waitlist_lock(struct cc__waitlist *l);
void __wrap_cc__waitlist_unlock(struct cc__waitlist *l);
void __wrap_cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w);
void __wrap_cc__waitlist_lock(struct cc__waitlist *l) {
    pthread_mutex_lock((pthread_mutex_t *)(void *)l);
}
void __wrap_cc__waitlist_unlock(struct cc__waitlist *l) {
    pthread_mutex_unlock((pthread_mutex_t *)(void *)l);
}
void __wrap_cc__waitlist_leave(struct cc__waitlist *l, struct cc__wait *w) {
    __wrap_cc__waitlist_lock(l);
    cc__waitlist_remove(l, w);
    __wrap_cc__waitlist_unlock(l);
}

#endif /* CCMC_WAITLOCK_H */
