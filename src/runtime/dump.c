/* SPDX-License-Identifier: MIT */
/* cc_dump: all tasks of the process, those that wait alike put together.
 *
 * Tasks are alike if they do the same, for the same reason, at the same places, were spawned at the same one, and have
 * the same name: of a thousand connections that wait for their peers there is one line and one stack. How many kinds
 * there can be is bounded, and so are the length of a report and its memory, which is mapped for it and given back:
 * nothing is allocated, since a program that hangs may hang in there.
 *
 * One report at a time. It is written to a descriptor as it is, past the stream's buffer, which is written before; only
 * a stream without a descriptor is written to as such.
 *
 * Prev: runtime/report.c  Next: runtime/quit.c */
#include <ccrt/debug.h>

#include "report.h"

#include "../plat/clock.h"
#include "../plat/module.h"
#include "../plat/vm.h"

#include <string.h>
#include <unistd.h>

enum { GROUPS = 1024, SERIALS = 6, LEFT_MAX = 20, LINE_ROOM = 512 };

struct group {
    struct cc__report first;
    uint64_t hash;
    size_t count;
    uint32_t serial[SERIALS]; /* the lowest few, in order */
    int64_t earliest_ns, latest_ns;
    bool one_object;
};

/* A report in the making. */
struct dump {
    int fd;     /* where to; -1: to the stream */
    FILE *file; /* or NULL */
    bool apart; /* nothing is put together */
    struct cc__text text;
    int64_t now_ns;
    size_t count[CC__DOINGS];
    size_t other; /* that are in no group */
    unsigned group_count;
    struct group *group;       /* GROUPS of them; NULL: no memory */
    uint16_t slot[2 * GROUPS]; /* 1 + the group, by its hash; 0: none */
    uint16_t order[GROUPS];
    struct spot {
        uintptr_t pc;
        struct cc__spot is;
    } spot[256]; /* by pc */
    struct cc__report next;
    char buf[16 * 1024];
};

static cc__lock dump_lock = CC__LOCK_INIT;
static struct dump dump; /* guarded by it */

/* ---- writing ---- */

static void flush(struct dump *d) {
    if (d->fd >= 0)
        cc__text_write(&d->text, d->fd);
    else if (d->file != NULL)
        (void)fwrite(d->text.buf, 1, d->text.len, d->file);
    d->text.len = 0;
}

/* Before a line: there is room for it. */
static struct cc__text *line(struct dump *d) {
    if (d->text.size - d->text.len < LINE_ROOM) flush(d);
    return &d->text;
}

/* Names are looked up in files: those of the places that many stacks go through are kept. */
static const struct cc__spot *spot_at(struct dump *d, uintptr_t pc) {
    struct spot *s = &d->spot[pc % CC__COUNT_OF(d->spot)];
    if (s->pc != pc) cc__spot_of(pc, &s->is);
    s->pc = pc;
    return &s->is;
}

static void write_stack(struct dump *d, const struct cc__report *r) {
    for (unsigned i = 0; i < r->depth; i++) {
        const struct cc__spot *s = spot_at(d, r->pc[i] - 1); /* in the call, not behind it */
        struct cc__text *t = line(d);
        cc__text_str(t, "    ");
        if (s->function[0] != 0) {
            cc__text_str(t, s->function);
            cc__text_str(t, "+");
        }
        cc__text_hex(t, s->offset + 1);
        if (s->file[0] != 0) {
            cc__text_str(t, " (");
            cc__text_str(t, s->file);
            cc__text_str(t, ")");
        }
        cc__text_str(t, "\n");
    }
    if (r->depth == CC__REPORT_FRAMES) cc__text_str(line(d), "    ...\n");
}

/* A task that nobody named is called by its function. */
static void name_by_function(struct dump *d, struct cc__report *r) {
    if (r->name[0] != 0 || r->function == 0) return;
    memcpy(r->name, spot_at(d, r->function)->function, sizeof r->name - 1);
}

static void write_many(struct dump *d, const struct group *g) {
    static const char *const verb[] = {
        [CC__RUNS] = " run", [CC__WAITS] = " wait", [CC__READY] = " are ready", [CC__THREAD_WAITS] = " wait"};
    struct cc__text *t = line(d);
    cc__text_dec(t, g->count);
    cc__text_str(t, g->first.doing == CC__THREAD_WAITS ? " threads (" : " tasks (");
    for (size_t i = 0; i < g->count && i < SERIALS; i++) {
        if (i > 0) cc__text_str(t, ", ");
        cc__text_dec(t, g->serial[i]);
    }
    cc__text_str(t, g->count > SERIALS ? ", ...)" : ")");
    cc__report_name(t, &g->first);
    cc__text_str(t, verb[g->first.doing]);
    cc__report_wait(t, &g->first, g->one_object);
    if (g->first.since_ns != 0) cc__report_age(t, d->now_ns - g->latest_ns, d->now_ns - g->earliest_ns);
    cc__report_site(t, &g->first);
}

