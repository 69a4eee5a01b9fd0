/* SPDX-License-Identifier: MIT */
/* Signals. They arrive at a descriptor (plat/sigfd.c), which is read like any other.
 *
 * A nursery that is cancelled by signals has a watcher: a task that is none of its children, since it ends only when
 * the nursery does. The watcher and the nursery's end share a record. At the end the descriptor is closed, which ends
 * the watcher's read; a lock keeps it from cancelling a nursery that is over.
 *
 * Prev: io/buffer.c  Next: io/process.c */
#define CC_PRIV_MUTEX_CALLS 1 /* where ThreadSanitizer is told of it (trace/edges.h) */
#include <ccrt/io.h>
#include <ccrt/mutex.h>
#include <ccrt/signal.h>
#include <ccrt/task.h>

#include "../plat/sigfd.h"
#include "io.h"

#include <errno.h>
#include <stdlib.h>

int cc_signal_open(const int *signals, size_t count) {
    if (signals == NULL) return -EINVAL;
    return cc__io_adopt(cc__sigfd_open(signals, count), CC__FD_SOCKET);
}

int cc_signal_next(int fd) {
    unsigned char signo;
    ssize_t n = cc_read(fd, &signo, 1);
    if (n == 1) cc__sigfd_received();
    return n == 1 ? signo : n < 0 ? (int)n : -EBADF;
}

struct watcher {
    struct cc__nursery_hook hook;
    cc_nursery *nursery; /* guarded by lock; NULL: it is over */
    cc_mutex lock;
    int fd;
    cc_task task;
};

static void *watch(void *arg) {
    struct watcher *w = arg;
    if (cc_signal_next(w->fd) < 0) return NULL;
    cc_mutex_lock(&w->lock);
    if (w->nursery != NULL) cc_nursery_cancel(w->nursery);
    cc_mutex_unlock(&w->lock);
    return NULL;
}

static void nursery_ended(struct cc__nursery_hook *h) {
    struct watcher *w = CC__CONTAINER_OF(h, struct watcher, hook);
    cc_mutex_lock(&w->lock);
    w->nursery = NULL;
    cc_mutex_unlock(&w->lock);
    (void)cc_close(w->fd);
    (void)cc_task_join(w->task, NULL);
    free(w);
}

static void nothing(struct cc__nursery_hook *h, struct cc__claims *over) {
    (void)h, (void)over;
}

int cc_nursery_cancel_on_signals(cc_nursery *n, const int *signals, size_t count) {
    struct watcher *w = n == NULL ? NULL : calloc(1, sizeof *w);
    if (w == NULL) return n == NULL ? -EINVAL : -ENOMEM;
    *w = (struct watcher){.hook = {.at_end = nursery_ended, .all_wait = nothing}, .nursery = n};
    int rc = w->fd = cc_signal_open(signals, count);
    if (rc >= 0) rc = cc_task_spawn(&w->task, &(cc_task_attr){.name = "signal watcher"}, watch, w);
    if (rc < 0) {
        if (w->fd >= 0) (void)cc_close(w->fd);
        free(w);
        return rc;
    }
    cc__nursery_add_hook(n, &w->hook);
    return 0;
}
