/* SPDX-License-Identifier: MIT */
/* What a report says of one task: a copy of what can be known of it while it goes on.
 *
 * Prev: runtime/shutdown.c  Next: runtime/report.c */
#ifndef CC__RUNTIME_REPORT_H
#define CC__RUNTIME_REPORT_H

#include "../base/text.h"
#include "../sched/sched.h"

enum cc__doing { CC__RUNS, CC__WAITS, CC__READY, CC__THREAD_WAITS, CC__DOINGS };

enum { CC__REPORT_FRAMES = 32 };

struct cc__report {
    enum cc__doing doing;
    uint32_t serial;
    unsigned worker;       /* that runs it, from 1 */
    int64_t since_ns;      /* about when that began; 0: not known */
    const void *runtime;   /* whose it is, for comparing only; NULL: a plain thread */
    char runtime_name[16]; /* unless it is the usual one */
    uintptr_t function;    /* its own */
    char name[48];         /* given, or its function's as the spawn had it; or empty */
    const void *site;      /* of its spawn, for comparing only */
    char file[96];         /* the same for reading; or empty */
    int line;
    char reason[24];        /* what it waits for; or empty */
    uintptr_t object;       /* on what */
    uint32_t object_serial; /* if that is a task: its number and name */
    char object_name[48];   /* of the task, or the channel */
    struct {
        bool is;         /* what it waits on is a channel, or several: a select */
        bool looked;     /* at the channel: the rest is known */
        bool closed;     /* of it */
        int notified;    /* CC_CHAN_NOTIFY_*: why the wait is over */
        size_t len, cap; /* of it; cap SIZE_MAX: unbounded */
    } chan;
    unsigned depth;
    uintptr_t pc[CC__REPORT_FRAMES]; /* where it waits */
};

/* Before the first of several: what the workers run is looked up anew. All this is for one thread at a time. */
void cc__report_begin(void);
/* Copy what there is to say of a record. False: there is no task, or a thread that does not wait. stack: its places,
 * too. */
bool cc__report_take(struct cc__task *t, bool stack, struct cc__report *out);

/* How a report is written, in pieces. */
void cc__report_name(struct cc__text *text, const struct cc__report *r);                 /* ` "parse"` */
void cc__report_wait(struct cc__text *text, const struct cc__report *r, bool object);    /* ` (join of task 7)` */
void cc__report_age(struct cc__text *text, int64_t least_ns, int64_t most_ns);           /* ` for about 3 s` */
void cc__report_site(struct cc__text *text, const struct cc__report *r);                 /* `, spawned at a.c:7` */
void cc__report_line(struct cc__text *text, const struct cc__report *r, int64_t now_ns); /* all of them, no end */

/* All tasks of a runtime that did not end, a line each, to stderr; in dump.c. */
void cc__dump_left(const struct cc__runtime *rt, uint64_t live);
/* One task, with a word before and after, and where it is; to stderr; in dump.c. */
void cc__dump_one(struct cc__task *t, const char *before, const char *after, const uintptr_t *pcs, size_t depth);
/* As cc_dump(), to a descriptor; apart: each task by itself; in dump.c. */
void cc__dump_to(int fd, bool apart);

#endif /* CC__RUNTIME_REPORT_H */
