/* SPDX-License-Identifier: MIT */
/* Where a fiber that is not running stands: the places in code from its switch up to its first function.
 *
 * Prev: fiber/overflow.c  Next: fiber/backtrace.c */
#ifndef CC__FIBER_BACKTRACE_H
#define CC__FIBER_BACKTRACE_H

#include "fiber.h"

/* What a frame's registers are, as far as they are followed. */
struct cc__frame {
    uintptr_t pc, sp, fp;
};

/* How a function's caller is found when it stands at one place: by the unwind tables of its module. */
enum cc__saved { CC__SAVED_NOT, CC__SAVED_AT, CC__SAVED_NOWHERE };
struct cc__unwind {
    uintptr_t pc;
    bool known;    /* the tables say it, in words we follow */
    bool by_fp;    /* the frame begins at an offset from the frame pointer, not from the stack pointer */
    int32_t begin; /* that offset */
    enum cc__saved pc_saved, fp_saved;
    int32_t pc_at, fp_at; /* where, from the frame's begin */
};

/* What the tables say of the instruction before pc. Not for two threads at once. */
struct cc__unwind cc__unwind_at(uintptr_t pc);

/* The places of a fiber, innermost first, given a copy of its record: if it runs meanwhile, or is gone, they are
 * nonsense or none, but nothing worse happens. Not for two threads at once.
 *   Returns    how many there are, at most max */
size_t cc__backtrace(const struct cc__fiber *copy, uintptr_t *pcs, size_t max);

/* The same of one whose thread was stopped there, and stands. */
size_t cc__backtrace_from(const struct cc__fiber *f, struct cc__frame first, uintptr_t *pcs, size_t max);

#endif /* CC__FIBER_BACKTRACE_H */
