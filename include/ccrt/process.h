/* SPDX-License-Identifier: MIT */
/* Child processes: start, talk to, wait for, end.
 *
 *     cc_process p;
 *     const char *argv[] = {"sort", NULL};
 *     cc_process_spawn(&p, argv, &(cc_process_attr){.in = CC_STDIO_PIPE, .out = CC_STDIO_PIPE});
 *     cc_write(p.in, ...); cc_process_close_in(&p); cc_read(p.out, ...);
 *     cc_process_wait(&p, &status);
 *
 *     ssize_t n = cc_process_output(argv, buf, sizeof buf, &status);    all of its output, with a deadline around it
 *
 * A child has no signal blocked, all at their defaults, and of the descriptors that these calls make only its three.
 * What the program has made elsewhere, and not said O_CLOEXEC, it inherits as from any exec(). */
#ifndef CCRT_PROCESS_H
#define CCRT_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include "defs.h"

CC_BEGIN_DECLS

/* What a child's stdin, stdout or stderr is; or a descriptor above 2. */
enum { CC_STDIO_INHERIT = 0, CC_STDIO_PIPE = -1, CC_STDIO_NULL = -2 };

typedef struct cc_process_attr {
    int in, out, err;       /* CC_STDIO_*, or a descriptor above 2, which stays the caller's */
    const char *const *env; /* "NAME=value", ended by NULL; NULL: as this process's */
    const char *dir;        /* where it begins; NULL: where this process is */
} cc_process_attr;

typedef struct cc_process {
    pid_t pid;        /* 0: it was waited for */
    int in, out, err; /* our ends of its pipes, or -1 */
    int priv_fd, priv_lock;
} cc_process;

/* Start a program, found by PATH. argv[0] is its name; the list is ended by NULL. attr: NULL is all zero.
 *   Returns    0; -ENOENT, -EACCES, ... it cannot be started; -EINVAL no argv; -EMFILE, -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only
 *   Ownership  the strings are not kept. cc_process_wait() gives up what the process holds */
CC_API int cc_process_spawn(cc_process *p, const char *const *argv, const cc_process_attr *attr);

/* Wait until it has ended; its pipes are closed then. status: NULL, or as of waitpid(): WIFEXITED() and so on.
 *   Returns    0; -ECANCELED, -ETIMEDOUT: it goes on, and may be waited for again; -ESRCH it was waited for, perhaps by
 *              another meanwhile */
CC_API int cc_process_wait(cc_process *p, int *status);

/* Send it a signal, also while another waits for it: it never goes to another process.
 *   Returns    0; -ESRCH it was waited for; -EINVAL no such signal; -EPERM */
CC_API int cc_process_kill(cc_process *p, int signo);

/* Close our end of its stdin: it reads the end. Returns 0, or -EBADF there is none. */
CC_API int cc_process_close_in(cc_process *p);

/* Run a program without stdin, and get what it writes to its stdout. If the caller is cancelled, or its deadline comes,
 * the child is killed and waited for. status as above.
 *   Returns    how many bytes, cut to n; -ECANCELED, -ETIMEDOUT; as cc_process_spawn() */
CC_API ssize_t cc_process_output(const char *const *argv, void *buf, size_t n, int *status);

CC_END_DECLS

#endif /* CCRT_PROCESS_H */
