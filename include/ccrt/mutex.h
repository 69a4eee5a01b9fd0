/* SPDX-License-Identifier: MIT */
/* A mutex that parks who waits: fibers and plain threads share it, and no worker is ever blocked by it. */
#ifndef CCRT_MUTEX_H
#define CCRT_MUTEX_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"
#include "here.h"

CC_BEGIN_DECLS

/* Begins as CC_MUTEX_INIT, or all zero. May go as soon as nobody holds it or is in a call on it: also at once after the
 * last unlock was seen by who locked it next. */
typedef struct cc_mutex {
    uintptr_t priv_word;
    uint32_t priv_lock[2];
    void *priv_waiters[2];
} cc_mutex;

/* clang-format off */
#define CC_MUTEX_INIT {0, {0, 0}, {NULL, NULL}}
/* clang-format on */

/* Lock; waits while another has it. Not recursive: locking it twice aborts. Who is awake may get it before those that
 * wait; who has waited for a millisecond gets it next.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what was done under it before is seen */
CC_API void cc_mutex_lock(cc_mutex *m);

/* The same, as a cancellation point.
 *   Returns    0 it is locked; -ECANCELED, -ETIMEDOUT it is not */
CC_API CC_NODISCARD int cc_mutex_lock_cancellable(cc_mutex *m);

/* Lock it if nobody has it.
 *   Returns    0; -EAGAIN */
CC_API CC_NODISCARD int cc_mutex_trylock(cc_mutex *m);

/* Unlock; aborts if the caller has not locked it.
 *   Call from  the fiber or thread that locked it      Blocks: never */
CC_API void cc_mutex_unlock(cc_mutex *m);

/* Both inline, for a task and where nobody else has it or waits. `(cc_mutex_lock)(m)` is the function. */
extern __attribute__((tls_model("initial-exec"))) CC_API __thread void *cc_priv_fiber_here;
CC_API void cc_priv_mutex_unlocked(cc_mutex *m, uintptr_t was); /* there was more in it than its owner */

#if defined(CC_PRIV_TASK_HERE) && !CC_PRIV_CALLS && !defined(CC_PRIV_MUTEX_CALLS)

static inline __attribute__((always_inline)) void cc_priv_mutex_lock(cc_mutex *m) {
    uintptr_t self, none = 0;
    CC_PRIV_TASK_HERE(self);
    if (CC_PRIV_UNLIKELY(self == 0 || !__atomic_compare_exchange_n(&m->priv_word, &none, self, 0, __ATOMIC_ACQUIRE,
                                                                   __ATOMIC_RELAXED)))
        cc_mutex_lock(m);
}

static inline __attribute__((always_inline)) void cc_priv_mutex_unlock(cc_mutex *m) {
    uintptr_t self;
    CC_PRIV_TASK_HERE(self);
    if (CC_PRIV_UNLIKELY(self == 0)) {
        cc_mutex_unlock(m);
        return;
    }
    uintptr_t was = __atomic_fetch_sub(&m->priv_word, self, __ATOMIC_RELEASE);
    if (CC_PRIV_UNLIKELY(was != self)) cc_priv_mutex_unlocked(m, was);
}

#define cc_mutex_lock(m) cc_priv_mutex_lock(m)
#define cc_mutex_unlock(m) cc_priv_mutex_unlock(m)

#endif

CC_END_DECLS

#endif /* CCRT_MUTEX_H */
