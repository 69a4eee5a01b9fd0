/* SPDX-License-Identifier: MIT */
/* What the scheduler tells of itself: the records and log lines of its sites (trace/trace.h). A site asks
 * CC__TRACING() first; what it calls then is out of its way.
 *
 * Prev: sched/choice.h  Next: sched/events.c */
#ifndef CC__SCHED_EVENTS_H
#define CC__SCHED_EVENTS_H

#include "../trace/edges.h"
#include "../trace/log.h"
#include "../trace/trace.h"
#include "sched.h"

/* A task is about to be queued for the first time. */
CC__COLD void cc__event_spawn(struct cc__task *t);
/* A worker's current task is another than before: called on the new stack, before what was left is carried out. */
CC__COLD void cc__event_switch(struct cc__worker *w);
/* A task was made runnable and is about to be queued; by a timer, or by who runs here. */
CC__COLD void cc__event_unpark(const struct cc__task *t, bool by_timer);
/* What became of an unpark, before that is carried out. */
CC__COLD void cc__event_unparked(const struct cc__task *t, enum cc__unparked how);
CC__COLD void cc__event_steal(struct cc__worker *w, const struct cc__worker *victim);

/* A temporary worker was started, or ended; `why` is static. */
CC__COLD void cc__event_grow(const struct cc__worker *w, const char *why);
CC__COLD void cc__event_retire(const struct cc__worker *w, const char *why);

/* Log lines only. The tasks must not end meanwhile. */
CC__COLD void cc__event_rouse(const struct cc__worker *w);
CC__COLD void cc__event_join(const struct cc__task *joiner, const struct cc__task *t, bool waits);
CC__COLD void cc__event_joined(const struct cc__task *t, const struct cc__task *joiner);
CC__COLD void cc__event_inbox_push(const void *box, const struct cc__task *t);
CC__COLD void cc__event_inbox_take(const void *box, const struct cc__tasks *all);
/* Who runs here does something at an object with a name (or NULL); `how`: what came of it, or NULL. */
CC__COLD void cc__event_chan(const char *does, const void *chan, const char *name, const char *how);
CC__COLD void cc__event_park_if(const struct cc__task *self, const void *flag, int is, int expected);

#endif /* CC__SCHED_EVENTS_H */
