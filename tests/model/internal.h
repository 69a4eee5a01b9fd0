/* SPDX-License-Identifier: MIT */
/* What the files of the checker share. Scenarios include ccmc.h only.
 *
 * Words used throughout:
 *   execution   one run of the scenario, from setup to check
 *   operation   what other threads can notice: an atomic access, a seq_cst fence, a lock; struct mc__op
 *   step        an operation carried out, with all the plain code of its thread up to the next one
 *   node        a step of the current execution and what is left to try in its place; struct mc__node
 *   object      what operations are on: an atomic, a mutex, a semaphore, a futex queue; struct mc__object
 *   message     a store to an atomic: what a load can see; struct mc__message
 *   position    a message's place in its atomic's modification order, from 0
 *   view        the oldest position that may still be seen, for each atomic; struct mc__view
 *   clock       for each thread, how many of its steps are known to come before; struct mc__clock
 *
 * Read memory.c first, then race.c, explore.c, dpor.c, snapshot.c; the others as needed. */
#ifndef CCMC_INTERNAL_H
#define CCMC_INTERNAL_H

#include "ccmc.h"

#include <emmintrin.h>
#include <string.h>

enum {
    MC__THREADS = 8,        /* at most, with those that pthread_create() started */
    MC__MAIN = MC__THREADS, /* who runs setup() and check() */
    MC__ALL = MC__THREADS + 1,
    MC__LANES = 16, /* MC__ALL and some: clocks and views are joined 16 bytes at a time */
    MC__OBJECTS = 128,
    MC__NO_OBJECT = 255,
    MC__POSITIONS = 200, /* messages of one atomic: fits a byte */
    MC__MESSAGES = 3000,
    MC__STEPS = 4000,
    MC__TOLD = 16,
    MC__CODES = 256, /* different values one operation can have */
};

/* The value of an atomic of up to 16 bytes. */
__extension__ typedef unsigned __int128 mc__word;

/* A set of threads. */
typedef uint16_t mc__mask;
#define MC__BIT(tid) ((mc__mask)(1u << (tid)))

/* ---- clocks, views, sets of objects ---- */

struct mc__clock {
    _Alignas(16) int16_t t[MC__LANES];
};

struct mc__view {
    struct mc__clock before;              /* steps that happen before */
    _Alignas(16) uint8_t at[MC__OBJECTS]; /* positions, of atomics */
};

struct mc__set {
    uint64_t w[MC__OBJECTS / 64];
};

static inline void mc__clock_join(struct mc__clock *to, const struct mc__clock *from) {
    for (unsigned i = 0; i < MC__LANES; i += 8) {
        __m128i *a = (__m128i *)(void *)&to->t[i];
        *a = _mm_max_epi16(*a, *(const __m128i *)(const void *)&from->t[i]);
    }
}

static inline bool mc__set_has(const struct mc__set *s, unsigned i) {
    return (s->w[i / 64] >> (i % 64) & 1) != 0;
}
static inline void mc__set_add(struct mc__set *s, unsigned i) {
    s->w[i / 64] |= (uint64_t)1 << (i % 64);
}

/* ---- operations ---- */

struct mc__thread;
struct mc__op;

enum mc__object_kind { MC__NOTHING, MC__ATOMIC, MC__MUTEX, MC__SEM, MC__QUEUE, MC__SPAWNING };

/* What an operation has to do with the total order of seq_cst operations: accesses commute with accesses to
 * other atomics; fences, and what acts as one, with none of them. */
enum mc__sc { MC__SC_NONE, MC__SC_ACCESS, MC__SC_FENCE };

/* One kind of operation: its functions stand in the file that it belongs to. */
struct mc__kind {
    const char *name;
    uint8_t object; /* what its address names: an enum mc__object_kind */
    bool writes;    /* or may write: see struct mc__op */
    bool part;      /* it may be about a part of a larger atomic */
    bool queue;     /* it writes a futex queue */
    uint8_t sc;     /* whatever its order; accesses with order seq_cst are MC__SC_ACCESS */

    /* Whether thread t, whose operation it is, could make it now. NULL: always. */
    bool (*enabled)(const struct mc__thread *t);
    /* What can come out: a code each, at least one; the likeliest first. NULL: only 0. */
    unsigned (*options)(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes);
    /* Make it, with one of those codes; returns its result. */
    mc__word (*apply)(struct mc__thread *t, struct mc__op *op, unsigned code);
};

struct mc__op {
    const struct mc__kind *kind;
    uintptr_t addr;
    uintptr_t queue;           /* the futex word whose queue it is about */
    mc__word arg;              /* the value stored, added, ...; or a count */
    mc__word expected;         /* of a compare-and-swap, a futex wait */
    const void *pc;            /* where in the program */
    uint8_t order, fail_order; /* __ATOMIC_* */
    uint8_t size;              /* of the atomic, in bytes */
    uint8_t rmw;               /* which read-modify-write: enum mc__rmw */
    bool weak;                 /* a compare-and-swap that may fail for no reason */
    bool timed;                /* a wait that may time out */

