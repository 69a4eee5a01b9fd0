/* SPDX-License-Identifier: MIT */
/* Nurseries, deadlines, shields, and results of children.
 *
 * A nursery lies in its owner's frame. It counts its children, and its lock guards who waits, the first error, and the
 * list of those children that have waited for something that can be cancelled: only they have to be told. A child that
 * just runs and ends well is counted in and out, and that is all.
 *
 *   owner (O)                                     children that end (E)
 *   O1 locks                                      E1 not the last: counts out by CAS, without the lock
 *   O2 the count is 0: unlocks, all are through   E2 else: locks, counts out; 0: takes the waiter off,
 *   O3 puts itself on the list, unlocks, waits       decides its wait. Unlocks
 *
 * The count becomes 0 with the lock held. So who finds it 0 at O2, or is woken by E2 and passes through the lock, comes
 * after the last touch of whoever counted out: E1 left somebody to be counted, and E2 unlocked. After that E touches
 * only the waiter's record.
 *
 * sched/cancel.c says how cancellation reaches a child that waits. A nursery knows those inside it, of its owner and
 * of its children, and cancels them too, whatever their owners are doing: it pins them under its lock, and their owners
 * do not leave them before the pin is gone. So one lock at a time is held, and no depth is too deep. One that is opened
 * under what is cancelled already is so from its beginning.
 *
 * The waits that can be cancelled are made so before their node is on a list, since a waker may decide them from then
 * on; and who decides a wait on a list does so with the lock held, since every waiter passes through the lock to take
 * its node off, and then leaves. Whether it got what it waited for is what it finds there, not how its wait was
 * decided.
 *
 * Prev: sched/cancel.c  Next: scope/combine.c */
#include <ccrt/async.h>
#include <ccrt/scope.h>

#include "../base/assert.h"
#include "../plat/clock.h"
#include "../plat/thread.h"
#include "../sched/claims.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_COLLECT = 1, SHIELD_DEPTH_MAX = 255, PIN_SPINS = 100 };

/* The private words of the public structs, by their names here. */
_Static_assert(sizeof(struct cc__waitlist) ==
                   sizeof(((cc_nursery *)0)->priv_lock) + sizeof(((cc_nursery *)0)->priv_waiters),
               "a wait list fits the words kept for it");
static struct cc__waitlist *waiters_of(cc_nursery *n) {
    return (struct cc__waitlist *)(void *)n->priv_lock;
}
static _Atomic size_t *live_of(cc_nursery *n) {
    return (_Atomic size_t *)(void *)&n->priv_live;
}
static _Atomic int *cancelled_of(cc_nursery *n) {
    return (_Atomic int *)(void *)&n->priv_cancelled;
}

static _Atomic int *pins_of(cc_nursery *n) {
    return (_Atomic int *)(void *)&n->priv_pins;
}

static struct cc__task *self_or_die(void) {
    struct cc__task *self = cc__self();
    CC_CHECK(self != NULL, "no memory to let this thread wait");
    return self;
}

static cc_priv_scope *scope_enter(cc_priv_scope *s, int kind) {
    struct cc__task *self = self_or_die();
    cc_priv_scope *up = self->scope;
    cc__forks_scope_enter(self);
    *s = (cc_priv_scope){.up = up,
                         .owner = self,
                         .kind = kind,
                         .deadline_ns = up == NULL ? CC__NEVER : up->deadline_ns,
                         .depth = up == NULL ? 0 : up->depth};
    self->scope = s;
    return s;
}

void cc_priv_scope_leave(cc_priv_scope *s) {
    struct cc__task *self = self_or_die();
    CC_CHECK(self->scope == s, "a scope was left before one inside it");
    cc__forks_scope_leave(self, s);
    self->scope = s->up;
}