static void write_group(struct dump *d, struct group *g) {
    name_by_function(d, &g->first);
    if (g->count == 1)
        cc__report_line(line(d), &g->first, d->now_ns);
    else
        write_many(d, g);
    cc__text_str(&d->text, "\n");
    write_stack(d, &g->first);
}

static void write_head(struct dump *d) {
    static const char *const verb[] = {[CC__RUNS] = " run, ", [CC__WAITS] = " wait, ", [CC__READY] = " are ready"};
    struct cc__text *t = line(d);
    cc__text_str(t, "ccrt: ");
    cc__text_dec(t, d->count[CC__RUNS] + d->count[CC__READY] + d->count[CC__WAITS]);
    cc__text_str(t, " tasks: ");
    for (size_t i = 0; i < CC__COUNT_OF(verb); i++) {
        cc__text_dec(t, d->count[i]);
        cc__text_str(t, verb[i]);
    }
    cc__text_str(t, "\n");
}

/* ---- putting together ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct cc__report *r) {
    uint64_t hash = mix((uint64_t)r->doing, (uintptr_t)r->site);
    hash = mix(hash, r->doing == CC__RUNS ? r->worker : 0);
    hash = mix(hash, (uintptr_t)r->runtime);
    if (r->site == NULL) hash = mix(hash, r->function);
    hash = mix(hash, (uint64_t)r->chan.notified);
    for (const char *c = r->reason; *c != 0; c++) hash = mix(hash, (unsigned char)*c);
    for (const char *c = r->name; *c != 0; c++) hash = mix(hash, (unsigned char)*c);
    for (unsigned i = 0; i < r->depth; i++) hash = mix(hash, r->pc[i]);
    return hash;
}

static bool alike(const struct cc__report *a, const struct cc__report *b) {
    return strcmp(a->name, b->name) == 0 && a->doing == b->doing && a->worker == b->worker &&
           a->runtime == b->runtime && a->site == b->site && a->function == b->function &&
           strcmp(a->reason, b->reason) == 0 && a->chan.notified == b->chan.notified && a->depth == b->depth &&
           memcmp(a->pc, b->pc, a->depth * sizeof a->pc[0]) == 0;
}

/* The group it belongs to, perhaps a new one; NULL: there is no room. */
static struct group *group_for(struct dump *d, const struct cc__report *r) {
    uint64_t hash = hash_of(r);
    size_t at = hash % CC__COUNT_OF(d->slot);
    for (; d->slot[at] != 0; at = (at + 1) % CC__COUNT_OF(d->slot)) {
        struct group *g = &d->group[d->slot[at] - 1];
        if (g->hash == hash && !d->apart && alike(&g->first, r)) return g;
    }
    if (d->group == NULL || d->group_count == GROUPS) return NULL;
    struct group *g = &d->group[d->group_count++];
    d->slot[at] = (uint16_t)d->group_count;
    *g = (struct group){
        .first = *r, .hash = hash, .earliest_ns = r->since_ns, .latest_ns = r->since_ns, .one_object = true};
    return g;
}

/* The lowest, in order. */
static void keep_serial(struct group *g, uint32_t serial) {
    size_t at = g->count < SERIALS ? g->count : SERIALS;
    for (; at > 0 && serial < g->serial[at - 1]; at--)
        if (at < SERIALS) g->serial[at] = g->serial[at - 1];
    if (at < SERIALS) g->serial[at] = serial;
}

static void put(struct cc__task *record, void *arg) {
    struct dump *d = arg;
    struct cc__report *r = &d->next;
    if (!cc__report_take(record, true, r)) return;
    d->count[r->doing]++;
    struct group *g = group_for(d, r);
    if (g == NULL) {
        d->other++;
        return;
    }
    keep_serial(g, r->serial);
    g->count++;
    if (r->since_ns < g->earliest_ns) g->earliest_ns = r->since_ns;
    if (r->since_ns > g->latest_ns) g->latest_ns = r->since_ns;
    g->one_object = g->one_object && g->first.object == r->object;
}

