/* SPDX-License-Identifier: MIT */
/* Child processes. */
#ifndef CC__PLAT_CHILD_H
#define CC__PLAT_CHILD_H

#include <sys/types.h>

struct cc__child_plan {
    const char *const *argv, *const *env; /* env NULL: as ours */
    const char *dir;                      /* NULL: as ours */
    int fd[3];                            /* what its stdin, stdout, stderr are; -1: as ours */
};

/* Start one; its signals are unblocked, and at their defaults. May take a millisecond.
 *   Returns    its number; -ENOENT, -EACCES and others, of exec() too */
pid_t cc__child_start(const struct cc__child_plan *plan);

/* A descriptor that is ready when it has ended.
 *   Returns    that, or a negative errno: -ENOSYS the kernel has none */
int cc__child_fd(pid_t pid);

/* Whether it has ended: then *status is as of waitpid(), and it is gone.
 *   Returns    1; 0 not yet; -ECHILD there is none */
int cc__child_reap(pid_t pid, int *status);
int cc__child_kill(pid_t pid, int signo);

#endif /* CC__PLAT_CHILD_H */
