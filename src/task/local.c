/* SPDX-License-Identifier: MIT */
/* Task-local values. A task that sets one has an array of them, found by the key's index; each value says for which
 * generation of the key it was set, so that a key given up and made anew finds nothing old.
 *
 * Prev: task/pool.c  Next: driver/timer.h */
#include <ccrt/local.h>

#include "../plat/thread.h"
#include "task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 1024, FIRST_ROOM = 8, ROUNDS = 4 };

struct cc__locals {
    uint32_t room;
    struct cc__local {
        void *value;
        uint32_t generation;
    } at[];
};

/* A key in use has an odd generation. */
static struct {
    cc__lock lock;
    struct {
        _Atomic uint32_t generation;          /* W: with the lock.  R: any thread.  [LC1] */
        void (*_Atomic destroy)(void *value); /* W: with the lock, before the generation.  R: any thread */
    } key[KEYS_MAX];
} keys = {.lock = CC__LOCK_INIT};

int cc_local_create(cc_local *key, void (*destroy)(void *value)) {
    if (key == NULL) return -EINVAL;
    int rc = -EAGAIN;
    cc__lock_take(&keys.lock);
    for (uint32_t i = 0; i < KEYS_MAX && rc != 0; i++) {
        uint32_t generation = cc__load_relaxed(&keys.key[i].generation);
        if (generation % 2 != 0) continue;
        cc__store_relaxed(&keys.key[i].destroy, destroy);
        cc__store_release(&keys.key[i].generation, generation + 1); /* [LC1] release: its destructor is seen */
        *key = (cc_local){i, generation + 1};
        rc = 0;
    }
    cc__lock_drop(&keys.lock);
    return rc;
}

static bool in_use(cc_local key) {
    return key.priv_index < KEYS_MAX && key.priv_generation % 2 != 0 &&
           cc__load_acquire(&keys.key[key.priv_index].generation) == key.priv_generation; /* [LC1] */
}

int cc_local_delete(cc_local key) {
    int rc = -ESRCH;
    cc__lock_take(&keys.lock);
    if (in_use(key)) {
        cc__store_release(&keys.key[key.priv_index].generation, key.priv_generation + 1); /* [LC1] */
        rc = 0;
    }
    cc__lock_drop(&keys.lock);
    return rc;
}

void *cc__local_get(const struct cc__task *t, cc_local key) {
    if (!t->has_locals) return NULL;
    const struct cc__locals *l = t->locals;
    if (key.priv_index >= l->room || !in_use(key)) return NULL;
    return l->at[key.priv_index].generation == key.priv_generation ? l->at[key.priv_index].value : NULL;
}

static int make_room(struct cc__task *t, uint32_t index) {
    struct cc__locals *before = t->has_locals ? t->locals : NULL;
    uint32_t old = before == NULL ? 0 : before->room, room = old == 0 ? FIRST_ROOM : old;
    while (room <= index) room *= 2;
    if (room == old) return 0;
    struct cc__locals *l = realloc(before, sizeof *l + room * sizeof l->at[0]);
    if (l == NULL) return -ENOMEM;
    memset(&l->at[old], 0, (room - old) * sizeof l->at[0]);
    l->room = room;
    t->locals = l;
    t->has_locals = 1;
    return 0;
}

int cc__local_set(struct cc__task *t, cc_local key, void *value) {
    if (!in_use(key)) return -ESRCH;
    int rc = make_room(t, key.priv_index);
    if (rc == 0) t->locals->at[key.priv_index] = (struct cc__local){value, key.priv_generation};
    return rc;
}

/* Destroy what is set now; destructors may set more. Returns whether there was anything. */
static bool destroy_round(struct cc__task *t) {
    bool any = false;
    for (uint32_t i = 0; i < t->locals->room; i++) { /* looked at anew each time: a destructor may make room */
        struct cc__local was = t->locals->at[i];
        t->locals->at[i].value = NULL;
        if (was.value == NULL || !in_use((cc_local){i, was.generation})) continue;
        void (*destroy)(void *) = cc__load_relaxed(&keys.key[i].destroy);
        if (destroy != NULL) destroy(was.value);
        any = true;
    }
    return any;
}

void cc__locals_end(struct cc__task *t) {
    for (int round = 0; round < ROUNDS && destroy_round(t);) round++;
    free(t->locals);
    t->has_locals = 0;
}
