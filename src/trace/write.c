/* SPDX-License-Identifier: MIT */
/* From records to a trace: the logs are merged by time, and what is known of each task that lives at that time is kept
 * in a table: its name and where it was spawned, and who made it runnable last.
 *
 *   process      a runtime, and one for all plain threads
 *   thread       a worker, or a plain thread
 *   span         a task runs, until it waits, yields or ends
 *   arrow        from the spawn to the first run, from the unpark to the run it caused
 *   instant      a steal; workers that come and go
 *
 * Cycle counters of two cpus may differ a little, and a counter is not read in order with the memory accesses around
 * it: a task may seem to run before it was spawned. A log whose next record says so waits for the spawn, and time in a
 * log never goes back.
 *
 * There may be hundreds of logs. Those whose next record may be written are in a heap, by its time; those that wait are
 * in another, and come back when the task they wait for is spawned. When nothing else is left, what they wait for was
 * lost, and the earliest of them goes on without it.
 *
 * Prev: trace/out.c  Next: trace/log.h */
#include <ccrt/task.h>

#include "out.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, THREADS_NAMED = 64 };
enum cause { NONE, BY_SPAWN, BY_UNPARK };

/* A task that was spawned and has not ended. */
struct entry {
    uint64_t id; /* runtime << 32 | number; 0: a free place */
    const cc_site *site;
    uintptr_t fn;
    enum cause cause; /* why it is runnable: where an arrow begins, if it is not NONE */
    uint64_t cause_ns, pid, tid;
    bool spawned; /* or only its name is known yet */
    char *name;   /* or NULL */
};

/* One log, as far as it was read. */
struct source {
    const struct cc__trace_log *log;
    const struct cc__trace_chunk *chunk;
    uint64_t at, count, more;
    uint64_t ns;      /* of the last record */
    uint64_t running; /* a task's id, or 0 */
    uint64_t since_ns;
    uint64_t next;  /* when its next record was made, in cycles */
    uint64_t wants; /* if it waits: the task that another has yet to spawn */
};

/* Sources, the one with the earliest next record first; of two with the same, the one that was given first. */
struct heap {
    struct source **at;
    size_t count;
};

struct writer {
    struct cc__trace_file *out;
    struct source *source;
    size_t sources;
    struct heap ready, waiting;
    uint64_t until;      /* in cycles: what comes later does not count */
    struct entry *table; /* a power of two of them, at most half full */
    size_t places, used;
    uint32_t thread[THREADS_NAMED]; /* plain threads that have been named */
    size_t threads;
    int rc;
};

/* ---- the table of tasks: open addresses, the next place if one is taken ---- */

static size_t place_of(const struct writer *w, uint64_t id) {
    return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (w->places - 1);
}

static struct entry *find(struct writer *w, uint64_t id) {
    for (size_t i = place_of(w, id); w->table[i].id != 0; i = (i + 1) & (w->places - 1))
        if (w->table[i].id == id) return &w->table[i];
    return NULL;
}

static bool table_grow(struct writer *w, size_t places) {
    struct entry *old = w->table, *table = calloc(places, sizeof *table);
    size_t n = w->places;
    if (table == NULL) return false;
    w->table = table;
    w->places = places;
    for (size_t i = 0; i < n; i++) {
        if (old[i].id == 0) continue;
        size_t to = place_of(w, old[i].id);
        while (table[to].id != 0) to = (to + 1) & (places - 1);
        table[to] = old[i];
    }
    free(old);
    return true;
}

/* The entry of a task, a new one if need be. NULL: no memory. */
static struct entry *find_or_add(struct writer *w, uint64_t id) {
    struct entry *e = find(w, id);
    if (e != NULL) return e;
    if (2 * (w->used + 1) > w->places && !table_grow(w, 2 * w->places)) {
        w->rc = -ENOMEM;
        return NULL;
    }
    size_t i = place_of(w, id);
    while (w->table[i].id != 0) i = (i + 1) & (w->places - 1);
    w->used++;
    w->table[i] = (struct entry){.id = id};
    return &w->table[i];
}

static void drop(struct writer *w, struct entry *e) {
    free(e->name);
    w->used--;
    size_t hole = (size_t)(e - w->table);
    /* What follows moves up, if its own place is not after the hole. */
    for (size_t i = (hole + 1) & (w->places - 1); w->table[i].id != 0; i = (i + 1) & (w->places - 1)) {
        size_t from_home = (i - place_of(w, w->table[i].id)) & (w->places - 1);
        if (from_home < ((i - hole) & (w->places - 1))) continue;
        w->table[hole] = w->table[i];
        hole = i;
    }
    w->table[hole] = (struct entry){0};
}

/* ---- what is written ---- */

static uint64_t pid_of(uint64_t runtime) {
    return runtime + 1; /* plain threads are 1 */
}

