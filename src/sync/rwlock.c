/* SPDX-License-Identifier: MIT */
/* Reader-writer locks: a writer, or a number of readers, and those that wait, in the order they came.
 *
 * All is decided under the list's lock, as sync.h has it, and handed over: who goes on has the lock. Who comes while
 * somebody waits goes behind, so a writer waits for the readers of the moment and no others, and readers for the
 * writers before them. When the first leaves the list because it was cancelled, those behind it may go on.
 *
 * Prev: sync/cond.c  Next: sync/sem.c */
#include <ccrt/rwlock.h>

#include "sync.h"

#include "../base/assert.h"

enum { READ, WRITE }; /* a node's tag */

static bool is_free_for(const cc_rwlock *l, uint32_t kind) {
    return l->priv_writer == NULL && (kind == READ || l->priv_readers == 0);
}

static void give(cc_rwlock *l, uint32_t kind, struct cc__task *to) {
    if (kind == READ)
        l->priv_readers++;
    else
        l->priv_writer = to;
}

/* With the lock: nobody waits and it is free for this kind: it is given to the caller. */
static bool try_lock(cc_rwlock *l, uint32_t kind, struct cc__task *self) {
    if (CC__SYNC_LIST(l)->first != NULL || !is_free_for(l, kind)) return false;
    give(l, kind, self);
    return true;
}

/* With the lock: give it to the first, and the next, while it is free for them. */
static void grant(cc_rwlock *l, struct cc__claims *got) {
    struct cc__waitlist *list = CC__SYNC_LIST(l);
    while (list->first != NULL && is_free_for(l, list->first->tag))
        if (cc__claims_take(got, list, CC__MATCHED)) give(l, got->last->tag, got->last->task);
}

static void leave(cc_rwlock *l, struct cc__wait *w) {
    struct cc__claims got = {0};
    cc__waitlist_lock(CC__SYNC_LIST(l));
    cc__waitlist_remove(CC__SYNC_LIST(l), w);
    grant(l, &got);
    cc__waitlist_unlock(CC__SYNC_LIST(l));
    cc__claims_wake(&got);
}

static int lock(cc_rwlock *l, uint32_t kind, bool cancellable) {
    static const char *const reason[] = {[READ] = "read lock", [WRITE] = "write lock"};
    struct cc__waitlist *list = CC__SYNC_LIST(l);
    struct cc__task *self = cc__sync_self();
    for (;;) {
        struct cc__wait w;
        cc__waitlist_lock(list);
        bool twice = l->priv_writer == self, got = try_lock(l, kind, self);
        if (!got && !twice) {
            cc__wait_begin(&w, self, cc__sync_deciders(cancellable), l, reason[kind]);
            w.tag = kind;
            cc__waitlist_append(list, &w);
        }
        cc__waitlist_unlock(list);
        CC_CHECK(!twice, "a lock was asked for by who has it to write");
        if (got) return 0;
        int rc = cc__sync_wait(&w, cancellable);
        if (rc == 0) return 0;
        leave(l, &w);
        if (rc != CC__WAIT_AGAIN) return rc;
    }
}

void cc_rwlock_rdlock(cc_rwlock *l) {
    (void)lock(l, READ, false);
}

void cc_rwlock_wrlock(cc_rwlock *l) {
    (void)lock(l, WRITE, false);
}

int cc_rwlock_rdlock_cancellable(cc_rwlock *l) {
    return lock(l, READ, true);
}

int cc_rwlock_wrlock_cancellable(cc_rwlock *l) {
    return lock(l, WRITE, true);
}

static int try_once(cc_rwlock *l, uint32_t kind) {
    struct cc__task *self = cc__sync_self();
    cc__waitlist_lock(CC__SYNC_LIST(l));
    bool got = try_lock(l, kind, self);
    cc__waitlist_unlock(CC__SYNC_LIST(l));
    return got ? 0 : -EAGAIN;
}

int cc_rwlock_tryrdlock(cc_rwlock *l) {
    return try_once(l, READ);
}

int cc_rwlock_trywrlock(cc_rwlock *l) {
    return try_once(l, WRITE);
}

void cc_rwlock_unlock(cc_rwlock *l) {
    struct cc__task *self = cc__sync_self();
    struct cc__claims got = {0};
    cc__waitlist_lock(CC__SYNC_LIST(l));
    CC_CHECK(l->priv_writer == NULL || l->priv_writer == self, "a lock was unlocked by another than its writer");
    CC_CHECK(l->priv_writer != NULL || l->priv_readers > 0, "a lock was unlocked that nobody has locked");
    if (l->priv_writer != NULL)
        l->priv_writer = NULL;
    else
        l->priv_readers--;
    grant(l, &got);
    cc__waitlist_unlock(CC__SYNC_LIST(l));
    cc__claims_wake(&got);
}