    /* Set by op_prepare(). */
    uint8_t shift;   /* of a part of an atomic: how many bits are below it */
    uint8_t part;    /* its size; 0: all of it */
    uint8_t object;  /* or MC__NO_OBJECT */
    uint8_t object2; /* its futex queue, or MC__NO_OBJECT */
    bool writes;     /* before it is made: it may write `object`; afterwards: it did */
    uint8_t sc;
    struct mc__set looked; /* of a yield: the objects whose change it waits for */
};

enum mc__rmw { MC__XCHG, MC__ADD, MC__SUB, MC__AND, MC__OR, MC__XOR, MC__NAND };

extern const struct mc__kind mc__load, mc__store, mc__update, mc__cas, mc__fence; /* memory.c */
extern const struct mc__kind mc__choice, mc__yield;                               /* api.c */
extern const struct mc__kind mc__lock, mc__unlock, mc__spawn;                     /* shims.c */

/* ---- the machine ---- */

struct mc__message {
    mc__word value;
    struct mc__view released; /* what a load with acquire learns from it */
    int16_t count;            /* it is the count-th step of its thread */
    uint8_t tid;
    bool rmw;  /* made by a read-modify-write: nothing may come between it and the one before */
    bool lazy; /* made by a plain store: the value is in memory by the time it is asked for */
};

struct mc__object {
    uintptr_t addr;
    uint8_t kind, size;

    uint16_t n; /* of an atomic: how many messages */

    /* Of the others. */
    int64_t value;            /* a semaphore's count, a mutex's owner + 1 */
    uint32_t version;         /* changes when what it guards may have */
    struct mc__view released; /* what a lock or wait learns */
    uint64_t plain_writes;    /* of the owner, when it took the mutex */
    mc__mask waiting;         /* in this futex queue */

    /* Of the search: steps that wrote it, that read it, that were seq_cst accesses to it. */
    struct mc__clock wrote, read, sc;

    /* Of an atomic: its modification order, indices of mc.message[]. The last member: a snapshot has what is used. */
    uint16_t order[MC__POSITIONS];
};

struct mc__thread {
    /* Its stack and what runs there: threads.c. */
    void *sp;
    char *stack;
    void (*body)(void);           /* of the scenario, or */
    void *(*start)(void *), *arg; /* of pthread_create() */
    void *result;
    void **back; /* while it runs to its first operation: where the stack to return to is saved */
    bool starting, done;
    unsigned tid;
    uintptr_t frame;  /* where it waits: below that its stack is not in use */
    struct mc__op op; /* the next one */

    /* Memory: memory.c. */
    struct mc__view now;          /* what it knows */
    struct mc__view acquired;     /* what an acquire fence would add to that */
    struct mc__view released;     /* what its relaxed stores publish: all at the last release fence */
    uint8_t fresh[MC__OBJECTS];   /* what a spin loop has waited for, it sees: positions */
    struct mc__set looked;        /* objects read since the last yield */
    uint16_t seen[MC__OBJECTS];   /* and what was there: positions, versions */
    unsigned spins, spurious;     /* so far */
    unsigned alone;               /* operations of setup and check, which are no steps, so far */
    bool swapped;                 /* its last compare-and-swap succeeded */
    bool woken;                   /* from a futex queue */
    bool blind;                   /* it said so, see mc_blind(), */
    struct mc__set sees;          /* but for these */
    int64_t clock_ns;             /* its own time, moved by timeouts only */
    uint64_t plain_writes, quiet; /* plain stores so far; plain accesses since the last operation */

    /* Search: dpor.c. */
    struct mc__clock past; /* steps that its last one depends on, itself included */
    int16_t count;         /* steps so far */
    int last;              /* the node of the last one, or -1 */
    uint64_t digest;       /* of all results */
};

struct mc__node {
    uint8_t tid;
    mc__mask enabled;
    mc__mask backtrack;       /* to be tried here */
    mc__mask done;            /* tried, with all values */
    mc__mask sleep;           /* need not be tried: see dpor.c */
    uint16_t choice, choices; /* of the values that it can have: which now, how many */
    uint16_t code;            /* the same as mc__kind.options() said */
    int16_t count;            /* it is the count-th step of its thread */
    struct mc__clock past;    /* steps that it depends on, itself included */
    mc__word result;
    struct mc__op op;
};

enum mc__end {
    MC__RUNNING,
    MC__DONE,
    MC__PRUNED, /* all that is enabled sleeps */
    MC__CUT,    /* a bound */
    MC__BUG,
};