static bool of_worker(const struct source *s) {
    return s->log->runtime != 0;
}

static uint64_t tid_of(const struct source *s, const struct cc__event *e) {
    return of_worker(s) ? s->log->worker + 1 : e->other;
}

static void write_name(struct writer *w, const char *what, uint64_t pid, uint64_t tid, const char *name, uint64_t n) {
    char text[64], digits[24];
    snprintf(digits, sizeof digits, " %llu", (unsigned long long)n);
    snprintf(text, sizeof text, "%.30s%s", name, n == UINT64_MAX ? "" : digits);
    cc__out_begin(w->out, 'M', pid, tid);
    cc__out_text(w->out, "name", what);
    cc__out_args(w->out);
    cc__out_text(w->out, "name", text);
    cc__out_end(w->out, true);
}

static void write_names(struct writer *w, const struct cc__trace_log *log) {
    uint64_t pid = pid_of(log->runtime);
    if (log->runtime == 0) {
        write_name(w, "process_name", pid, 0, "threads", UINT64_MAX);
    } else {
        if (log->worker == 0) write_name(w, "process_name", pid, 0, log->name, log->runtime);
        write_name(w, "thread_name", pid, log->worker + 1, "worker", log->worker);
    }
}

static void write_label(struct writer *w, const struct entry *e, uint64_t id) {
    char text[32];
    snprintf(text, sizeof text, "task %u", (unsigned)(uint32_t)id);
    const char *label = e == NULL ? NULL : e->name != NULL ? e->name : e->site != NULL ? e->site->what : NULL;
    cc__out_text(w->out, "name", label != NULL ? label : text);
}

/* The running task of a source ran until now, and left for this reason. */
static void write_span(struct writer *w, const struct source *s, const char *left, const void *object) {
    struct entry *e = find(w, s->running);
    cc__out_begin(w->out, 'X', pid_of(s->log->runtime), s->log->worker + 1);
    cc__out_time(w->out, "ts", s->since_ns);
    cc__out_time(w->out, "dur", s->ns - s->since_ns);
    write_label(w, e, s->running);
    cc__out_args(w->out);
    cc__out_number(w->out, "task", (uint32_t)s->running);
    if (e != NULL && e->site != NULL) cc__out_place(w->out, "spawned", e->site->file, e->site->line);
    if (e != NULL && e->site == NULL) cc__out_address(w->out, "function", e->fn);
    cc__out_text(w->out, "left", left);
    if (object != NULL) cc__out_address(w->out, "object", (uintptr_t)object);
    cc__out_end(w->out, true);
}

/* An arrow to the span that begins now. */
static void write_arrow(struct writer *w, const struct source *s, const struct entry *e) {
    const char *name = e->cause == BY_SPAWN ? "spawn" : "unpark";
    w->out->arrows++;
    for (int end = 0; end < 2; end++) {
        if (end == 0)
            cc__out_begin(w->out, 's', e->pid, e->tid);
        else
            cc__out_begin(w->out, 'f', pid_of(s->log->runtime), s->log->worker + 1);
        cc__out_time(w->out, "ts", end == 0 ? e->cause_ns : s->since_ns);
        cc__out_number(w->out, "id", w->out->arrows);
        cc__out_text(w->out, "name", name);
        cc__out_text(w->out, "cat", "wake");
        if (end == 1) cc__out_text(w->out, "bp", "e");
        cc__out_end(w->out, false);
    }
}

/* Something that a thread, or a worker between two tasks, did: a span of no length, since an arrow begins in a span. */
static void write_moment(struct writer *w, const struct source *s, uint64_t tid, const char *name, uint32_t task) {
    size_t i = 0;
    while (i < w->threads && w->thread[i] != tid) i++;
    if (!of_worker(s) && i == w->threads && i < THREADS_NAMED) {
        w->thread[w->threads++] = (uint32_t)tid;
        write_name(w, "thread_name", pid_of(0), tid, "thread", tid);
    }
    cc__out_begin(w->out, 'X', pid_of(s->log->runtime), tid);
    cc__out_time(w->out, "ts", s->ns);
    cc__out_time(w->out, "dur", 0);
    cc__out_text(w->out, "name", name);
    cc__out_args(w->out);
    cc__out_number(w->out, "wakes", task);
    cc__out_end(w->out, true);
}

static void write_instant(struct writer *w, const struct source *s, uint64_t pid, uint64_t tid, const char *name) {
    cc__out_begin(w->out, 'i', pid, tid);
    cc__out_time(w->out, "ts", s->ns);
    cc__out_text(w->out, "s", "t");
    cc__out_text(w->out, "name", name);
    cc__out_args(w->out);
}

/* ---- records ---- */