cc_priv_scope *cc_priv_deadline_enter(cc_priv_scope *s, int64_t ms) {
    int64_t now = cc__now_ns(), most = (CC__NEVER - 1 - now) / 1000000;
    int64_t when = now + (ms < 0 ? 0 : ms > most ? most : ms) * 1000000;
    scope_enter(s, CC__SCOPE_DEADLINE);
    if (when < s->deadline_ns) s->deadline_ns = when;
    return s;
}

cc_priv_scope *cc_priv_shield_enter(cc_priv_scope *s) {
    scope_enter(s, CC__SCOPE_SHIELD);
    s->deadline_ns = CC__NEVER;
    CC_CHECK(++s->depth <= SHIELD_DEPTH_MAX, "shields are nested more than 255 deep");
    return s;
}

/* The nursery that a scope is in, with no shield between; or NULL. */
static cc_nursery *outer_of(const cc_priv_scope *s) {
    for (s = s->up; s != NULL && s->kind != CC__SCOPE_SHIELD; s = s->up)
        if (s->kind == CC__SCOPE_NURSERY) return (cc_nursery *)(uintptr_t)s;
    return NULL;
}

/* Let its outer nursery know it: cancelling that one cancels this, also if that has happened before. */
static void nursery_link(cc_nursery *n) {
    cc_nursery *outer = n->priv_outer = outer_of(&n->priv_scope);
    if (outer == NULL) return;
    cc__waitlist_lock(waiters_of(outer));
    if (cc__load_relaxed(cancelled_of(outer)) != 0) cc__store_relaxed(cancelled_of(n), -ECANCELED);
    n->priv_next = outer->priv_inner;
    n->priv_link = &outer->priv_inner;
    if (n->priv_next != NULL) n->priv_next->priv_link = &n->priv_next;
    outer->priv_inner = n;
    cc__waitlist_unlock(waiters_of(outer));
}

static void nursery_unlink(cc_nursery *n) {
    cc_nursery *outer = n->priv_outer;
    if (outer == NULL) return;
    cc__waitlist_lock(waiters_of(outer));
    *n->priv_link = n->priv_next;
    if (n->priv_next != NULL) n->priv_next->priv_link = n->priv_link;
    cc__waitlist_unlock(waiters_of(outer));
    /* [NS1] acquire: pairs with the release of the last pin; the canceller is through with it. */
    for (unsigned spins = 0; cc__load_acquire(pins_of(n)) != 0; spins++)
        spins < PIN_SPINS ? cc__cpu_relax() : cc__thread_yield();
}

cc_nursery *cc_priv_nursery_enter(cc_nursery *n, const char *file, int line) {
    memset(n, 0, sizeof *n);
    n->priv_file = file;
    n->priv_line = line;
    scope_enter(&n->priv_scope, CC__SCOPE_NURSERY);
    nursery_link(n);
    return n;
}

/* Cancel one, with its lock. Returns `list` and the nurseries inside it, pinned: they are for cancel_inner(), without
 * the lock. */
static cc_nursery *cancel_locked(cc_nursery *n, int code, cc_nursery *list) {
    if (cc__load_relaxed(cancelled_of(n)) != 0) return list;
    cc__store_release(cancelled_of(n), code); /* [CN2] release: what the canceller wrote before is seen */
    for (struct cc__task *t = n->priv_children; t != NULL; t = t->older) cc__unpark_to_cancel(t);
    struct cc__task *owner = n->priv_scope.owner;
    if (owner != cc__self()) cc__unpark_to_cancel(owner);
    for (cc_nursery *i = n->priv_inner; i != NULL; i = i->priv_next) { /* once: a nursery is cancelled once */
        cc__add_relaxed(pins_of(i), 1);
        i->priv_to_cancel = list;
        list = i;
    }
    return list;
}