/* By what they do, then by number. */
static bool before(const struct group *a, const struct group *b) {
    if (a->first.doing != b->first.doing) return a->first.doing < b->first.doing;
    return a->serial[0] < b->serial[0];
}

static void sort(struct dump *d) {
    for (unsigned i = 0; i < d->group_count; i++) {
        unsigned at = i;
        for (; at > 0 && before(&d->group[i], &d->group[d->order[at - 1]]); at--) d->order[at] = d->order[at - 1];
        d->order[at] = (uint16_t)i;
    }
}

static void write_all(struct dump *d) {
    size_t bytes = cc__align_up(GROUPS * sizeof *d->group, cc__vm_page_bytes());
    void *at = NULL;
    *d = (struct dump){.fd = d->fd, .file = d->file, .apart = d->apart};
    d->text = cc__text_on(d->buf, sizeof d->buf);
    if (cc__vm_map(&at, bytes) == 0) d->group = at;
    cc__report_begin();
    d->now_ns = cc__now_ns();
    cc__task_each(put, d);
    sort(d);
    write_head(d);
    for (unsigned i = 0; i < d->group_count; i++) write_group(d, &d->group[d->order[i]]);
    if (d->other > 0) {
        struct cc__text *t = line(d);
        cc__text_str(t, "and ");
        cc__text_dec(t, d->other);
        cc__text_str(t, " more\n");
    }
    flush(d);
    if (at != NULL) cc__vm_unmap(at, bytes);
}

void cc__dump_to(int fd, bool apart) {
    cc__lock_take(&dump_lock);
    dump.apart = apart;
    dump.fd = fd;
    dump.file = NULL;
    write_all(&dump);
    cc__lock_drop(&dump_lock);
}

void cc_dump(FILE *to) {
    cc__fiber_check_allowed();
    if (to == NULL) to = stderr;
    fflush(to);
    cc__lock_take(&dump_lock);
    dump.apart = false;
    dump.fd = fileno(to);
    dump.file = to;
    write_all(&dump);
    cc__lock_drop(&dump_lock);
}

void cc__dump_one(struct cc__task *t, const char *before, const char *after, const uintptr_t *pcs, size_t depth) {
    struct dump *d = &dump;
    cc__lock_take(&dump_lock);
    d->fd = STDERR_FILENO;
    d->text = cc__text_on(d->buf, sizeof d->buf);
    cc__report_begin();
    if (cc__report_take(t, false, &d->next)) {
        d->next.depth = (unsigned)depth;
        memcpy(d->next.pc, pcs, depth * sizeof *pcs);
        memset(d->spot, 0, sizeof d->spot); /* libraries come and go between two reports */
        name_by_function(d, &d->next);
        cc__text_str(&d->text, before);
        cc__report_line(&d->text, &d->next, cc__now_ns());
        cc__text_str(&d->text, after);
        cc__text_str(&d->text, "\n");
        write_stack(d, &d->next);
        flush(d);
    }
    cc__lock_drop(&dump_lock);
}

/* ---- those that a shutdown waits for ---- */

struct left {
    const struct cc__runtime *rt;
    unsigned lines, more;
    struct cc__report report;
};

static void left_one(struct cc__task *t, void *arg) {
    struct left *l = arg;
    if (!cc__report_take(t, false, &l->report) || l->report.runtime != l->rt) return;
    if (++l->lines > LEFT_MAX) {
        l->more++;
        return;
    }
    char buf[LINE_ROOM];
    struct cc__text text = cc__text_on(buf, sizeof buf);
    cc__text_str(&text, "ccrt: shutdown: ");
    cc__report_line(&text, &l->report, cc__now_ns());
    cc__text_str(&text, "\n");
    cc__text_print(&text);
}

static void say_count(const char *before, uint64_t n, const char *after) {
    char buf[LINE_ROOM];
    struct cc__text text = cc__text_on(buf, sizeof buf);
    cc__text_str(&text, before);
    cc__text_dec(&text, n);
    cc__text_str(&text, after);
    cc__text_print(&text);
}

/* Futures are in their users' memory: of so many that are live, those that were not seen. */
void cc__dump_left(const struct cc__runtime *rt, uint64_t live) {
    static struct left l; /* with the lock: it is large for a stack */
    cc__lock_take(&dump_lock);
    l = (struct left){.rt = rt};
    cc__report_begin();
    cc__task_each(left_one, &l);
    if (l.more > 0) say_count("ccrt: shutdown: and ", l.more, " more\n");
    if (live > l.lines) say_count("ccrt: shutdown: futures that did not end: ", live - l.lines, "; cancel them\n");
    cc__lock_drop(&dump_lock);
}