static void on_switch(struct writer *w, struct source *s, const struct cc__event *e, enum cc__event_kind kind) {
    static const char *const left[] = {[CC__EVENT_RUN] = "?", [CC__EVENT_YIELD] = "yield", [CC__EVENT_END] = "end"};
    if (s->running != 0) {
        const char *why = kind == CC__EVENT_PARK ? (const char *)e->a : left[kind];
        write_span(w, s, why != NULL ? why : "park", kind == CC__EVENT_PARK ? (const void *)e->b : NULL);
        struct entry *over = kind == CC__EVENT_END ? find(w, s->running) : NULL;
        if (over != NULL) drop(w, over);
    }
    s->running = e->other == 0 ? 0 : (uint64_t)s->log->runtime << 32 | e->other;
    s->since_ns = s->ns;
    struct entry *next = s->running == 0 ? NULL : find(w, s->running);
    if (next == NULL || next->cause == NONE) return;
    if (next->cause_ns <= s->ns) write_arrow(w, s, next);
    next->cause = NONE;
}

static struct entry *made_runnable(struct writer *w, struct source *s, const struct cc__event *e, enum cause cause) {
    uint64_t id = (uint64_t)e->b << 32 | e->task;
    struct entry *t = cause == BY_SPAWN ? find_or_add(w, id) : find(w, id);
    if (t == NULL) return NULL; /* no memory; or unparked when it had ended */
    t->spawned |= cause == BY_SPAWN;
    t->cause = cause;
    t->cause_ns = s->ns;
    t->pid = pid_of(s->log->runtime);
    t->tid = tid_of(s, e);
    if (s->running == 0) write_moment(w, s, t->tid, cause == BY_SPAWN ? "spawn" : e->a ? "timer" : "unpark", e->task);
    return t;
}

static void on_name(struct writer *w, const struct cc__event *e) {
    struct entry *t = find_or_add(w, (uint64_t)e->other << 32 | e->task);
    const uintptr_t part[2] = {e->a, e->b};
    if (t == NULL) return;
    if (t->name == NULL) t->name = calloc(1, NAME_BYTES + 1);
    if (t->name == NULL) return;
    size_t at = strlen(t->name);
    if (at + sizeof part <= NAME_BYTES) memcpy(t->name + at, part, sizeof part);
}

static void on_workers(struct writer *w, struct source *s, const struct cc__event *e, const char *name) {
    write_instant(w, s, pid_of(e->b), e->task + 1, name);
    cc__out_number(w->out, "workers", e->other);
    if (e->a != 0) cc__out_text(w->out, "why", (const char *)e->a);
    cc__out_end(w->out, true);
}

static void on_event(struct writer *w, struct source *s, const struct cc__event *e) {
    enum cc__event_kind kind = (enum cc__event_kind)(e->when & 255);
    struct entry *t;
    switch (kind) {
    case CC__EVENT_RUN:
    case CC__EVENT_PARK:
    case CC__EVENT_YIELD:
    case CC__EVENT_END: on_switch(w, s, e, kind); break;
    case CC__EVENT_SPAWN:
        if ((t = made_runnable(w, s, e, BY_SPAWN)) != NULL) t->site = (const cc_site *)e->a;
        break;
    case CC__EVENT_SPAWN_FN:
        if ((t = made_runnable(w, s, e, BY_SPAWN)) != NULL) t->fn = e->a;
        break;
    case CC__EVENT_NAME: on_name(w, e); break;
    case CC__EVENT_UNPARK: made_runnable(w, s, e, BY_UNPARK); break;
    case CC__EVENT_STEAL:
        write_instant(w, s, pid_of(s->log->runtime), tid_of(s, e), "steal");
        cc__out_number(w->out, "tasks", e->task);
        cc__out_number(w->out, "from worker", e->other);
        cc__out_end(w->out, true);
        break;
    case CC__EVENT_GROW: on_workers(w, s, e, "worker started"); break;
    case CC__EVENT_RETIRE: on_workers(w, s, e, "worker ended"); break;
    }
}

/* ---- heaps of sources ---- */

static bool before(const struct source *a, const struct source *b) {
    return a->next != b->next ? a->next < b->next : a < b;
}

static void heap_swap(struct heap *h, size_t i, size_t j) {
    struct source *s = h->at[i];
    h->at[i] = h->at[j];
    h->at[j] = s;
}

/* The one at i has changed: to where it belongs. */
static void heap_mend(struct heap *h, size_t i) {
    for (; i > 0 && before(h->at[i], h->at[(i - 1) / 2]); i = (i - 1) / 2) heap_swap(h, i, (i - 1) / 2);
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(h->at[child + 1], h->at[child])) child++;
        if (!before(h->at[child], h->at[i])) return;
        heap_swap(h, i, child);
    }
}

static void heap_add(struct heap *h, struct source *s) {
    h->at[h->count++] = s;
    heap_mend(h, h->count - 1);
}

