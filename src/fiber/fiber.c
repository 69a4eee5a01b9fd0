/* SPDX-License-Identifier: MIT */
/* Fibers. See fiber.h; overflow.c says what happens when one outgrows its stack.
 *
 * The records at the tops of the stacks are spread by a few cache lines, because stacks lie at a
 * constant distance: without it the records and first frames of all fibers would compete for the same
 * few sets of the first-level cache.
 *
 * Prev: fiber/stack.c  Next: fiber/overflow.c */
#include "fiber.h"

#include "../base/assert.h"
#include "../plat/vm.h"

#include <string.h>

/* Records start at one of COLOURS places, COLOUR_BYTES apart, below the top. */
enum { COLOURS = 16, COLOUR_BYTES = CC__CACHE_LINE };

_Static_assert(sizeof(struct cc__fiber) + (size_t)COLOURS * COLOUR_BYTES <= 2048,
               "a fiber's record and its offset leave half of the first page to its frames");

static struct cc__fiber *record_of(struct cc__stack *s) {
    char *top = s->lo + cc__stack_bytes(s) - (cc__stack_index(s) % COLOURS) * COLOUR_BYTES;
    return (struct cc__fiber *)cc__align_down((uintptr_t)(top - sizeof(struct cc__fiber)), CC__CACHE_LINE);
}

int cc__fiber_create(struct cc__fiber **out, struct cc__stack_cache *cache, size_t bytes, bool own_fpu, bool fresh) {
    struct cc__stack *s;
    int rc = cc__stack_get(cache, cc__stack_class(bytes), &s);
    if (rc != 0) return rc;
    if (fresh && s->warm) cc__vm_discard(s->lo, cc__stack_bytes(s));
    s->warm = true;
    struct cc__fiber *f = record_of(s);
    memset(f, 0, sizeof *f);
    f->hooks = cc__hooks_present() | (own_fpu ? CC__HOOK_FPU : 0);
    f->stack = s;
    f->lo = s->lo;
    f->bytes = cc__stack_bytes(s);
    if (f->hooks != 0) cc__hooks_fiber_begin(f, false);
    *out = f;
    return 0;
}

void cc__fiber_destroy(struct cc__fiber *f, struct cc__stack_cache *cache) {
    CC_ASSERT(f->stack != NULL && f != cc__fiber_current());
    struct cc__stack *s = f->stack;
    if (f->hooks != 0) {
        cc__hooks_abandon(f);
        cc__hooks_fiber_end(f, false);
    }
    cc__stack_put(cache, s);
}

void cc__fiber_describe(struct cc__fiber *f, uint64_t serial, const char *name) {
    f->serial = serial;
    f->name = name;
    if (f->hooks != 0) cc__hooks_fiber_named(f, name);
}

static void fiber_entry(void *arg) {
    struct cc__fiber *f = arg;
    if (f->hooks != 0) cc__hooks_arrive(f);
    f->fn(f->arg);
    CC_CHECK(false, "a fiber's function returned to the library");
}

void cc__fiber_start(struct cc__fiber *f, void (*fn)(void *), void *arg) {
    f->fn = fn;
    f->arg = arg;
    cc__ctx_make(&f->ctx, f->lo, f, fiber_entry, f);
}

/* It reads what no function may: below the stack pointer, and between the red zones. */
CC__HOOKS_UNCHECKED size_t cc__fiber_stack_used(const struct cc__fiber *f) {
    CC_ASSERT(f->stack != NULL);
    const char *end = (const char *)f, *at = cc__vm_lowest_resident(f->lo, f->bytes);
    if (at == NULL) return 0;
    cc__hooks_checks(false);
    while (at < end && *(const uintptr_t *)(const void *)at == 0) at += sizeof(uintptr_t);
    cc__hooks_checks(true);
    return (size_t)(end - at);
}

void cc__fiber_switch_hooked(struct cc__fiber *from, struct cc__fiber *to) {
    cc__hooks_leave(from, to, false);
    CC__HOOKS_TSAN_SWITCH(from, to);
    cc__ctx_switch(&from->ctx, &to->ctx);
    cc__hooks_arrive(from); /* `from` is who runs now: this is its stack */
}

void cc__fiber_exit(struct cc__fiber *from, struct cc__fiber *to) {
    cc__fiber_set_current(to);
    if ((from->hooks | to->hooks) != 0) cc__hooks_leave(from, to, true);
    from->hook.asan_fake = NULL;
    CC__HOOKS_TSAN_SWITCH(from, to);
    cc__ctx_switch(&from->ctx, &to->ctx);
    __builtin_unreachable();
}