struct mc__state {
    const struct mc_scenario *scenario;
    struct mc_options options;
    struct mc_result result;
    const void *bug_pc[2]; /* where it happened, and the other side of a race */
    unsigned bug_tid[2];

    void (*watch)(const void *at, size_t bytes, bool write); /* or NULL: see mc_watch() */
    bool running;   /* an execution is: instrumented code may also run outside one */
    bool by_states; /* how the search goes: see states.c */
    bool tracing;
    enum mc__end end;
    unsigned self;
    unsigned threads;
    struct mc__thread thread[MC__ALL];
    void *driver; /* the stack of mc_explore() */

    unsigned objects;
    struct mc__object object[MC__OBJECTS];
    unsigned messages;
    uint64_t rewritten; /* another number when a message was changed */
    struct mc__message message[MC__MESSAGES];
    struct mc__view sc; /* positions that seq_cst operations have seen */
    struct mc__clock sc_fences, sc_accesses;

    unsigned told; /* what setup() said of atomics, see mc_constant() and mc_statistics() */
    struct mc__told {
        uintptr_t begin, end;
        bool constant;
    } tale[MC__TOLD];

    unsigned alone; /* which of the scenario's first threads has the machine to itself */
    unsigned max_steps, max_spins;
    unsigned depth;  /* steps of this execution so far */
    unsigned replay; /* how many of them are given */
    unsigned pause;  /* after so many of them go back to the driver, which takes a snapshot */
    struct mc__node node[MC__STEPS];
};

extern struct mc__state mc;

static inline struct mc__thread *mc__self(void) {
    return &mc.thread[mc.self];
}

static inline void mc__view_join(struct mc__view *to, const struct mc__view *from) {
    mc__clock_join(&to->before, &from->before);
    for (unsigned i = 0; i < mc.objects; i += 16) {
        __m128i *a = (__m128i *)(void *)&to->at[i];
        *a = _mm_max_epu8(*a, *(const __m128i *)(const void *)&from->at[i]);
    }
}

/* explore.c: one operation of the calling thread; returns its result. Outside an execution it is made
 * at once. */
mc__word mc__visible(struct mc__op op);

/* Let whoever is next go on; returns when it is the calling thread. */
void mc__go_on(void);

/* This execution is a bug: tell the driver, and never return. mc__bug() only notes it. */
__attribute__((format(printf, 3, 4), noreturn)) void mc__fail(enum mc_bug kind, const void *pc, const char *format,
                                                              ...);
__attribute__((format(printf, 3, 4))) void mc__bug(enum mc_bug kind, const void *pc, const char *format, ...);
/* Give this execution up: a bound was hit. */
__attribute__((format(printf, 1, 2), noreturn)) void mc__cut(const char *format, ...);
/* The checker itself cannot go on: print and exit. */
__attribute__((format(printf, 1, 2), noreturn)) void mc__die(const char *format, ...);

/* A hash of a hash and something more. */
static inline uint64_t mc__mix(uint64_t h, uint64_t value) {
    h = (h ^ value) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 31)) * 0x94d049bb133111ebu;
    return h ^ (h >> 29);
}

static inline uint64_t mc__bytes_digest(const void *at, size_t bytes) {
    uint64_t h = bytes;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)at + i, bytes - i < 8 ? bytes - i : 8);
        h = mc__mix(h, word);
    }
    return h;
}

/* api.c: whether an operation is none, because of what setup() said of the atomic. */
bool mc__no_step(const struct mc__op *op);

/* snapshot.c: a tape has the state of all parts of the machine; each part puts its own there, or takes it back. */
struct mc__tape {
    char *bytes;
    size_t n, room; /* used, allocated */
    bool back;      /* what is on the tape goes back to where it came from */
};
void mc__tape(struct mc__tape *tape, void *at, size_t bytes);
void mc__tape_grow(struct mc__tape *tape, size_t bytes);
static inline void mc__tape_16(struct mc__tape *tape, void *at) { /* the same for 16 bytes */
    if (tape->n + 16 > tape->room) mc__tape_grow(tape, 16);
    char *there = tape->bytes + tape->n;
    _mm_storeu_si128(tape->back ? at : (void *)there, _mm_loadu_si128(tape->back ? (void *)there : at));
    tape->n += 16;
}
void mc__snapshots_reset(void);
bool mc__snapshot_back(void);
void mc__snapshot_take(void);
void mc__snapshot_plan(void);

/* dpor.c */
bool mc__conflict(const struct mc__op *a, const struct mc__op *b);
void mc__dpor_step(struct mc__node *n, bool races);
void mc__dpor_never_made(void);
mc__mask mc__dpor_sleep(const struct mc__node *before);
struct mc__clock mc__dpor_known(const struct mc__thread *t, const struct mc__op *op);

