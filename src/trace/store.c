/* SPDX-License-Identifier: MIT */
/* Where records are kept until they are written: a log a worker, one for all plain threads, chunks behind each other.
 *
 * The owner of a log fills its last chunk without a lock; for the next one, every two thousand records, it takes the
 * store's. Who writes the trace looks at the counts twice: [TR1] the records below them are complete; and whatever
 * runs in one log up to its first count was spawned in another up to its second, since the spawn was recorded before.
 *
 * When there is no room for one record, those that others have room for are not written either from that instant on:
 * what ran then may have been spawned in what was lost.
 *
 * When no runtime is left, what there is is written and forgotten, so that a process that starts many has room for each
 * and a file that is complete whenever none runs.
 *
 * Prev: trace/edges.c  Next: trace/out.c */
#include "store.h"

#include "../base/text.h"
#include "../plat/thread.h"
#include "../plat/vm.h"
#include "out.h"

#include <ccrt/error.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS_MAX = 64 * 1024 * 1024 / CC__TRACE_CHUNK_BYTES, NAME_EVENTS = 4 };

struct cc__trace_mask cc__trace_mask;
uint64_t cc__trace_origin;

static struct {
    cc__lock lock;
    unsigned chunks;            /* that there are; guarded by lock, as all here */
    struct cc__trace_log *logs; /* of workers, the newest first */
    uint64_t lost;              /* by those that are no more, or later than full_at */
    uint64_t full_at;           /* when the first was lost, in cycles; UINT64_MAX: none was */
    const char *path;
    int64_t origin_ns;
    struct cc__trace_file *file;
} store = {.lock = CC__LOCK_INIT, .full_at = UINT64_MAX};

/* Of plain threads: all but its chunks and its count is guarded by its own lock, which goes before the store's. */
static struct cc__trace_log threads;
static cc__lock threads_lock = CC__LOCK_INIT;

void cc__trace_turn_on(uint32_t kinds) {
    cc__or_relaxed(&cc__trace_mask.bits, kinds);
}

void cc__trace_turn_off(void) {
    cc__and_relaxed(&cc__trace_mask.bits, ~(uint32_t)CC__TRACE_ALL);
}

/* ---- records ---- */

struct cc__event *cc__trace_more(struct cc__trace_log *log) {
    void *at;
    if (log->full) {
        cc__store_relaxed(&log->lost, cc__load_relaxed(&log->lost) + 1);
        return NULL;
    }
    cc__lock_take(&store.lock);
    bool room = store.file != NULL && store.chunks < CHUNKS_MAX && cc__vm_map(&at, CC__TRACE_CHUNK_BYTES) == 0;
    if (room) {
        struct cc__trace_chunk *chunk = at;
        cc__vm_commit(at, CC__TRACE_CHUNK_BYTES, CC__TRACE_CHUNK_BYTES, 1);
        store.chunks++;
        chunk->next = NULL;
        if (log->last != NULL)
            log->last->next = chunk;
        else
            log->first = chunk;
        log->last = chunk;
        log->at = chunk->event;
        log->end = chunk->event + CC__TRACE_CHUNK_EVENTS;
    } else if (store.full_at == UINT64_MAX) {
        store.full_at = cc__cycles() - cc__trace_origin;
    }
    cc__lock_drop(&store.lock);
    log->full = !room;
    return room ? log->at : cc__trace_more(log);
}

void cc__trace_put_thread(enum cc__event_kind kind, uint32_t task, uint32_t other, uintptr_t a, uintptr_t b) {
    if (other == 0) other = (uint32_t)cc__thread_id();
    cc__lock_take(&threads_lock);
    cc__trace_put(&threads, kind, task, other, a, b);
    cc__lock_drop(&threads_lock);
}

void cc__trace_put_name(struct cc__trace_log *log, uint32_t task, uint32_t runtime, const char *name) {
    size_t left = strlen(name);
    for (int i = 0; i < NAME_EVENTS && left > 0; i++) {
        uintptr_t part[2] = {0};
        size_t n = left < sizeof part ? left : sizeof part;
        memcpy(part, name, n);
        if (log != NULL)
            cc__trace_put(log, CC__EVENT_NAME, task, runtime, part[0], part[1]);
        else
            cc__trace_put_thread(CC__EVENT_NAME, task, runtime, part[0], part[1]);
        name += n;
        left -= n;
    }
}

/* ---- logs ---- */

struct cc__trace_log *cc__trace_open(uint32_t runtime, uint32_t worker, const char *name) {
    if (!CC__TRACING(CC__TRACE_ALL)) return NULL;
    struct cc__trace_log *log = calloc(1, sizeof *log);
    if (log == NULL) return NULL;
    log->runtime = runtime;
    log->worker = worker;
    strncpy(log->name, name, sizeof log->name - 1);
    cc__lock_take(&store.lock);
    log->next = store.logs;
    store.logs = log;
    cc__lock_drop(&store.lock);
    return log;
}

void cc__trace_close(struct cc__trace_log *log) {
    if (log == NULL) return;
    cc__lock_take(&store.lock);
    log->over = true;
    cc__lock_drop(&store.lock);
}

