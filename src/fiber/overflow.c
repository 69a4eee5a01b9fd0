/* SPDX-License-Identifier: MIT */
/* Stack overflow. A fault is ours if the address lies in the guard below the stack of the fiber that
 * runs on the faulting thread; anything else goes on to the program's own handler.
 *
 * It runs in a signal handler, so it only reads the fiber's record and writes one line.
 *
 * Prev: fiber/fiber.c  Next: step/sched.c */
#include "overflow.h"

#include "../base/assert.h"
#include "../base/text.h"
#include "../plat/fault.h"
#include "../plat/thread.h"
#include "fiber.h"

#include <stdlib.h>

enum { NAME_SHOWN = 64 }; /* bytes of a name: what happened must fit too */

/* `fiber 7 "parse"`, or `fiber 7`. */
static void name_fiber(struct cc__text *t, const struct cc__fiber *f) {
    cc__text_str(t, "fiber ");
    cc__text_dec(t, f->serial);
    if (f->name == NULL) return;
    cc__text_str(t, " \"");
    size_t room = t->size - t->len;
    struct cc__text name = cc__text_on(t->buf + t->len, room < NAME_SHOWN ? room : NAME_SHOWN);
    cc__text_str(&name, f->name);
    t->len += name.len;
    cc__text_str(t, "\"");
}

static void overflow_look(void *addr) {
    const struct cc__fiber *f = cc__fiber_current();
    if (f == NULL || f->stack == NULL) return;
    const char *at = addr;
    if (at >= f->lo || at < f->lo - CC__STACK_GUARD_BYTES) return;

    char buf[512];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__text_str(&t, "ccrt: ");
    name_fiber(&t, f);
    cc__text_str(&t, " overflowed its ");
    cc__text_dec(&t, f->bytes);
    cc__text_str(&t, "-byte stack (touched ");
    cc__text_hex(&t, (uintptr_t)at);
    cc__text_str(&t, ", ");
    cc__text_dec(&t, (uint64_t)(f->lo - at));
    cc__text_str(&t, " bytes below it; give it more by stack_bytes, or keep large arrays off the stack)\n");
    cc__text_print(&t);
    abort();
}

/* Who is running, for a failed check. */
static size_t overflow_context(char *buf, size_t size) {
    const struct cc__fiber *f = cc__fiber_current();
    if (f == NULL || f->stack == NULL) return 0;
    struct cc__text t = cc__text_on(buf, size);
    name_fiber(&t, f);
    cc__text_str(&t, ": ");
    return t.len;
}

int cc__overflow_install(void) {
    static cc__lock lock = CC__LOCK_INIT;
    static bool done; /* guarded by lock */
    cc__lock_take(&lock);
    int rc = done ? 0 : cc__fault_install(overflow_look);
    if (rc == 0 && !done) cc__fail_set_context(overflow_context);
    done = rc == 0;
    cc__lock_drop(&lock);
    return rc;
}