/* Cancel the nurseries of a list, and those inside them, holding one lock at a time however deep they are. */
static void cancel_inner(cc_nursery *list) {
    while (list != NULL) {
        cc_nursery *n = list;
        list = n->priv_to_cancel;
        cc__waitlist_lock(waiters_of(n));
        list = cancel_locked(n, -ECANCELED, list);
        cc__waitlist_unlock(waiters_of(n));
        cc__sub_acq_rel(pins_of(n), 1); /* [NS1] release: its owner may go on */
    }
}

void cc__nursery_cancel(cc_nursery *n, int code) {
    cc__waitlist_lock(waiters_of(n));
    cc_nursery *inner = cancel_locked(n, code, NULL);
    cc__waitlist_unlock(waiters_of(n));
    cancel_inner(inner);
}

void cc_nursery_cancel(cc_nursery *n) {
    cc__nursery_cancel(n, -ECANCELED);
}

void cc_nursery_collect(cc_nursery *n) {
    n->priv_flags |= FLAG_COLLECT;
}

/* ---- what ends with it ---- */

static struct cc__nursery_hook *_Atomic *hooks_of(cc_nursery *n) {
    return (struct cc__nursery_hook * _Atomic *)(void *)&n->priv_hooks;
}
static _Atomic int *owner_waits_of(cc_nursery *n) {
    return (_Atomic int *)(void *)&n->priv_owner_waits;
}

void cc__nursery_add_hook(cc_nursery *n, struct cc__nursery_hook *h) {
    cc__waitlist_lock(waiters_of(n));
    h->next = cc__load_relaxed(hooks_of(n));
    cc__store_relaxed(hooks_of(n), h); /* children that end look at it with the lock, or go without */
    cc__waitlist_unlock(waiters_of(n));
}

struct cc__task *cc__nursery_owner(const cc_nursery *n) {
    return n->priv_scope.owner;
}

size_t cc__nursery_live(cc_nursery *n, bool *owner_waits) {
    *owner_waits = cc__load_relaxed(owner_waits_of(n)) != 0;
    return cc__load_relaxed(live_of(n));
}

/* With the lock: one less is left that could do something. */
static void hooks_look(cc_nursery *n, struct cc__claims *over) {
    for (struct cc__nursery_hook *h = cc__load_relaxed(hooks_of(n)); h != NULL; h = h->next) h->all_wait(h, over);
}

static void hooks_end(cc_nursery *n) {
    struct cc__nursery_hook *next = cc__load_relaxed(hooks_of(n));
    for (struct cc__nursery_hook *h = next; h != NULL; h = next) {
        next = h->next; /* it may be gone */
        h->at_end(h);
    }
}

/* ---- children ---- */

void cc__nursery_list(struct cc__task *self) {
    cc_nursery *n = self->nursery;
    cc__waitlist_lock(waiters_of(n));
    struct cc__task *newest = n->priv_children;
    self->older = newest;
    self->younger = NULL;
    if (newest != NULL) newest->younger = self;
    n->priv_children = self;
    self->listed = 1;
    cc__waitlist_unlock(waiters_of(n));
}

/* Take it off the list, with the lock. */
static void unlist(cc_nursery *n, struct cc__task *t) {
    if (!t->listed) return;
    t->listed = 0;
    if (t->younger != NULL)
        t->younger->older = t->older;
    else
        n->priv_children = t->older;
    if (t->older != NULL) t->older->younger = t->younger;
}

void cc__nursery_unlist(struct cc__task *self) {
    cc_nursery *n = self->nursery;
    cc__waitlist_lock(waiters_of(n));
    unlist(n, self);
    cc__waitlist_unlock(waiters_of(n));
}

/* A child's result: the first error counts, and cancels the rest. Being cancelled is no error of its own. Returns what
 * is for cancel_inner(). */
