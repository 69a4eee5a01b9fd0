/* SPDX-License-Identifier: MIT */
/* Contexts by ucontext(3): for processors without a switch of their own, and on request
 * (-DCCRT_SWITCH=ucontext). Slow, two system calls a switch, but everywhere.
 *
 * The ucontext_t of a context that is not running lies in the frame of the cc__ctx_switch() that left
 * it, or, before it first runs, at the top of its stack: so here too a context is one pointer.
 *
 * Prev: fiber/ctx.h */
#include "ctx.h"

#include "../base/assert.h"

#include <ucontext.h>

struct start {
    ucontext_t uc; /* first: the context's sp points to it */
    void (*fn)(void *);
    void *arg;
};

static void start_run(unsigned high, unsigned low) { /* makecontext() passes ints only */
    struct start *s = (struct start *)(((uintptr_t)high << 16 << 16) | low);
    s->fn(s->arg);
    CC_CHECK(false, "a context's function returned");
}

void cc__ctx_make(struct cc__ctx *c, void *lo, void *hi, void (*fn)(void *), void *arg) {
    uintptr_t at = cc__align_down((uintptr_t)hi - sizeof(struct start), 64);
    struct start *s = (struct start *)at;
    CC_CHECK(getcontext(&s->uc) == 0, "getcontext failed");
    s->uc.uc_stack.ss_sp = lo;
    s->uc.uc_stack.ss_size = (size_t)(at - (uintptr_t)lo);
    s->uc.uc_link = NULL;
    s->fn = fn;
    s->arg = arg;
    makecontext(&s->uc, (void (*)(void))start_run, 2, (unsigned)(at >> 16 >> 16), (unsigned)at);
    c->sp = &s->uc;
}

void cc__ctx_switch(struct cc__ctx *from, const struct cc__ctx *to) {
    ucontext_t here;
    from->sp = &here;
    swapcontext(&here, to->sp);
}
