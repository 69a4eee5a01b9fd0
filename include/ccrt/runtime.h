/* SPDX-License-Identifier: MIT */
/* Runtimes: sets of workers. The default one starts itself; others are made and ended by hand. */
#ifndef CCRT_RUNTIME_H
#define CCRT_RUNTIME_H

#include <stddef.h>

#include "defs.h"
#include "task.h"

CC_BEGIN_DECLS

typedef struct cc_runtime cc_runtime;

/* Zero means the default. */
typedef struct cc_runtime_attr {
    unsigned workers;   /* 0: CC_WORKERS in the environment, else as many as cpus may be used */
    size_t stack_bytes; /* of its tasks */
} cc_runtime_attr;

/* Start a runtime. attr may be NULL.
 *   Returns    0; -EINVAL; -ENOMEM; -EAGAIN the system gives no more threads
 *   Call from  a plain thread */
CC_API int cc_runtime_create(cc_runtime **out, const cc_runtime_attr *attr);

/* Wait until all its tasks have ended, then end its workers. NULL is allowed.
 *   Call from  a plain thread */
CC_API void cc_runtime_destroy(cc_runtime *rt);

/* Spawn into a runtime from anywhere; as cc_task_spawn. */
CC_API int cc_runtime_spawn(cc_runtime *rt, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg);

/* How many workers it has. */
CC_API unsigned cc_runtime_workers(const cc_runtime *rt);

CC_END_DECLS

#endif /* CCRT_RUNTIME_H */
