/* SPDX-License-Identifier: MIT */
/* io_uring by liburing, where that was there when the library was built; and where the kernel has it, and lets us: it
 * is off in many containers.
 *
 * No flags: a ring that is told to interrupt nobody, or to be reaped by its owner alone, is a little quicker, but then
 * what a worker has asked for stays there for as long as the worker computes. The kernel keeps what does not fit into
 * the ring of what is over (IORING_FEAT_NODROP), so that there is no limit to what is under way.
 *
 * A file that is to be opened is always opened by one of the kernel's own threads (IOSQE_ASYNC): the attempt the kernel
 * makes first would open a FIFO without waiting for its other end.
 *
 * The kernel has few such threads for each of ours, by itself: so few that some opens of FIFOs would keep all other
 * calls waiting, among them the one that opens the other end. It is told to have as many as our own pool has; which it
 * can be since 5.15, and none before that is used.
 *
 * Rejected: entries that are asked for together, once a turn. What waits for a disk waits for longer than the one
 * system call takes, and would wait for all that runs before the end of the turn besides.
 *
 * Prev: plat/fdio.c  Next: plat/sigfd.c */
#include "uring.h"

#include <errno.h>

#if CCRT_HAVE_URING

#include "poll.h"

#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#if CCRT_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#define UNDER_VALGRIND (RUNNING_ON_VALGRIND != 0)
#else
#define UNDER_VALGRIND false
#endif

enum { ASKED = 32, OVER = 1024 }; /* entries of the two ends */
enum { LENGTH_MAX = 1 << 30 };    /* bytes of a call */
enum { THREADS_MAX = 512 };       /* of the kernel's, for calls of one worker that block */

struct cc__uring {
    struct io_uring ring;
};

/* ---- making one ---- */

static bool knows_all(struct io_uring *ring) {
    static const int needed[] = {IORING_OP_READ,  IORING_OP_WRITE, IORING_OP_FSYNC,       IORING_OP_OPENAT,
                                 IORING_OP_STATX, IORING_OP_NOP,   IORING_OP_ASYNC_CANCEL};
    unsigned features = IORING_FEAT_NODROP | IORING_FEAT_NATIVE_WORKERS, threads[] = {THREADS_MAX, THREADS_MAX};
    if ((ring->features & features) != features) return false;
    if (io_uring_register_iowq_max_workers(ring, threads) != 0) return false;
    struct io_uring_probe *p = io_uring_get_probe_ring(ring);
    bool all = p != NULL;
    for (size_t i = 0; all && i < sizeof needed / sizeof needed[0]; i++)
        all = io_uring_opcode_supported(p, needed[i]) != 0;
    io_uring_free_probe(p);
    return all;
}

/* Its descriptor, as all of ours, gets a number out of the way. */
static void renumber(struct io_uring *ring) {
    int high = cc__bell_out_of_the_way(ring->ring_fd);
    ring->ring_fd = ring->enter_ring_fd = high;
}

int cc__uring_open(struct cc__uring **out) {
    if (UNDER_VALGRIND) return -EOPNOTSUPP; /* it would take what the kernel writes for never written */
    struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP, .cq_entries = OVER};
    int saved = errno, rc = -ENOMEM;
    struct cc__uring *u = malloc(sizeof *u);
    if (u != NULL) rc = io_uring_queue_init_params(ASKED, &u->ring, &params);
    if (rc == 0) {
        renumber(&u->ring);
        if (!knows_all(&u->ring)) {
            io_uring_queue_exit(&u->ring);
            rc = -ENOSYS;
        }
    }
    if (rc == 0)
        *out = u;
    else
        free(u);
    errno = saved;
    return rc;
}

void cc__uring_close(struct cc__uring *u) {
    int saved = errno;
    io_uring_queue_exit(&u->ring);
    free(u);
    errno = saved;
}

int cc__uring_fd(const struct cc__uring *u) {
    return u->ring.ring_fd;
}

/* ---- asking ---- */

static unsigned length(size_t n) {
    return n < LENGTH_MAX ? (unsigned)n : LENGTH_MAX;
}

