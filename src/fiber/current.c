/* SPDX-License-Identifier: MIT */
/* The thread-locals, and the root fiber of each thread that switches.
 *
 * They stand in one file so that whoever switches links it: only assembly names the thread-locals, which
 * neither a linker that searches archives nor link-time optimisation can see (hence `used`, too).
 *
 * Prev: fiber/hooks.c  Next: fiber/stack.c */
#include "current.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "../plat/fault.h"
#include "../plat/thread.h"
#include "fiber.h"
#include "overflow.h"

#include <errno.h>
#include <stdlib.h>

__attribute__((used)) _Thread_local struct cc__fiber *cc__current_fiber;
__attribute__((used)) _Thread_local struct cc__worker *cc__current_worker;

/* The same under a name that programs may use, inline (ccrt/mutex.h). */
extern __attribute__((tls_model("initial-exec"), visibility("default"),
                      alias("cc__current_fiber"))) _Thread_local struct cc__fiber *cc_priv_fiber_here;

#ifndef CC__LOCAL_SET

/* The assembly has a side effect for all the compiler knows, so that calls are neither merged nor
 * dropped. */
CC__NOINLINE struct cc__fiber *cc__fiber_current(void) {
    __asm__ volatile("" ::: "memory");
    return cc__current_fiber;
}

CC__NOINLINE void cc__fiber_set_current(struct cc__fiber *f) {
    cc__current_fiber = f;
    __asm__ volatile("" ::: "memory");
}

CC__NOINLINE struct cc__worker *cc__worker_current(void) {
    __asm__ volatile("" ::: "memory");
    return cc__current_worker;
}

CC__NOINLINE void cc__worker_set_current(struct cc__worker *w) {
    cc__current_worker = w;
    __asm__ volatile("" ::: "memory");
}

#endif

static void attach_end(void *root) {
    cc__hooks_fiber_end(root, true);
    cc__fiber_set_current(NULL);
    free(root);
}
static struct cc__at_end attach_at_end = {.fn = attach_end};

static _Atomic int forbidden; /* W: the child of fork(), alone.  R: all */

void cc__fiber_forbid(void) {
    cc__store_relaxed(&forbidden, 1);
    cc__fiber_set_current(NULL);
}

void cc__fiber_check_allowed(void) {
    CC_CHECK(cc__load_relaxed(&forbidden) == 0, "after fork() a child may only call exec or _exit");
}

static CC__COLD int attach_thread(struct cc__fiber **current) {
    cc__fiber_check_allowed();
    int rc = cc__overflow_install();
    if (rc == 0) rc = cc__fault_thread_begin();
    if (rc != 0) return rc;
    struct cc__fiber *root = calloc(1, sizeof *root);
    if (root == NULL) return -ENOMEM;
    rc = cc__at_end_arm(&attach_at_end, root);
    if (rc != 0) {
        free(root);
        return rc;
    }
    root->hooks = cc__hooks_present();
    cc__hooks_fiber_begin(root, true);
    cc__fiber_set_current(root);
    *current = root;
    return 0;
}

int cc__fiber_attach(struct cc__fiber **current) {
    *current = cc__fiber_current();
    return CC__LIKELY(*current != NULL) ? 0 : attach_thread(current);
}
