/* SPDX-License-Identifier: MIT */
/* What the monitor knows of a worker; monitor.c has how it finds out, and what it does then.
 *
 * Prev: sched/help.h  Next: sched/events.h */
#ifndef CC__SCHED_WATCH_H
#define CC__SCHED_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Nobody else touches it, but reports look. */
struct cc__watch {
    uint32_t tick;          /* at its last look, */
    int64_t since_ns;       /* and since when it has been that */
    int64_t asked_ns;       /* when the kernel is to be asked next what the thread is doing */
    int64_t cpu_ns;         /* what the thread had had of the cpu when it was first found stuck, */
    int64_t had_ns;         /* and has had since */
    bool stuck;             /* it has run one task for long: */
    bool fresh;             /* that was found just now; */
    bool asleep;            /* in the kernel, as the answer was; */
    bool burning;           /* or on a cpu, not only waiting for one; */
    bool hogging;           /* that for much longer; */
    unsigned forks_still;   /* looks at which it had the same forks, */
    const void *forks_head; /* up to here, */
    uint32_t forks_looks;   /* and had not looked at them */
    bool told, named;       /* and so long that it was reported, as a stall, or to who follows the monitor */
};

#endif /* CC__SCHED_WATCH_H */