/* states.c */
void mc__states_reset(void);
bool mc__states_seen(mc__mask sleep);
uint64_t mc__states_count(void);

/* memory.c */
void mc__memory_reset(void);
void mc__memory_tape(struct mc__tape *tape);
unsigned mc__object_known(uintptr_t addr, unsigned size, enum mc__object_kind kind);
unsigned mc__object_at(uintptr_t addr, unsigned size, enum mc__object_kind kind);
void mc__looked_at(struct mc__thread *t, unsigned object, unsigned seen);
bool mc__changed_since(const struct mc__object *o, unsigned seen);
void mc__plain_write_to_atomics(uintptr_t addr, size_t bytes);
void mc__fence_by(struct mc__thread *t, unsigned order);
mc__word mc__newest(const struct mc__object *o);
mc__word mc__direct(const struct mc__op *op);
unsigned mc__read_options(const struct mc__thread *t, const struct mc__op *op, uint16_t *codes);
mc__word mc__read_apply(struct mc__thread *t, struct mc__op *op, unsigned code, unsigned order);

/* race.c */
void mc__race_reset(void);
void mc__race_tape(struct mc__tape *tape);
void mc__plain(uintptr_t addr, size_t bytes, bool write, const void *pc);
void mc__atomic(uintptr_t addr, size_t bytes, bool write, const void *pc);

/* fences.c */
void mc__fences_reset(void);
void mc__fences_tape(struct mc__tape *tape);
void mc__fences_made(const struct mc__thread *t);
bool mc__fences_allow(const struct mc__thread *t, unsigned object, unsigned pos);
void mc__fences_access(const struct mc__thread *t, unsigned object, unsigned pos);
void mc__fences_make_room(unsigned object, unsigned pos);

/* futex.c */
bool mc__in_futex(const struct mc__thread *t);

/* arena.c */
void mc__arena_init(void);
void mc__arena_reset(void);
bool mc__arena_used(void);
void mc__arena_tape(struct mc__tape *tape);
void mc__arena_check(uintptr_t addr, size_t bytes, const void *pc);
void mc__arena_leaks(void);
bool mc__arena_describe(uintptr_t addr, char *text, size_t size);

/* threads.c */
void mc__threads_init(void);
void mc__threads_reset(void);
void mc__thread_clear(unsigned tid);
bool mc__threads_can_tape(void);
void mc__threads_tape(struct mc__tape *tape);
void mc__thread_pause(void);           /* to the driver; returns when its operation is to be made */
void mc__thread_prepare(unsigned tid); /* body or start is set */
void mc__thread_start(unsigned tid,
                      void **from); /* run it up to its first operation; `from` keeps the caller's stack */
void mc__thread_started(void);      /* it has come to its first operation; returns when it is made */
__attribute__((noreturn)) void mc__thread_end(void);
void mc__switch_to(unsigned tid);
void mc__run_main(void (*body)(void)); /* setup or check, from the driver */
__attribute__((noreturn)) void mc__to_driver(void);
void mc__enter(unsigned tid); /* from the driver, until the execution ends */
void mc__stack_check(uintptr_t addr, const void *pc);
bool mc__stack_describe(uintptr_t addr, char *text, size_t size);

/* image.c: globals and thread-locals of the program */
void mc__image_take(void);
void mc__image_reset(void);
uint64_t mc__image_digest(void);
uint64_t mc__image_locals_digest(unsigned tid);
void mc__image_wrote(uintptr_t addr, size_t bytes); /* that was, or will be, changed */
bool mc__image_known(void);                         /* what is changed without notice */
void mc__image_tape(struct mc__tape *tape);
void mc__image_thread(unsigned tid);  /* its thread-locals are the current ones */
bool mc__image_local(uintptr_t addr); /* it is a thread-local's */
const char *mc__image_path(void);
uintptr_t mc__image_base(void);

/* shims.c */
void mc__shims_reset(void);
void mc__shims_tape(struct mc__tape *tape);
void mc__shims_thread_end(void);

/* trace.c */
__attribute__((format(printf, 2, 3))) void mc__trace(const void *pc, const char *format, ...);
__attribute__((format(printf, 2, 3))) void mc__trace_step(const struct mc__op *op, const char *format, ...);
void mc__trace_begin(void);
void mc__trace_print(void);
const char *mc__trace_name(uintptr_t addr);
const char *mc__trace_value(mc__word value, unsigned size);
const char *mc__trace_order(unsigned order);
char *mc__replay_string(void);
struct mc__forced {
    uint8_t tid;
    uint16_t code;
};
unsigned mc__replay_parse(const char *text, struct mc__forced *steps, unsigned max, bool *sc_only);

#endif /* CCMC_INTERNAL_H */
