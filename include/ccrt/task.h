/* SPDX-License-Identifier: MIT */
/* Tasks: functions run as fibers over the workers of a runtime, joined by handles.
 *
 * A task has no stack until it first runs, may block anywhere, and may change workers whenever it blocks. The
 * default runtime starts itself on first use. */
#ifndef CCRT_TASK_H
#define CCRT_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Names one task, also after its end. A value: copy it freely. All zero: none. */
typedef struct cc_task {
    void *priv_record;
    uint32_t priv_generation;
} cc_task;

/* High goes before normal (one time in eight the other way). Low runs when there is nothing else; one of them also when
 * a task yields to nobody else on its worker, and some 20 times a second whatever there is, so that none waits for
 * ever. A task keeps its priority for life. */
enum { CC_PRIORITY_NORMAL, CC_PRIORITY_HIGH, CC_PRIORITY_LOW };

/* What one task gets. Zero means the default. */
typedef struct cc_task_attr {
    const char *name;   /* shown in reports; copied */
    size_t stack_bytes; /* usable bytes, rounded up to a size class */
    int priority;       /* CC_PRIORITY_* */
    unsigned worker;    /* run on this worker only: 1 for the first; 0: on any */
} cc_task_attr;

/* Where in the program something was spawned; static, shown in reports. */
typedef struct cc_site {
    const char *file;
    int line;
    const char *what; /* the function's name */
} cc_site;

/* The place it stands at. */
#define CC_SITE(what)                                                                                                  \
    (__extension__({                                                                                                   \
        static const cc_site cc_here_ = {__FILE__, __LINE__, what};                                                    \
        &cc_here_;                                                                                                     \
    }))
#define CC_PRIV_TEXT1(a, ...) #a
#define CC_PRIV_TEXT3(a, b, c, ...) #c

/* Start fn(arg) as a task; it runs soon, never before this returns. attr may be NULL.
 *   Returns    0 and its handle, which must be joined or detached; -EINVAL; -ENOMEM; -EAGAIN no thread for
 *              the default runtime; -ESHUTDOWN
 *   Call from  fiber or thread           Blocks: never
 *   Ordering   what the caller wrote before is seen by the task */
CC_API int cc_task_spawn(cc_task *out, const cc_task_attr *attr, void *(*fn)(void *), void *arg);
CC_API int cc_task_spawn_at(const cc_site *site, cc_task *out, const cc_task_attr *attr, void *(*fn)(void *),
                            void *arg);

/* The same in short: a handle of all zeros when it failed, which joins as -ESRCH. */
CC_API cc_task cc_fiber_spawn_task(void *(*fn)(void *), void *arg);
CC_API cc_task cc_fiber_spawn_task_at(const cc_site *site, void *(*fn)(void *), void *arg);

/* In C and C++ the calls note where they stand; elsewhere the functions serve. */
#define cc_task_spawn(...) cc_task_spawn_at(CC_SITE(CC_PRIV_TEXT3(__VA_ARGS__, )), __VA_ARGS__)
#define cc_fiber_spawn_task(...) cc_fiber_spawn_task_at(CC_SITE(CC_PRIV_TEXT1(__VA_ARGS__, )), __VA_ARGS__)

/* Start count tasks at once, each fn(args[i]) (args NULL: fn(NULL)): all or none. Dearer things, such as waking
 * workers, are done once for all.
 *   Returns    as cc_task_spawn; out has room for count handles */
CC_API int cc_task_spawn_many(cc_task *out, size_t count, void *(*fn)(void *), void *const *args);

/* Wait for a task to end and take its result; result may be NULL. Any number may wait; one takes it.
 *   Returns    0; -ESRCH taken before, detached, or not a task; -EDEADLK the caller itself; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point
 *   Ordering   what the task wrote is seen by the caller */
CC_API int cc_task_join(cc_task t, void **result);

/* The same, as a cancellation point: also -ECANCELED, -ETIMEDOUT; then the task goes on and can still be joined. */
CC_API CC_NODISCARD int cc_task_join_cancellable(cc_task t, void **result);

/* Give up the handle: the task goes on, and its result is dropped.
 *   Returns    0; -ESRCH */
CC_API int cc_task_detach(cc_task t);

/* Whether the handle can still be joined or detached: 1 or 0. */
CC_API int cc_task_valid(cc_task t);

/* Let others run; returns soon. On a plain thread: gives up the cpu. */
CC_API void cc_yield(void);

/* The running task's handle (all zeros on a plain thread), and its name: as given, or its function's as the spawn had
 * it; or NULL. */
CC_API cc_task cc_task_self(void);
CC_API const char *cc_task_self_name(void);

CC_END_DECLS

#endif /* CCRT_TASK_H */
