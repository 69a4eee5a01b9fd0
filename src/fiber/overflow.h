/* SPDX-License-Identifier: MIT */
/* Stack overflow: say which fiber, then abort. */
#ifndef CC__FIBER_OVERFLOW_H
#define CC__FIBER_OVERFLOW_H

/* Look at memory faults from now on. Repeating it is harmless.
 *   Returns    0; -EINVAL */
int cc__overflow_install(void);

#endif /* CC__FIBER_OVERFLOW_H */