static cc_nursery *note_result(cc_nursery *n, int rc) {
    if (rc >= 0) return NULL;
    bool was_cancelled = cc__load_relaxed(cancelled_of(n)) != 0;
    if (rc == -ECANCELED && !was_cancelled && n->priv_scope.deadline_ns != CC__NEVER &&
        n->priv_scope.deadline_ns <= cc__now_ns()) {
        return cancel_locked(n, -ETIMEDOUT, NULL);
    }
    if (rc == -ECANCELED && was_cancelled) return NULL;
    if (n->priv_error == 0) n->priv_error = rc;
    return (n->priv_flags & FLAG_COLLECT) == 0 ? cancel_locked(n, -ECANCELED, NULL) : NULL;
}

/* E2: with the lock, which is given up: the last touch of the nursery. */
static void count_out_and_unlock(cc_nursery *n, size_t count, cc_nursery *inner) {
    struct cc__task *waiter = NULL;
    uint32_t generation = 0;
    /* [NS2] acquire: what those did that were counted out before is the owner's to see, through the lock. */
    bool last = cc__sub_acq_rel(live_of(n), count) == count;
    struct cc__wait *w = last ? cc__waitlist_take_first(waiters_of(n)) : NULL;
    struct cc__claims over = {0};
    if (w == NULL) hooks_look(n, &over);
    if (w != NULL) {
        waiter = w->task;
        generation = cc__task_generation(cc__load_relaxed(&waiter->control));
        cc__wait_decide(waiter, w->epoch, CC__MATCHED);
    }
    cc__waitlist_unlock(waiters_of(n));
    cancel_inner(inner); /* pinned: they do not need this one */
    if (waiter != NULL) cc__unpark(waiter, generation);
    cc__claims_wake(&over);
}

static void child_end(cc_nursery *n, struct cc__task *t, int rc) {
    cc__waitlist_lock(waiters_of(n));
    unlist(n, t);
    cc_nursery *inner = note_result(n, rc);
    count_out_and_unlock(n, 1, inner);
}

void cc__nursery_children_ended(cc_nursery *n, size_t count) {
    size_t live = cc__load_relaxed(live_of(n));
    CC__EDGE_RELEASE(waiters_of(n));                                  /* whose lock its owner takes */
    while (live > count && cc__load_relaxed(hooks_of(n)) == NULL)     /* E1 */
        if (cc__cas_acq_rel(live_of(n), &live, live - count)) return; /* [NS2] release: for who counts out the last */
    cc__waitlist_lock(waiters_of(n));
    count_out_and_unlock(n, count, NULL);
}

static void result_set(cc_priv_result *f, int status);

static void drop_arguments(struct cc__task *t) {
    if (t->has_heap) free(t->heap);
    t->has_heap = 0;
}

static void *child_main(void *arg) {
    struct cc__task *t = arg;
    int rc = t->body(t->has_heap ? t->heap : t->args);
    drop_arguments(t);
    if (t->has_locals) cc__locals_end(t);
    if (t->has_future) result_set(t->future, 0);
    if (rc >= 0 && !t->listed)
        t->counts_out = 1; /* sched/finish.c */
    else
        child_end(t->nursery, t, rc);
    return NULL;
}

/* As well aligned as malloc() does it: for any type that is not aligned by hand. */
_Static_assert(offsetof(struct cc__task, args) % _Alignof(max_align_t) == 0, "arguments in the record are aligned");

static int child_arguments(struct cc__task *t, const void *args, size_t size) {
    if (size > sizeof t->args) {
        t->heap = malloc(size);
        if (t->heap == NULL) return -ENOMEM;
        t->has_heap = 1;
    }
    if (size > 0) memcpy(t->has_heap ? t->heap : t->args, args, size);
    return 0;
}

