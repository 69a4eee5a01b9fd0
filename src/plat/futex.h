/* SPDX-License-Identifier: MIT */
/* Sleep on a 32-bit word of this process until it is woken: the kernel's futex. */
#ifndef CC__PLAT_FUTEX_H
#define CC__PLAT_FUTEX_H

#include <stdint.h>

#define CC__NO_DEADLINE INT64_MAX

/* Sleep while *word is `expect`, until a wake or the deadline (an instant of cc__now_ns();
 * CC__NO_DEADLINE for none; one that has passed returns at once).
 *   Returns    0 woken, or for no reason (look at the word again); -EAGAIN the word was not `expect`;
 *              -ETIMEDOUT */
int cc__futex_wait(_Atomic uint32_t *word, uint32_t expect, int64_t deadline_ns);

/* Wake up to n sleepers of this word; n < 0 wakes all. Returns how many. Never dereferences `word`, so
 * it may be gone by then. Async-signal-safe. */
int cc__futex_wake(_Atomic uint32_t *word, int n);

#endif /* CC__PLAT_FUTEX_H */
