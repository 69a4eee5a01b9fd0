/* SPDX-License-Identifier: MIT */
/* Outputs. A file is written under another name in the same directory, and gets its own name when all of it is there:
 * whatever happens before that, a full disk, a signal, a crash, input and earlier output are as they were. Errors of
 * close() count, since some file systems write only then. With -Y it has its name on disk, and what it names, before
 * anybody removes the input.
 *
 * A signal removes the file and ends the program. All other threads block signals, so handlers run on the main thread;
 * it blocks them where the name changes, so the handler sees no file that has no name, and no name of another file.
 *
 * Prev: indexed.c  Next: options.c */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- names ---- */

static const struct {
    const char *end, *instead;
} known[] = {{".gz", ""}, {"-gz", ""}, {".z", ""}, {"-z", ""}, {"_z", ""}, {".tgz", ".tar"}, {".taz", ".tar"}};

char *gz_name_compressed(const char *path, const char *suffix) {
    char *name = NULL;
    return asprintf(&name, "%s%s", path, suffix) < 0 ? NULL : name;
}

/* The path without an ending it has, and with another instead. NULL: it has not. */
static char *replace_end(const char *path, const char *end, const char *instead) {
    size_t n = strlen(path), m = strlen(end);
    char *name = NULL;
    if (n <= m || path[n - m - 1] == '/' || strcasecmp(path + n - m, end) != 0) return NULL;
    return asprintf(&name, "%.*s%s", (int)(n - m), path, instead) < 0 ? NULL : name;
}

char *gz_name_plain(const char *path, const char *suffix) {
    char *name = replace_end(path, suffix, "");
    for (size_t i = 0; i < sizeof known / sizeof known[0] && name == NULL; i++)
        name = replace_end(path, known[i].end, known[i].instead);
    return name;
}

char *gz_name_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/'), *last = strrchr(name, '/');
    char *beside = NULL;
    if (last != NULL) name = last + 1;
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return NULL;
    int folder = slash == NULL ? 0 : (int)(slash + 1 - path);
    return asprintf(&beside, "%.*s%s", folder, path, name) < 0 ? NULL : beside;
}

/* ---- signals ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
static char *volatile to_remove; /* R: the handler */

static void on_signal(int number) {
    char *path = to_remove;
    if (path != NULL) (void)unlink(path);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void gz_target_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)}, old;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error like others */
}

static void block_signals(sigset_t *old) {
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) (void)sigaddset(&set, signals[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, old);
}

/* ---- outputs ---- */

int gz_target_open(struct gz_target *t, const char *path) {
    sigset_t old;
    t->fd = -1;
    t->path = strdup(path);
    t->temporary = gz_name_beside(path, ".ccgz-XXXXXX");
    int rc = t->path == NULL || t->temporary == NULL ? -ENOMEM : 0;
    if (rc == 0) {
        block_signals(&old);
        t->fd = mkostemp(t->temporary, O_CLOEXEC);
        if (t->fd < 0) rc = -errno;
        if (t->fd >= 0) to_remove = t->temporary;
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    if (rc == 0) return 0;
    free(t->path);
    free(t->temporary);
    return rc;
}

/* From here on there is no file under way. */
static void forget(struct gz_target *t) {
    to_remove = NULL;
    free(t->path);
    free(t->temporary);
    t->fd = -1;
}

void gz_target_abandon(struct gz_target *t) {
    sigset_t old;
    (void)close(t->fd);
    block_signals(&old);
    (void)unlink(t->temporary);
    forget(t);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void copy_attributes(int fd, const struct stat *like) {
    const struct timespec times[2] = {like->st_atim, like->st_mtim};
    mode_t mode = like->st_mode & 0777;
    if (fchown(fd, like->st_uid, like->st_gid) != 0 && fchown(fd, (uid_t)-1, like->st_gid) != 0) {
        mode_t group = (mode >> 3) & 7, others = mode & 7;
        mode = (mode & 0700) | ((group & others) << 3) | others; /* the group is another: no more than others may */
    }
    (void)fchmod(fd, mode);
    (void)futimens(fd, times);
}

static int rename_new(const char *from, const char *to) {
#if defined(SYS_renameat2)
    enum { NO_REPLACE = 1 };
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE) == 0) return 0;
    if (errno != ENOSYS && errno != EINVAL) return -errno;
#endif
    if (link(from, to) == 0) return unlink(from) == 0 ? 0 : -errno;
    if (errno == EEXIST) return -EEXIST;
    return rename(from, to) == 0 ? 0 : -errno; /* a file system without links */
}

/* Have on disk what was written, where there is a disk. */
static int sync_fd(int fd) {
    return fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP ? 0 : -errno;
}

/* Have the name on disk, too: it is what the folder has. */
static int sync_name(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash + 1 - path));
    if (folder == NULL) return -ENOMEM;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : sync_fd(fd);
    if (fd >= 0 && close(fd) != 0 && rc == 0) rc = -errno;
    free(folder);
    return rc;
}

int gz_target_finish(struct gz_target *t, const struct stat *like, bool replace, bool synchronous) {
    sigset_t old;
    int rc = 0;
    if (like != NULL) copy_attributes(t->fd, like);
    if (synchronous) rc = sync_fd(t->fd);
    if (close(t->fd) != 0 && rc == 0) rc = -errno;
    block_signals(&old);
    if (rc == 0 && replace)
        rc = rename(t->temporary, t->path) == 0 ? 0 : -errno;
    else if (rc == 0)
        rc = rename_new(t->temporary, t->path);
    if (rc != 0)
        (void)unlink(t->temporary);
    else if (synchronous)
        rc = sync_name(t->path);
    forget(t);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int gz_output_finish(int fd, bool synchronous) {
    int rc = synchronous ? sync_fd(fd) : 0;
    if (close(fd) != 0 && rc == 0) rc = -errno;
    return rc;
}
