/* SPDX-License-Identifier: MIT */
/* io_uring, for files: a ring in memory that is shared with the kernel, where calls are asked for at one end and told
 * to be over at the other. */
#ifndef CC__PLAT_URING_H
#define CC__PLAT_URING_H

#include "fdio.h"

#include <stdbool.h>
#include <stdint.h>

struct cc__uring;

/* Make one. Its descriptor may be watched as a bell is (poll.h): it is ready while something is over.
 *   Returns    0; -ENOSYS the kernel has none, or lacks what is needed; -EPERM it is forbidden; -EMFILE, -ENFILE,
 *              -ENOMEM; -EOPNOTSUPP this build has none, or valgrind runs it */
int cc__uring_open(struct cc__uring **out);
void cc__uring_close(struct cc__uring *u); /* nothing is under way, and nobody uses it */
int cc__uring_fd(const struct cc__uring *u);

/* Ask for a call; or for one to be given up, if that is still possible. One thread at a time.
 *   Returns    0 it will be told to be over, under that number, which is not 0; or is over already; else a negative
 *              errno, and nothing was asked for */
int cc__uring_ask(struct cc__uring *u, const struct cc__file_call *c, uint64_t number);
int cc__uring_ask_to_give_up(struct cc__uring *u, uint64_t number);

/* What is over, up to `most`, CC__URING_OVER at the most; how many. One thread at a time, but beside one that asks.
 * Numbers of 0 mean nothing. */
enum { CC__URING_OVER = 32 };
struct cc__uring_over {
    uint64_t number;
    int result;
};
unsigned cc__uring_reap(struct cc__uring *u, struct cc__uring_over *over, unsigned most);

#endif /* CC__PLAT_URING_H */
