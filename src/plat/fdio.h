/* SPDX-License-Identifier: MIT */
/* Reading and writing what is not a socket: pipes, terminals, files. A negative errno is the result of what fails. */
#ifndef CC__PLAT_FDIO_H
#define CC__PLAT_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h> /* also struct statx */
#include <sys/types.h>
#include <sys/uio.h>

/* Where a file is read or written: there, or, with this, where it stands. */
#define CC__FDIO_HERE INT64_C(-1)

/* Without waiting, whatever its flags are: -EAGAIN where it would. A terminal, or the like, is asked before, and may
 * block all the same if another reads it at the same time. Writes raise no SIGPIPE; masked: this thread has that
 * signal blocked already, and CC__FDIO_FILE: it is a file that would wait, which nobody tells the end of. */
#define CC__FDIO_FILE ((ssize_t)-4096) /* no errno */
ssize_t cc__fdio_read_now(int fd, const struct iovec *iov, int count, int64_t at);
ssize_t cc__fdio_write_now(int fd, const struct iovec *iov, int count, int64_t at, bool masked);

/* As long as it takes; writes raise no SIGPIPE. */
ssize_t cc__fdio_read(int fd, const struct iovec *iov, int count, int64_t at);
ssize_t cc__fdio_write(int fd, const struct iovec *iov, int count, int64_t at, bool masked);

/* A call on a file, as it may be asked of another thread, or of the kernel. */
enum cc__file_what { CC__FILE_READ, CC__FILE_WRITE, CC__FILE_SYNC, CC__FILE_OPEN, CC__FILE_STAT };
struct cc__file_call {
    enum cc__file_what what;
    int fd, flags;
    unsigned mode;
    const char *path; /* of an open or stat */
    void *buf;
    size_t n;
    int64_t at;
    struct statx *statx;
};
/* Make it, however long it takes. The result of the system call, or a negative errno. */
int64_t cc__fdio_call(const struct cc__file_call *c);
/* What statx() said, as stat() says it. */
void cc__fdio_stat_of(struct stat *out, const struct statx *in);
/* An open, or stat, of a file or directory whose path is in memory; nothing is made, or emptied. -EAGAIN: it may have
 * to wait, or is something else. */
int cc__fdio_open_now(const char *path, int flags);
int cc__fdio_stat_now(const char *path, struct stat *out);

int cc__fdio_close(int fd);
int cc__fdio_open(const char *path, int flags, unsigned mode); /* the result is not inherited */
int cc__fdio_pipe(int fd[2]);                                  /* neither end blocks, or is inherited */
int cc__fdio_pipe_for_child(int fd[2], bool read);             /* the end that is not the child's does not block */
int cc__fdio_above(int fd, int least); /* the same with a number of at least that; -EMFILE: it is closed */
int cc__fdio_sync(int fd, bool data_only);
int cc__fdio_stat(int fd, struct stat *out);
/* From a place of a file, which may have to wait for the disk, to what does not block. No SIGPIPE. */
ssize_t cc__fdio_sendfile(int out, int in, int64_t at, size_t n, bool masked);
/* Bytes of directory entries, for cc__fdio_entry(); 0 at the end. */
ssize_t cc__fdio_entries(int dir, void *buf, size_t n);
/* The entry at an offset of them: its name, its DT_ type; the next offset. */
size_t cc__fdio_entry(const void *buf, size_t at, const char **name, int *type);

#endif /* CC__PLAT_FDIO_H */
