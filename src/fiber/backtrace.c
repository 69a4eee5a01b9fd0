/* SPDX-License-Identifier: MIT */
/* A walk up the stack of a fiber that stands in a switch.
 *
 * By the unwind tables, which compilers write for all code by default: frame pointers are there in our own code, and
 * seldom in the user's. The switch tells the compiler that all registers are lost, so what a caller needs of them is in
 * the frames, and three registers are enough to follow: pc, sp, fp. Where the tables are missing, or say more than we
 * follow, the frame pointer has to do.
 *
 * The stack is read by the kernel, a piece at a time, and only inside its bounds: it may be in use again, or gone.
 * Each step goes up, so the walk ends.
 *
 * Rejected: _Unwind_Backtrace(), which begins where it is called and believes what it reads.
 *
 * Prev: fiber/backtrace.h  Next: fiber/unwind.c */
#include "backtrace.h"

#include "../plat/peek.h"

#if CCRT_SWITCH_UCONTEXT
#include <ucontext.h>
#endif

/* A stack, and the piece of it that was read last. */
struct view {
    uintptr_t lo, hi;
    uintptr_t at;
    size_t bytes;
    uintptr_t word[256];
};

static bool view_read(struct view *v, uintptr_t at, uintptr_t *out) {
    if (at % sizeof *out != 0 || at < v->lo || at > v->hi - sizeof *out) return false;
    if (at - v->at >= v->bytes) {
        size_t bytes = v->hi - at < sizeof v->word ? v->hi - at : sizeof v->word;
        v->bytes = 0;
        if (!cc__peek(v->word, (const void *)at, bytes)) return false;
        v->at = at;
        v->bytes = bytes;
    }
    *out = v->word[(at - v->at) / sizeof *out];
    return true;
}

/* The frame that switched: see the .S files for what is saved where. */
static bool first_frame(struct view *v, const struct cc__fiber *copy, struct cc__frame *f) {
    uintptr_t sp = (uintptr_t)copy->ctx.sp;
#if CCRT_SWITCH_UCONTEXT
    static ucontext_t saved;
    (void)v;
    if (!cc__peek(&saved, (const void *)sp, sizeof saved)) return false;
#if defined(__x86_64__)
    const greg_t *r = saved.uc_mcontext.gregs;
    *f = (struct cc__frame){.pc = (uintptr_t)r[REG_RIP], .sp = (uintptr_t)r[REG_RSP], .fp = (uintptr_t)r[REG_RBP]};
    return true;
#elif defined(__aarch64__)
    *f = (struct cc__frame){.pc = saved.uc_mcontext.pc, .sp = saved.uc_mcontext.sp, .fp = saved.uc_mcontext.regs[29]};
    return true;
#else
    (void)f;
    return false;
#endif
#elif defined(__x86_64__)
    f->sp = sp + 2 * sizeof sp + 128;
    return view_read(v, sp, &f->fp) && view_read(v, sp + sizeof sp, &f->pc);
#elif defined(__aarch64__)
    f->sp = sp + 2 * sizeof sp;
    return view_read(v, sp, &f->fp) && view_read(v, sp + sizeof sp, &f->pc);
#else
    f->sp = sp + 2 * sizeof sp;
    return view_read(v, sp, &f->pc) && view_read(v, sp + sizeof sp, &f->fp);
#endif
}

/* Pointers to code may be signed in bits that addresses do not use. */
static uintptr_t plain(uintptr_t pc) {
#if defined(__aarch64__)
    return pc & ((UINT64_C(1) << 48) - 1);
#else
    return pc;
#endif
}

static bool caller_by_fp(struct view *v, struct cc__frame *f) {
#if defined(__riscv)
    uintptr_t at = f->fp - 2 * sizeof at;
    bool ok = f->fp > f->sp && view_read(v, at, &f->fp) && view_read(v, at + sizeof at, &f->pc);
#else
    uintptr_t at = f->fp;
    bool ok = at >= f->sp && view_read(v, at, &f->fp) && view_read(v, at + sizeof at, &f->pc);
#endif
    f->sp = at + 2 * sizeof at;
    return ok;
}

static bool caller_by_table(struct view *v, const struct cc__unwind *u, struct cc__frame *f) {
    uintptr_t begin = (u->by_fp ? f->fp : f->sp) + (uintptr_t)(intptr_t)u->begin;
    if (begin <= f->sp || u->pc_saved != CC__SAVED_AT) return false;
    f->sp = begin;
    if (!view_read(v, begin + (uintptr_t)(intptr_t)u->pc_at, &f->pc)) return false;
    return u->fp_saved != CC__SAVED_AT || view_read(v, begin + (uintptr_t)(intptr_t)u->fp_at, &f->fp);
}

static bool view_begin(struct view *v, const struct cc__fiber *f) {
    v->lo = (uintptr_t)f->lo;
    v->hi = v->lo + f->bytes;
    v->bytes = 0;
    return v->lo != 0 && v->hi > v->lo + sizeof v->lo;
}

static size_t walk(struct view *v, struct cc__frame f, uintptr_t *pcs, size_t max) {
    size_t n = 0;
    for (bool more = true; more && f.pc != 0 && n < max;) {
        f.pc = plain(f.pc);
        pcs[n++] = f.pc;
        struct cc__unwind u = cc__unwind_at(f.pc);
        more = u.known ? caller_by_table(v, &u, &f) : caller_by_fp(v, &f);
    }
    return n;
}

static struct view view; /* of the one who walks */

size_t cc__backtrace(const struct cc__fiber *copy, uintptr_t *pcs, size_t max) {
    struct cc__frame f;
    return view_begin(&view, copy) && first_frame(&view, copy, &f) ? walk(&view, f, pcs, max) : 0;
}

size_t cc__backtrace_from(const struct cc__fiber *f, struct cc__frame first, uintptr_t *pcs, size_t max) {
    first.pc++; /* as the others, which are behind their calls */
    return view_begin(&view, f) ? walk(&view, first, pcs, max) : 0;
}
