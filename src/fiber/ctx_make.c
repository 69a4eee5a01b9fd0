/* SPDX-License-Identifier: MIT */
/* New contexts for the hand-written switches: the frame that cc__ctx_jump() would have saved, with
 * the entry as next instruction and fn and arg in two registers that it restores.
 *
 * Prev: fiber/ctx.h  Next: fiber/ctx_x86_64.S */
#include "ctx.h"

#include <string.h>

/* Words of the saved frame, by index from the saved stack pointer; must match the .S files. */
#if defined(__x86_64__)
enum { FRAME_WORDS = 7 + 16 /* red zone */, FRAME_ARG = 3 /* r12 */, FRAME_FN = 4 /* rbx */, FRAME_NEXT = 6 };
#elif defined(__aarch64__)
enum { FRAME_WORDS = 12, FRAME_ARG = 1 /* x20 */, FRAME_FN = 0 /* x19 */, FRAME_NEXT = 11 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { FRAME_WORDS = 26, FRAME_ARG = 3 /* s2 */, FRAME_FN = 2 /* s1 */, FRAME_NEXT = 0 };
#else
#error "no hand-written switch for this processor: build with -DCCRT_SWITCH=ucontext"
#endif

extern void cc__ctx_entry(void);

void cc__ctx_make(struct cc__ctx *c, void *lo, void *hi, void (*fn)(void *), void *arg) {
    (void)lo;
    /* At the entry, with the frame popped, the stack pointer is 16-byte aligned: it makes a call. */
    char *top = (char *)cc__align_down((uintptr_t)hi, 16);
    uintptr_t *frame = (uintptr_t *)(void *)top - FRAME_WORDS;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[FRAME_FN] = (uintptr_t)fn;
    frame[FRAME_ARG] = (uintptr_t)arg;
    frame[FRAME_NEXT] = (uintptr_t)&cc__ctx_entry;
    c->sp = frame;
}
