/* SPDX-License-Identifier: MIT */
/* Small straight-line programs over a few atomics, and all their outcomes by the rules of RC11. */
#ifndef CCMC_ORACLE_H
#define CCMC_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum { ORACLE_THREADS = 4, ORACLE_STEPS = 4, ORACLE_ATOMICS = 3, ORACLE_OUTCOMES = 2000, ORACLE_TEXT = 32 };

enum instruction_kind {
    LOAD,
    STORE, /* value */
    ADD,   /* 1 */
    SWAP,  /* for value */
    CAS,   /* expected for value */
    FENCE,
    /* From here on not for the oracle. */
    LOCKED_ADD, /* lock a mutex, add 1, unlock */
    TRY_ADD,    /* the same if the mutex is free */
    IF_STORE,   /* if the next atomic is 0, store value */
    SPIN,       /* until it is not 0 */
    SEM_WAIT,
    SEM_POST,
    QUEUE_WAIT, /* futex: while it is 0, once */
    QUEUE_WAKE, /* futex: store value, wake one */
    INSTRUCTIONS,
};

struct instruction {
    uint8_t kind, atomic, order, fail_order, value, expected;
};

struct program {
    int threads, steps[ORACLE_THREADS];
    struct instruction at[ORACLE_THREADS][ORACLE_STEPS];
};

/* A digit for each read in order of threads and steps, a dash, the final values. */
struct outcomes {
    int n;
    char text[ORACLE_OUTCOMES][ORACLE_TEXT];
};

/* Every outcome that some execution allowed by RC11 has. */
__attribute__((visibility("default"))) void oracle_outcomes(const struct program *p, struct outcomes *out);

#endif /* CCMC_ORACLE_H */
