/* SPDX-License-Identifier: MIT */
/* What others may ask of the threads for blocking calls.
 *
 * Prev: runtime/quit.c  Next: runtime/blocking.c */
#ifndef CC__RUNTIME_BLOCKING_H
#define CC__RUNTIME_BLOCKING_H

/* Calls that have not returned; those who wait for them will be woken. */
unsigned cc__blocking_pending(void);

#endif /* CC__RUNTIME_BLOCKING_H */