static void prepare(struct io_uring_sqe *e, const struct cc__file_call *c) {
    switch (c->what) {
    case CC__FILE_READ: io_uring_prep_read(e, c->fd, c->buf, length(c->n), (uint64_t)c->at); break;
    case CC__FILE_WRITE: io_uring_prep_write(e, c->fd, c->buf, length(c->n), (uint64_t)c->at); break;
    case CC__FILE_SYNC: io_uring_prep_fsync(e, c->fd, 0); break;
    case CC__FILE_OPEN:
        io_uring_prep_openat(e, AT_FDCWD, c->path, c->flags | O_CLOEXEC, c->mode);
        io_uring_sqe_set_flags(e, IOSQE_ASYNC);
        break;
    case CC__FILE_STAT: io_uring_prep_statx(e, AT_FDCWD, c->path, 0, STATX_BASIC_STATS, c->statx); break;
    }
}

/* Hand over what was put last. If the kernel does not take it, it becomes one that means nothing, and goes with the
 * next. */
static int submit(struct io_uring *ring, struct io_uring_sqe *e) {
    int saved = errno, rc;
    do rc = io_uring_submit(ring);
    while (rc == -EINTR);
    errno = saved;
    if (io_uring_sq_ready(ring) == 0) return 0;
    io_uring_prep_nop(e);
    io_uring_sqe_set_data64(e, 0);
    return rc < 0 ? rc : -EBUSY;
}

/* A free entry. If there is none, what was not taken before, and means nothing, is handed over now. */
static struct io_uring_sqe *next_entry(struct io_uring *ring) {
    struct io_uring_sqe *e = io_uring_get_sqe(ring);
    if (e != NULL) return e;
    int saved = errno;
    (void)io_uring_submit(ring);
    errno = saved;
    return io_uring_get_sqe(ring);
}

int cc__uring_ask(struct cc__uring *u, const struct cc__file_call *c, uint64_t number) {
    struct io_uring_sqe *e = next_entry(&u->ring);
    if (e == NULL) return -EBUSY;
    prepare(e, c);
    io_uring_sqe_set_data64(e, number);
    return submit(&u->ring, e);
}

int cc__uring_ask_to_give_up(struct cc__uring *u, uint64_t number) {
    struct io_uring_sqe *e = next_entry(&u->ring);
    if (e == NULL) return -EBUSY;
    io_uring_prep_cancel64(e, number, 0);
    io_uring_sqe_set_data64(e, 0);
    return submit(&u->ring, e);
}

/* ---- what is over ---- */

/* What is given up may end with the kernel's own codes for "begin again", which no system call returns. */
static int result_of(int res) {
    enum { RESTART_FIRST = 512, RESTART_LAST = 516 };
    return res <= -RESTART_FIRST && res >= -RESTART_LAST ? -EINTR : res;
}

unsigned cc__uring_reap(struct cc__uring *u, struct cc__uring_over *over, unsigned most) {
    struct io_uring_cqe *e[CC__URING_OVER];
    int saved = errno;
    unsigned n = io_uring_peek_batch_cqe(&u->ring, e, most < CC__URING_OVER ? most : CC__URING_OVER);
    for (unsigned i = 0; i < n; i++)
        over[i] = (struct cc__uring_over){.number = io_uring_cqe_get_data64(e[i]), .result = result_of(e[i]->res)};
    io_uring_cq_advance(&u->ring, n);
    errno = saved;
    return n;
}

#else

int cc__uring_open(struct cc__uring **out) {
    (void)out;
    return -EOPNOTSUPP;
}
void cc__uring_close(struct cc__uring *u) {
    (void)u;
}
int cc__uring_fd(const struct cc__uring *u) {
    (void)u;
    return -1;
}
int cc__uring_ask(struct cc__uring *u, const struct cc__file_call *c, uint64_t number) {
    (void)u, (void)c, (void)number;
    return -ENOSYS;
}
int cc__uring_ask_to_give_up(struct cc__uring *u, uint64_t number) {
    (void)u, (void)number;
    return -ENOSYS;
}
unsigned cc__uring_reap(struct cc__uring *u, struct cc__uring_over *over, unsigned most) {
    (void)u, (void)over, (void)most;
    return 0;
}

#endif
