/* SPDX-License-Identifier: MIT */
/* ccrt: plain blocking code, run as millions of fibers over a few threads.
 *
 * This header only includes the others, one noun each. See docs/ARCHITECTURE.md for the map. */
#ifndef CCRT_H
#define CCRT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ccrt/async.h"
#include "ccrt/barrier.h"
#include "ccrt/blocking.h"
#include "ccrt/broadcast.h"
#include "ccrt/chan.h"
#include "ccrt/combine.h"
#include "ccrt/cond.h"
#include "ccrt/debug.h"
#include "ccrt/defs.h"
#include "ccrt/error.h"
#include "ccrt/external.h"
#include "ccrt/fork.h"
#include "ccrt/future.h"
#include "ccrt/job.h"
#include "ccrt/file.h"
#include "ccrt/io.h"
#include "ccrt/lambda.h"
#include "ccrt/local.h"
#include "ccrt/main.h"
#include "ccrt/mutex.h"
#include "ccrt/net.h"
#include "ccrt/notify.h"
#include "ccrt/once.h"
#include "ccrt/oneshot.h"
#include "ccrt/ordered.h"
#include "ccrt/parallel.h"
#include "ccrt/park.h"
#include "ccrt/process.h"
#include "ccrt/reader.h"
#include "ccrt/runtime.h"
#include "ccrt/rwlock.h"
#include "ccrt/sched.h"
#include "ccrt/scope.h"
#include "ccrt/select.h"
#include "ccrt/sem.h"
#include "ccrt/signal.h"
#include "ccrt/task.h"
#include "ccrt/time.h"
#include "ccrt/version.h"
#include "ccrt/waitgroup.h"
#include "ccrt/watch.h"

#endif /* CCRT_H */