static void heap_remove(struct heap *h, size_t i) {
    h->at[i] = h->at[--h->count];
    if (i < h->count) heap_mend(h, i);
}

/* ---- merging ---- */

static const struct cc__event *next_of(const struct source *s) {
    return &s->chunk->event[s->at % CC__TRACE_CHUNK_EVENTS];
}

/* Whether a source has a next record that counts. */
static bool has_next(const struct writer *w, struct source *s) {
    if (s->at == s->more) return false;
    s->next = next_of(s)->when >> 8;
    return s->next <= w->until;
}

static void advance(struct source *s) {
    if (++s->at % CC__TRACE_CHUNK_EVENTS == 0 && s->at < s->more) s->chunk = s->chunk->next;
}

/* The task that the next record of a source runs, if it is not known yet; else 0. */
static uint64_t runs_unspawned(struct writer *w, const struct source *s) {
    const struct cc__event *e = next_of(s);
    bool runs = (e->when & 255) <= CC__EVENT_END && e->other != 0 && s->at < s->count;
    if (!runs) return 0;
    uint64_t id = (uint64_t)s->log->runtime << 32 | e->other;
    const struct entry *t = find(w, id);
    return t == NULL || !t->spawned ? id : 0;
}

/* A task was spawned: those that wait for it need not. */
static void wait_no_more(struct writer *w, uint64_t id) {
    for (size_t i = 0; i < w->waiting.count;) {
        struct source *s = w->waiting.at[i];
        if (s->wants != id) {
            i++;
            continue;
        }
        heap_remove(&w->waiting, i);
        heap_add(&w->ready, s);
        i = 0; /* the order is another now */
    }
}

/* Take the next record of a source. */
static void take(struct writer *w, struct source *s) {
    const struct cc__event *e = next_of(s);
    enum cc__event_kind kind = (enum cc__event_kind)(e->when & 255);
    uint64_t ns = (uint64_t)((double)s->next * w->out->ns_per_cycle);
    const struct entry *t = kind <= CC__EVENT_END ? find(w, (uint64_t)s->log->runtime << 32 | e->other) : NULL;
    if (t != NULL && t->cause == BY_SPAWN && t->cause_ns > ns) ns = t->cause_ns;
    if (ns > s->ns) s->ns = ns;
    bool spawn = kind == CC__EVENT_SPAWN || kind == CC__EVENT_SPAWN_FN;
    if (s->at < s->count || spawn || kind == CC__EVENT_NAME) on_event(w, s, e);
    if (spawn) wait_no_more(w, (uint64_t)e->b << 32 | e->task);
    advance(s);
}

static void merge(struct writer *w) {
    for (size_t i = 0; i < w->sources; i++)
        if (has_next(w, &w->source[i])) heap_add(&w->ready, &w->source[i]);
    while (w->rc == 0 && w->ready.count + w->waiting.count > 0) {
        bool forced = w->ready.count == 0; /* what the others wait for was lost */
        struct heap *from = forced ? &w->waiting : &w->ready;
        struct source *s = from->at[0];
        s->wants = forced ? 0 : runs_unspawned(w, s);
        heap_remove(from, 0);
        if (s->wants != 0) {
            heap_add(&w->waiting, s);
            continue;
        }
        take(w, s);
        if (has_next(w, s)) heap_add(&w->ready, s);
    }
}

int cc__trace_write(struct cc__trace_file *out, const struct cc__trace_part *part, size_t parts, uint64_t until,
                    uint64_t *late) {
    struct writer w = {.out = out, .until = until};
    uint64_t end_ns = 0;
    w.source = calloc(parts, sizeof *w.source);
    w.ready.at = calloc(2 * parts, sizeof(struct source *));
    if (w.source == NULL || w.ready.at == NULL || !table_grow(&w, 1024)) {
        free(w.ready.at);
        free(w.source);
        return -ENOMEM;
    }
    w.waiting.at = w.ready.at + parts;
    for (size_t i = 0; i < parts; i++) {
        const struct cc__trace_part *p = &part[i];
        write_names(&w, p->log);
        if (p->more == 0) continue;
        w.source[w.sources++] = (struct source){.log = p->log, .chunk = p->first, .count = p->count, .more = p->more};
    }
    merge(&w);
    for (size_t i = 0; i < w.sources; i++)
        if (w.source[i].ns > end_ns) end_ns = w.source[i].ns;
    for (size_t i = 0; i < w.sources; i++) {
        w.source[i].ns = end_ns;
        *late += w.source[i].more - w.source[i].at;
        if (w.source[i].running != 0) write_span(&w, &w.source[i], "the trace ends", NULL);
    }
    for (size_t i = 0; i < w.places; i++) free(w.table[i].name);
    free(w.table);
    free(w.ready.at);
    free(w.source);
    return w.rc != 0 ? w.rc : out->rc;
}
