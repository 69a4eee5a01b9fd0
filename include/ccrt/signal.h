/* SPDX-License-Identifier: MIT */
/* Signals, waited for like anything else.
 *
 *     cc_autoclose int stop = cc_signals(SIGINT, SIGTERM);
 *     int signo = cc_signal_next(stop);                        waits
 *     cc_select(CC_RECV(c, &x), CC_READABLE(stop))             the same beside other things
 *
 *     CC_NURSERY(n) {
 *         cc_nursery_cancel_on(n, SIGINT, SIGTERM);            the first of them cancels the nursery
 *         ...
 *     }
 *
 * Whoever listens gets every signal that comes; the same one twice in a row, when nobody has read in between, may come
 * as one. When nobody listens for a signal any more it has its default effect. Signals reach threads that do not have
 * them blocked; the library's own all have. */
#ifndef CCRT_SIGNAL_H
#define CCRT_SIGNAL_H

#include <stddef.h>

#include "defs.h"
#include "scope.h"

CC_BEGIN_DECLS

/* Listen for some signals, until the descriptor is closed by cc_close().
 *   Returns    a descriptor; -EINVAL none, or one that cannot be caught; -EBUSY the program has a handler of its own;
 *              -EMFILE; -ENOSPC more than 64 listen
 *   Call from  fiber or thread           Blocks: never */
CC_API int cc_signal_open(const int *signals, size_t count);

/* Wait for the next signal. (A plain read of the descriptor would leave those behind for which there was no room.)
 *   Returns    its number; errors as cc_read() */
CC_API int cc_signal_next(int fd);

/* Cancel a nursery, as cc_nursery_cancel(), when the first of some signals comes; nothing more when the nursery is
 * over.
 *   Returns    0; errors as cc_signal_open(), and -ENOMEM
 *   Call from  the nursery's owner */
CC_API int cc_nursery_cancel_on_signals(cc_nursery *n, const int *signals, size_t count);

CC_END_DECLS

#ifndef __cplusplus
#define CC_PRIV_SIGNALS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)
#define cc_signals(...) cc_signal_open(CC_PRIV_SIGNALS(__VA_ARGS__))
#define cc_nursery_cancel_on(n, ...) cc_nursery_cancel_on_signals(n, CC_PRIV_SIGNALS(__VA_ARGS__))
#else
namespace ccrt {
namespace priv {
template <class... S> int signals(S... s) {
    const int list[] = {s...};
    return cc_signal_open(list, sizeof...(s));
}
template <class... S> int cancel_on(cc_nursery *n, S... s) {
    const int list[] = {s...};
    return cc_nursery_cancel_on_signals(n, list, sizeof...(s));
}
} /* namespace priv */
} /* namespace ccrt */
#define cc_signals(...) (ccrt::priv::signals(__VA_ARGS__))
#define cc_nursery_cancel_on(n, ...) (ccrt::priv::cancel_on(n, __VA_ARGS__))
#endif

#endif /* CCRT_SIGNAL_H */
