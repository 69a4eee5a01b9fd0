/* SPDX-License-Identifier: MIT */
/* What comes before what, for a program under ThreadSanitizer.
 *
 * A library that was built without it is all plain machine code to it: it sees the program's accesses, and none of the
 * atomics that order them, so all that tasks hand to each other would be reported. Where the program has it, it is
 * told: who lets another go on releases an address before, who goes on acquires the same address after. Where it has
 * not, a site costs what one of trace.h does. (A library that was built with it needs none of this.)
 *
 *   a lock of a wait list     its own address: all that channels, locks, joins and nurseries do under one
 *   a wait that is decided    the record of the waiter; an unpark the same
 *   a task that is spawned    its record
 *   a mutex                   the mutex
 *   a fork, and its end       its record
 *
 * The sites are where the code has the release and the acquire that do the work. While it is on, channels are always
 * frozen (chan.h), so that a value in a ring passes through a lock.
 *
 * Prev: trace/trace.h  Next: trace/edges.c */
#ifndef CC__TRACE_EDGES_H
#define CC__TRACE_EDGES_H

#include "trace.h"

/* Whether anybody is to be told of a wake-up, in any way. */
#define CC__TELL_WAKES (CC__EDGES | CC__TRACE_UNPARK | CC__LOG_WAKE)

/* Before what lets another thread go on, and after what this one waited for. */
#define CC__EDGE_RELEASE(at)                                                                                           \
    do {                                                                                                               \
        if (CC__TRACING(CC__EDGES)) cc__edge_release(at);                                                              \
    } while (0)
#define CC__EDGE_ACQUIRE(at)                                                                                           \
    do {                                                                                                               \
        if (CC__TRACING(CC__EDGES)) cc__edge_acquire(at);                                                              \
    } while (0)

CC__COLD void cc__edge_release(void *at);
CC__COLD void cc__edge_acquire(void *at);

#endif /* CC__TRACE_EDGES_H */
