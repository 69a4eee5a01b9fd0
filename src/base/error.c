/* SPDX-License-Identifier: MIT */
/* Text for return codes: one table, from one X-macro, so that a code and its line stay together.
 *
 * The C library's strerror() is not used: it may allocate, translates, and is not callable from a
 * signal handler. The lines say what the code means in this library where errno's own words mislead.
 *
 * Prev: base/env.c  Next: base/list.h */
#include <ccrt/error.h>

#include <errno.h>

#define ERRORS(X)                                                                                                      \
    X(EPERM, "not allowed here or not the owner")                                                                      \
    X(ENOENT, "no such file or directory")                                                                             \
    X(ESRCH, "no such task: the handle is stale or its result was taken")                                              \
    X(EINTR, "interrupted by a signal")                                                                                \
    X(EIO, "input/output error")                                                                                       \
    X(ENXIO, "no such device or address")                                                                              \
    X(E2BIG, "argument list too long")                                                                                 \
    X(EBADF, "bad file descriptor")                                                                                    \
    X(ECHILD, "no child process")                                                                                      \
    X(EAGAIN, "would block: try again")                                                                                \
    X(ENOMEM, "out of memory")                                                                                         \
    X(EACCES, "permission denied")                                                                                     \
    X(EFAULT, "bad address")                                                                                           \
    X(EBUSY, "in use")                                                                                                 \
    X(EEXIST, "exists already")                                                                                        \
    X(ENODEV, "no such device")                                                                                        \
    X(ENOTDIR, "not a directory")                                                                                      \
    X(EISDIR, "is a directory")                                                                                        \
    X(EINVAL, "invalid argument")                                                                                      \
    X(ENFILE, "too many open files in the system")                                                                     \
    X(EMFILE, "too many open files in this process")                                                                   \
    X(EFBIG, "file too large")                                                                                         \
    X(ENOSPC, "no space left on device")                                                                               \
    X(ESPIPE, "not seekable")                                                                                          \
    X(EROFS, "read-only file system")                                                                                  \
    X(EPIPE, "closed")                                                                                                 \
    X(EDOM, "argument out of domain")                                                                                  \
    X(ERANGE, "result out of range")                                                                                   \
    X(EDEADLK, "would deadlock")                                                                                       \
    X(ENAMETOOLONG, "name too long")                                                                                   \
    X(ENOSYS, "not provided by this system")                                                                           \
    X(ENOTEMPTY, "directory not empty")                                                                                \
    X(ELOOP, "too many symbolic links")                                                                                \
    X(EPROTO, "protocol error")                                                                                        \
    X(EOVERFLOW, "value too large")                                                                                    \
    X(EILSEQ, "invalid byte sequence")                                                                                 \
    X(ENOTSOCK, "not a socket")                                                                                        \
    X(EDESTADDRREQ, "destination address needed")                                                                      \
    X(EMSGSIZE, "message too long")                                                                                    \
    X(EPROTONOSUPPORT, "protocol not supported")                                                                       \
    X(ENOTSUP, "not supported")                                                                                        \
    X(EAFNOSUPPORT, "address family not supported")                                                                    \
    X(EADDRINUSE, "address in use")                                                                                    \
    X(EADDRNOTAVAIL, "address not available")                                                                          \
    X(ENETDOWN, "network is down")                                                                                     \
    X(ENETUNREACH, "network unreachable")                                                                              \
    X(ECONNABORTED, "connection aborted")                                                                              \
    X(ECONNRESET, "connection reset by peer")                                                                          \
    X(ENOBUFS, "no buffer space")                                                                                      \
    X(EISCONN, "connected already")                                                                                    \
    X(ENOTCONN, "not connected")                                                                                       \
    X(ESHUTDOWN, "shutting down")                                                                                      \
    X(ETIMEDOUT, "timed out")                                                                                          \
    X(ECONNREFUSED, "connection refused")                                                                              \
    X(EHOSTUNREACH, "host unreachable")                                                                                \
    X(EALREADY, "under way already")                                                                                   \
    X(EINPROGRESS, "in progress")                                                                                      \
    X(ECANCELED, "cancelled")                                                                                          \
    X(EOWNERDEAD, "owner died")                                                                                        \
    X(ENOEXEC, "not executable")                                                                                       \
    X(EXDEV, "on another file system")                                                                                 \
    X(ENOTTY, "not a terminal, or not for this device")                                                                \
    X(ETXTBSY, "program is running")                                                                                   \
    X(EMLINK, "too many links")                                                                                        \
    X(ENOLCK, "no locks left")                                                                                         \
    X(ENODATA, "no data")                                                                                              \
    X(EBADMSG, "bad message")                                                                                          \
    X(EPROTOTYPE, "wrong protocol for this socket")                                                                    \
    X(ENOPROTOOPT, "no such protocol option")                                                                          \
    X(ESOCKTNOSUPPORT, "socket type not supported")                                                                    \
    X(EPFNOSUPPORT, "protocol family not supported")                                                                   \
    X(ENETRESET, "connection lost by the network")                                                                     \
    X(EHOSTDOWN, "host is down")                                                                                       \
    X(ESTALE, "stale file handle")                                                                                     \
    X(EDQUOT, "disk quota exceeded")                                                                                   \
    X(ENOTRECOVERABLE, "state not recoverable")

const char *cc_strerror(int rc) {
    if (rc >= 0) return "success";
    switch (rc) {
#define ERROR_CASE(code, text)                                                                                         \
    case -(code): return text;
        ERRORS(ERROR_CASE)
#undef ERROR_CASE
    default: return "unknown error";
    }
}
