/* SPDX-License-Identifier: MIT */
/* Signals that the program leaves to us. */
#ifndef CC__PLAT_SIGNAL_H
#define CC__PLAT_SIGNAL_H

#include <stdbool.h>

/* Have fn called in a handler when the signal comes; fn is async-signal-safe. Only where it is at its default: a
 * program's own handler, or its wish to ignore it, is left alone. In the child of a fork() the signal has its default
 * meaning.
 *   Returns    0; -EBUSY it is not at its default; -EINVAL it cannot be handled */
int cc__signal_take(int signo, void (*fn)(void));

/* Whether the program has a handler of its own for some signal, other than for faults. */
bool cc__signal_caught(void);

#endif /* CC__PLAT_SIGNAL_H */
