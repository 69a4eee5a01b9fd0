/* SPDX-License-Identifier: MIT */
/* Signals that arrive at a descriptor, one byte each. */
#ifndef CC__PLAT_SIGFD_H
#define CC__PLAT_SIGFD_H

#include <stddef.h>

/* From now on each of these signals is a byte, its number, to be read from the descriptor; until that is closed by its
 * owner. A signal that nobody listens for any more has its default effect again.
 *   Returns    a descriptor that does not block and is not inherited; -EINVAL no such signal, or none that can be
 *              caught; -EBUSY the program has a handler of its own; -EMFILE and others; -ENOSPC too many listen */
int cc__sigfd_open(const int *signals, size_t count);
/* One was read from some such descriptor: those for which there was no room are sent. */
void cc__sigfd_received(void);

#endif /* CC__PLAT_SIGFD_H */
