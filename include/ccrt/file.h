/* SPDX-License-Identifier: MIT */
/* Files and directories. What is in memory is read at once, and a file whose path is, opened or looked at, whatever
 * cancels the caller: a call that can go on at once does. What has to wait for a disk is done by the kernel, through
 * io_uring, or by a thread of its own (CC_IO in the environment, or the runtime's attributes, say which), and parks the
 * caller only. io.h reads and writes files, too, where they stand.
 *
 * A call that was begun has the caller's memory, so it is waited for, whatever cancels the caller. The kernel is then
 * asked to give it up; if it does, and for one that is still to begin, the result is -ECANCELED or -ETIMEDOUT. */
#ifndef CCRT_FILE_H
#define CCRT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "defs.h"

CC_BEGIN_DECLS

/* Open a file: flags and mode as of open(); it is not inherited by programs that are exec'd.
 *   Returns    a descriptor; -ENOENT, -EACCES, -EISDIR, ...; -EINVAL no path; -ECANCELED, -ETIMEDOUT
 *   Call from  fiber or thread           Blocks: the caller only; its thread, where a FIFO without its other end has
 *              taken the place of a file that was opened there within the last second */
CC_API int cc_open(const char *path, int flags, unsigned mode);

/* Read up to n bytes from a place of it, or write all n there; where the file stands does not change.
 *   Returns    how many, fewer only at the end; n; -ESPIPE it has no places; -EINVAL a negative place; errors of
 *              pread() and pwrite() */
CC_API ssize_t cc_pread(int fd, void *buf, size_t n, int64_t at);
CC_API ssize_t cc_pwrite(int fd, const void *buf, size_t n, int64_t at);

/* What was written is on the disk when this returns.
 *   Returns    0; -EBADF, -EINVAL not a file, -EIO */
CC_API int cc_fsync(int fd);

/* What stat() says of a path, or fstat() of a descriptor.
 *   Returns    0; -ENOENT, -ENOTDIR, -EBADF, ... */
CC_API int cc_stat(const char *path, struct stat *out);
CC_API int cc_fstat(int fd, struct stat *out);

/* The entries of a directory, in no order, without "." and "..". */
typedef struct cc_dir cc_dir;
typedef struct cc_dirent {
    const char *name; /* good until the next call */
    int type;         /* DT_REG, DT_DIR, ... of dirent.h; DT_UNKNOWN: ask cc_stat() */
} cc_dirent;

/*   Returns    0; -ENOTDIR a file where a directory is meant; -ENOENT, ...; -ENOMEM */
CC_API int cc_dir_open(cc_dir **out, const char *path);
/*   Returns    1 there is one; 0 the end; a negative errno */
CC_API int cc_dir_next(cc_dir *d, cc_dirent *out);
CC_API void cc_dir_close(cc_dir *d); /* NULL is nothing */

CC_END_DECLS

#endif /* CCRT_FILE_H */