/* With the lock: its records are no longer needed. */
static void forget(struct cc__trace_log *log) {
    store.lost += cc__load_relaxed(&log->lost);
    while (log->first != NULL) {
        struct cc__trace_chunk *chunk = log->first;
        log->first = chunk->next;
        cc__vm_unmap(chunk, CC__TRACE_CHUNK_BYTES);
        store.chunks--;
    }
    log->last = NULL;
    log->at = log->end = NULL;
    log->full = false;
    cc__store_relaxed(&log->count, 0);
    cc__store_relaxed(&log->lost, 0);
}

/* ---- the file ---- */

static void complain(int rc, const char *consequence) {
    char line[512];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: CC_TRACE: cannot write \"");
    cc__text_str(&text, store.path);
    cc__text_str(&text, "\": ");
    cc__text_str(&text, cc_strerror(rc));
    cc__text_str(&text, consequence);
    cc__text_print(&text);
}

static void file_drop(void) {
    cc__trace_turn_off();
    cc__out_close(store.file);
    free(store.file);
    store.file = NULL;
}

void cc__trace_start(const char *path) {
    cc__lock_take(&store.lock);
    store.path = path;
    store.file = calloc(1, sizeof *store.file);
    int rc = store.file == NULL ? -ENOMEM : cc__out_open(store.file, path);
    if (rc != 0) {
        complain(rc, "; there will be no trace\n");
        if (store.file != NULL) file_drop();
    } else {
        store.origin_ns = cc__now_ns();
        cc__trace_origin = cc__cycles();
        cc__trace_turn_on(CC__TRACE_ALL);
    }
    cc__lock_drop(&store.lock);
}

/* How long a cycle was, on average since the start: nothing has to be measured before. */
static double ns_per_cycle(void) {
    double ns = (double)(cc__now_ns() - store.origin_ns), cycles = (double)(cc__cycles() - cc__trace_origin);
    return cycles > 0 && ns > 0 ? ns / cycles : 1;
}

/* With the lock: how many events were. */
static uint64_t lost(void) {
    uint64_t n = store.lost + cc__load_relaxed(&threads.lost);
    for (struct cc__trace_log *log = store.logs; log != NULL; log = log->next) n += cc__load_relaxed(&log->lost);
    return n;
}

/* With the lock: look at all logs, and write them. */
static int write_all(void) {
    size_t n = 1, i = 0;
    for (struct cc__trace_log *log = store.logs; log != NULL; log = log->next) n++;
    struct cc__trace_part *part = calloc(n, sizeof *part);
    if (part == NULL) return -ENOMEM;
    part[i++] = (struct cc__trace_part){.log = &threads, .first = threads.first};
    for (struct cc__trace_log *log = store.logs; log != NULL; log = log->next)
        part[i++] = (struct cc__trace_part){.log = log, .first = log->first};
    /* [TR1] acquire: the records below a count may be read. The second look at it is after the first at all others. */
    for (i = 0; i < n; i++) part[i].count = cc__load_acquire(&part[i].log->count);
    for (i = 0; i < n; i++) part[i].more = cc__load_acquire(&part[i].log->count);
    store.file->ns_per_cycle = ns_per_cycle();
    int rc = cc__trace_write(store.file, part, n, store.full_at, &store.lost);
    if (rc == 0) rc = cc__out_flush(store.file, lost());
    free(part);
    return rc;
}

static void write_or_complain(void) {
    int rc = write_all();
    if (rc == 0) return;
    complain(rc, "; the trace is incomplete\n");
    file_drop();
}

static void say_what_was_lost(void) {
    if (lost() == 0) return;
    char line[160];
    struct cc__text text = cc__text_on(line, sizeof line);
    cc__text_str(&text, "ccrt: CC_TRACE: ");
    cc__text_dec(&text, lost());
    cc__text_str(&text, " events lost: there is room for ");
    cc__text_dec(&text, (uint64_t)CHUNKS_MAX * CC__TRACE_CHUNK_EVENTS);
    cc__text_str(&text, "\n");
    cc__text_print(&text);
}

void cc__trace_flush(void) {
    cc__lock_take(&threads_lock);
    cc__lock_take(&store.lock);
    if (store.file != NULL && store.file->seeks) {
        write_or_complain();
        for (struct cc__trace_log *log; (log = store.logs) != NULL && log->over;) {
            store.logs = log->next;
            forget(log);
            free(log);
        }
        forget(&threads);
        store.full_at = UINT64_MAX;
    }
    cc__lock_drop(&store.lock);
    cc__lock_drop(&threads_lock);
}

void cc__trace_end(void) {
    cc__trace_turn_off();
    cc__lock_take(&threads_lock);
    cc__lock_take(&store.lock);
    if (store.file != NULL) {
        write_or_complain();
        say_what_was_lost();
        if (store.file != NULL) file_drop();
    }
    cc__lock_drop(&store.lock);
    cc__lock_drop(&threads_lock);
}

void cc__trace_forget(void) {
    cc__store_relaxed(&cc__trace_mask.bits, 0);
    store.file = NULL; /* the lock may be somebody's who is not here */
}