static int nursery_spawn(cc_nursery *n, cc_priv_result *f, int (*fn)(void *), const void *args, size_t size,
                         const cc_site *site) {
    struct cc__task *t;
    if (n == NULL || fn == NULL || (args == NULL && size > 0)) return -EINVAL;
    int rc = cc__spawn_prepare(NULL, &t, child_main, NULL);
    if (rc != 0) return rc;
    t->value = t;
    t->body = fn;
    t->nursery = n;
    t->scope = &n->priv_scope;
    t->site = site;
    t->no_handle = 1;
    if (f != NULL) {
        t->future = f;
        t->has_future = 1;
    }
    rc = cc__nursery_cancelled(n) != 0 ? -ECANCELED : child_arguments(t, args, size);
    if (rc == 0) {
        cc__add_relaxed(live_of(n), 1);
        rc = cc__spawn_launch(t);
        if (rc == 0) return 0;
        child_end(n, t, 0);
    }
    drop_arguments(t);
    cc__record_free(t);
    return rc;
}

int cc_nursery_spawn(cc_nursery *n, int (*fn)(void *), const void *args, size_t size, const cc_site *site) {
    return nursery_spawn(n, NULL, fn, args, size, site);
}

/* ---- waiting for them ---- */

/* Whether there are children to wait for; then the node, of a wait that was begun, is on the list. */
static bool wait_register(cc_nursery *n, struct cc__wait *w) {
    cc__waitlist_lock(waiters_of(n));
    bool wait = cc__load_relaxed(live_of(n)) > 0;
    struct cc__claims over = {0};
    if (wait) {
        cc__waitlist_append(waiters_of(n), w);
        cc__store_relaxed(owner_waits_of(n), 1);
        hooks_look(n, &over);
    }
    cc__waitlist_unlock(waiters_of(n));
    cc__claims_wake(&over);
    return wait;
}

/* What its wait returns; its last child has left it once this has the lock. */
static int wait_result(cc_nursery *n) {
    cc__waitlist_lock(waiters_of(n));
    cc__store_relaxed(owner_waits_of(n), 0);
    int rc = n->priv_error != 0 ? n->priv_error : cc__load_relaxed(cancelled_of(n));
    cc__waitlist_unlock(waiters_of(n));
    return rc;
}

static struct cc__task *owner_or_die(const cc_nursery *n) {
    struct cc__task *self = self_or_die();
    CC_CHECK(n->priv_scope.owner == self, "a nursery was waited for by another than its owner");
    return self;
}

/* Until when its children may go on. */
static int64_t deadline_of(const cc_nursery *n) {
    return cc__nursery_cancelled(n) != 0 ? CC__NEVER : n->priv_scope.deadline_ns;
}

int cc_nursery_wait(cc_nursery *n) {
    struct cc__task *self = owner_or_die(n);
    for (;;) {
        struct cc__wait w;
        int64_t deadline = deadline_of(n);
        cc__wait_begin(&w, self, deadline == CC__NEVER ? CC__BY_LIST : CC__BY_ANY, n, "nursery");
        if (!wait_register(n, &w)) return wait_result(n);
        enum cc__outcome outcome = deadline == CC__NEVER ? cc__wait_for_ever(&w) : cc__wait_for(&w, deadline);
        if (deadline != CC__NEVER) cc__waitlist_leave(waiters_of(n), &w);
        if (outcome == CC__TIMED_OUT) cc__nursery_cancel(n, -ETIMEDOUT);
    }
}

/* Wait, with the node on a list, until something happens: whoever wakes, cancellation, a deadline, or nothing. */
static void wait_listed(struct cc__wait *w, int64_t deadline_ns) {
    struct cc__task *self = w->task;
    cc__cancel_listen(self);
    if (cc__cancel_code(self) != 0) return;
    int64_t scope_ns = self->scope == NULL ? CC__NEVER : self->scope->deadline_ns;
    (void)cc__wait_for(w, scope_ns < deadline_ns ? scope_ns : deadline_ns);
}

