/* SPDX-License-Identifier: MIT */
/* Parking: the primitive that all waiting is made of, for those who build their own. */
#ifndef CCRT_PARK_H
#define CCRT_PARK_H

#include <stdint.h>

#include "defs.h"

#ifdef __cplusplus
#include <atomic>
#endif

CC_BEGIN_DECLS

/* Names the fiber or thread that asked for it. A value; may be unparked at any time, also after its end. */
typedef struct cc_parker {
    void *priv_record;
    uint32_t priv_generation;
} cc_parker;

/* The caller's own.
 *   Call from  fiber or thread */
CC_API cc_parker cc_parker_self(void);

/* Have park_if return in the fiber or thread it names: now, or the next time it parks. One is remembered.
 *   Call from  anywhere, any number of times
 *   Ordering   what the caller wrote before is seen by the one that returns */
CC_API void cc_unpark(cc_parker p);

/* Not to be called directly. */
CC_API void cc_priv_park_if(const void *flag, int expected);

CC_END_DECLS

/* Park while *flag is `expected`. Store another value, then unpark; take the parker before the store. May return
 * for no reason: loop on the flag.
 *   Call from  fiber or thread           Blocks: the caller only */
#ifdef __cplusplus
static inline void cc_park_if(const std::atomic<int> *flag, int expected) {
    cc_priv_park_if(flag, expected);
}
#else
static inline void cc_park_if(const _Atomic int *flag, int expected) {
    cc_priv_park_if((const void *)flag, expected);
}
#endif

#endif /* CCRT_PARK_H */
