/* SPDX-License-Identifier: MIT */
/* New contexts for the hand-written switches: the frame that cc__ctx_jump() would have saved, with the
 * entry as next instruction, and above it what the entry looks for: fn and arg.
 *
 * Prev: fiber/ctx.h  Next: fiber/ctx_x86_64.S */
#include "ctx.h"

#include <string.h>

/* Words of the saved frame, and which of them is the next instruction; must match the .S files. */
#if defined(__x86_64__)
enum { FRAME_WORDS = 2 + 16 /* red zone */, FRAME_NEXT = 1 };
#elif defined(__aarch64__)
enum { FRAME_WORDS = 2, FRAME_NEXT = 1 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { FRAME_WORDS = 2, FRAME_NEXT = 0 };
#else
#error "no hand-written switch for this processor: build with -DCCRT_SWITCH=ucontext"
#endif

extern void cc__ctx_entry(void);

void cc__ctx_make(struct cc__ctx *c, void *lo, void *hi, void (*fn)(void *), void *arg) {
    (void)lo;
    /* At the entry, with the frame popped, the stack pointer is 16-byte aligned: it makes a call. */
    uintptr_t *start = (uintptr_t *)cc__align_down((uintptr_t)hi, 16) - 2, *frame = start - FRAME_WORDS;
    start[0] = (uintptr_t)fn;
    start[1] = (uintptr_t)arg;
    memset(frame, 0, FRAME_WORDS * sizeof *frame);
    frame[FRAME_NEXT] = (uintptr_t)&cc__ctx_entry;
    c->sp = frame;
}
