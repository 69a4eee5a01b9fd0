/* SPDX-License-Identifier: MIT */
/* Reading and writing: plain descriptors, blocking calls that park the caller only.
 *
 *     cc_autoclose int fd = cc_connect("127.0.0.1:8080");
 *     if (cc_write(fd, "hello", 5) < 0) ...
 *     while ((n = cc_read(fd, buf, sizeof buf)) > 0) ...
 *
 * All of them take sockets, pipes, terminals and files, made here or elsewhere; the flags of a descriptor that was made
 * elsewhere are left alone, O_NONBLOCK among them. They return 0 or a count, or a negative errno, are cancellation
 * points and obey deadlines: a call that would wait returns -ECANCELED or -ETIMEDOUT; one that can go on at once does.
 *
 * Several fibers may use one descriptor at the same time. Descriptors that these calls return are closed by cc_close():
 * who waits for one is told so. A descriptor that is closed by close() leaves its waiters waiting, and one that was
 * made here and closed so may confuse who is next to get its number. */
#ifndef CCRT_IO_H
#define CCRT_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Read what is there, up to n bytes; waits for the first.
 *   Returns    how many; 0 the end (or n was 0); -ECANCELED, -ETIMEDOUT; -EBADF, also closed meanwhile; other errors of
 *              read(): -ECONNRESET, -EISDIR, ...
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API ssize_t cc_read(int fd, void *buf, size_t n);

/* Read n bytes, whatever it takes.
 *   Returns    how many: fewer only if the end came first; errors as cc_read(), after which what was read before the
 *              error is lost */
CC_API ssize_t cc_read_full(int fd, void *buf, size_t n);

/* Write all n bytes.
 *   Returns    n; -EPIPE nobody reads (no SIGPIPE is raised); -ECANCELED, -ETIMEDOUT, and other errors of write(): some
 *              of the bytes may have been written
 *   Call from  fiber or thread           Blocks: the caller only
 *   Ordering   bytes of writes by several fibers at a time to one descriptor may be mixed */
CC_API ssize_t cc_write(int fd, const void *buf, size_t n);

/* The same into, or from, several buffers in turn.
 *   Returns    as cc_read() and cc_write(); -EINVAL count is negative, or more than 1024 */
CC_API ssize_t cc_readv(int fd, const struct iovec *iov, int count);
CC_API ssize_t cc_writev(int fd, const struct iovec *iov, int count);

/* Send n bytes of a file, from its byte `at` on, to a socket or pipe.
 *   Returns    how many: fewer only if the file ends; errors as cc_write() */
CC_API int64_t cc_sendfile(int out, int in, int64_t at, size_t n);

/* Close a descriptor. Fibers and threads that wait for it return -EBADF. If another is in the middle of a call on it,
 * it is closed when that one is done, and its number is not used again before: nobody reads what is another's.
 *   Returns    0; -EBADF; -EIO, -ENOSPC of a file that could not be written after all: it is closed
 *   Call from  fiber or thread           Blocks: never parks; not a cancellation point */
CC_API int cc_close(int fd);

/* Wait until a descriptor of a foreign library is ready; events are those of poll(): POLLIN, POLLOUT or both.
 *   Returns    those that there are, and POLLERR, POLLHUP; -EINVAL none is asked for, or another; as cc_read() */
CC_API int cc_wait_fd(int fd, int events);

/* A pipe: fd[0] is read, fd[1] written.
 *   Returns    0; -EMFILE, -ENFILE, -ENOMEM */
CC_API int cc_pipe(int fd[2]);

static inline void cc_priv_close(int *fd) {
    if (*fd >= 0) (void)cc_close(*fd);
}

CC_END_DECLS

/* A descriptor that is closed when its variable goes; a negative one is left alone. */
#define cc_autoclose __attribute__((cleanup(cc_priv_close)))

#endif /* CCRT_IO_H */
