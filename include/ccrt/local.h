/* SPDX-License-Identifier: MIT */
/* Task-local values: like a thread's, but they go with the task wherever it runs. A plain thread has its own, too. */
#ifndef CCRT_LOCAL_H
#define CCRT_LOCAL_H

#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

typedef struct cc_local {
    uint32_t priv_index, priv_generation;
} cc_local;

/* A new key: every task and thread has NULL there. destroy, if not NULL, is called with each value that is not NULL
 * when its task or thread ends, in that task; values that destructors set are destroyed in turn, four times over.
 *   Returns    0; -EINVAL; -EAGAIN 1024 keys are in use
 *   Call from  fiber or thread */
CC_API int cc_local_create(cc_local *key, void (*destroy)(void *value));

/* Give up a key: its values are forgotten, no destructor is called.
 *   Returns    0; -ESRCH */
CC_API int cc_local_delete(cc_local key);

/* The caller's value; NULL if it has none, or the key was given up. */
CC_API void *cc_local_get(cc_local key);

/* Set the caller's value.
 *   Returns    0; -ESRCH no such key; -ENOMEM */
CC_API int cc_local_set(cc_local key, void *value);

CC_END_DECLS

#endif /* CCRT_LOCAL_H */