int cc_nursery_wait_cancellable(cc_nursery *n) {
    struct cc__task *self = owner_or_die(n);
    for (;;) {
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_CANCEL, n, "nursery");
        if (!wait_register(n, &w)) return wait_result(n);
        wait_listed(&w, deadline_of(n));
        cc__waitlist_leave(waiters_of(n), &w);
        if (deadline_of(n) <= cc__now_ns()) cc__nursery_cancel(n, -ETIMEDOUT);
        int code = cc__cancel_code(self);
        if (code == 0) continue;
        cc__cancel_pass_on(self); /* its children are told now, not when it waits next */
        cc__store_relaxed(owner_waits_of(n), 0);
        return cc__nursery_cancelled(n) != 0 ? wait_result(n) : code;
    }
}

void cc_priv_nursery_leave(void *nursery) {
    cc_nursery *n = nursery;
    cc__waitlist_lock(waiters_of(n));
    cc_nursery *inner = cc__load_relaxed(live_of(n)) > 0 ? cancel_locked(n, -ECANCELED, NULL) : NULL; /* left early */
    cc__waitlist_unlock(waiters_of(n));
    cancel_inner(inner);
    cc__forks_scope_leave(n->priv_scope.owner, &n->priv_scope); /* they may spawn here */
    (void)cc_nursery_wait(n);
    if (cc__load_relaxed(hooks_of(n)) != NULL) hooks_end(n);
    nursery_unlink(n);
    cc_priv_scope_leave(&n->priv_scope);
}

/* ---- results ---- */

static struct cc__waitlist *awaiters_of(cc_priv_result *f) {
    return (struct cc__waitlist *)(void *)f->priv_lock;
}

/* Nothing of the result is touched after the unlock: who awaited it passes through the lock, and may use it anew. */
static void result_set(cc_priv_result *f, int status) {
    cc__waitlist_lock(awaiters_of(f));
    f->priv_done = 1;
    f->priv_status = status;
    cc__wake_all(awaiters_of(f), CC__MATCHED); /* and unlocks */
}

int cc_priv_async(cc_nursery *n, cc_priv_result *f, int (*fn)(void *), const void *args, size_t size,
                  const cc_site *site) {
    memset(f, 0, sizeof *f);
    int rc = nursery_spawn(n, f, fn, args, size, site);
    if (rc != 0) result_set(f, rc);
    return rc;
}

int cc_priv_result_fail(cc_priv_result *f, int rc) {
    memset(f, 0, sizeof *f);
    result_set(f, rc);
    return rc;
}

/* Whether it is still to come; then the node is on the list. */
static bool await_register(cc_priv_result *f, struct cc__wait *w) {
    cc__waitlist_lock(awaiters_of(f));
    bool wait = f->priv_done == 0;
    if (wait) cc__waitlist_append(awaiters_of(f), w);
    cc__waitlist_unlock(awaiters_of(f));
    return wait;
}

/* Take the node off. Whether it is there after all. */
static bool await_leave(cc_priv_result *f, struct cc__wait *w) {
    cc__waitlist_lock(awaiters_of(f));
    cc__waitlist_remove(awaiters_of(f), w);
    bool done = f->priv_done != 0;
    cc__waitlist_unlock(awaiters_of(f));
    return done;
}

void cc_priv_await(cc_priv_result *f) {
    struct cc__wait w;
    cc__wait_begin(&w, self_or_die(), CC__BY_LIST, f, "await");
    if (!await_register(f, &w)) {
        cc__run_operation();
        return;
    }
    cc__wait_for_ever(&w);
    await_leave(f, &w);
}

int cc_priv_await_cancellable(cc_priv_result *f) {
    struct cc__task *self = self_or_die();
    for (;;) {
        struct cc__wait w;
        cc__wait_begin(&w, self, CC__BY_CANCEL, f, "await");
        if (!await_register(f, &w)) return 0;
        wait_listed(&w, CC__NEVER);
        if (await_leave(f, &w)) return 0;
        int code = cc__cancel_code(self);
        if (code != 0) return code;
    }
}

int cc_priv_result_status(cc_priv_result *f) {
    cc_priv_await(f);
    return f->priv_status;
}
