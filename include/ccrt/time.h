/* SPDX-License-Identifier: MIT */
/* Time: the monotonic clock, and sleeping by it. */
#ifndef CCRT_TIME_H
#define CCRT_TIME_H

#include <stdint.h>

#include "defs.h"

CC_BEGIN_DECLS

/* The monotonic clock, in nanoseconds. */
CC_API int64_t cc_now_ns(void);

/* Sleep for so many milliseconds (none or negative: let others run), or until an instant of cc_now_ns().
 *   Returns    0; -ENOMEM
 *   Call from  fiber or thread           Blocks: the caller only */
CC_API int cc_sleep_ms(int64_t ms);
CC_API int cc_sleep_until_ns(int64_t when_ns);

CC_END_DECLS

#endif /* CCRT_TIME_H */
