/* SPDX-License-Identifier: MIT */
/* All of several functions, the first to finish, the first success: a nursery, and a word for who won.
 *
 * Each branch runs as a child. When its function has returned, it asks whether it was told to stop; if not, and if what
 * it returned counts, it claims the word; who claims it cancels the nursery. The call waits for all of them and reads
 * the word. A branch that was told to stop loses even if it returned a value: whether the caller's time was up is
 * decided before who won, so that a clean stop at a deadline is not taken for a result.
 *
 * Rejected: asking the nursery which child was first. It keeps the first error only, which is neither the first to
 * finish nor a success.
 *
 * Prev: scope/nursery.c  Next: time/sleep.c */
#include <ccrt/combine.h>
#include <ccrt/scope.h>

#include "../base/atomic.h"

#include <errno.h>
#include <limits.h>

enum kind { KIND_ALL, KIND_RACE, KIND_ANY };

struct group {
    cc_nursery *nursery;
    enum kind kind;
    _Atomic int winner;      /* index; -1: none yet.  W: the first branch that counts.  R: the caller, after the join */
    _Atomic int first_error; /* 0: none.  W: the first that fails or cannot be started.  R: the same */
};

struct job {
    struct group *group;
    cc_branch *branch;
    int index;
};

static void note_error(struct group *g, int rc) {
    int none = 0;
    (void)cc__cas_relaxed(&g->first_error, &none, rc); /* the join orders it */
}

static int branch_main(void *args) {
    struct job *j = args;
    struct group *g = j->group;
    int rc = j->branch->fn(j->branch->arg);
    j->branch->result = rc;
    if (g->kind == KIND_ALL) return rc;         /* the nursery does the rest */
    if (cc_cancelled() != 0) return -ECANCELED; /* the nursery finds out why */
    if (rc < 0 && g->kind == KIND_ANY) {
        note_error(g, rc);
        return 0;
    }
    int none = -1;
    if (cc__cas_relaxed(&g->winner, &none, j->index)) cc_nursery_cancel(g->nursery);
    return 0;
}

/* Start them, as far as they are still wanted. */
static void start(struct group *g, cc_branch *b, size_t n) {
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        struct job j = {.group = g, .branch = &b[i], .index = (int)i};
        if (rc == 0 || g->kind == KIND_ANY)
            rc = cc_nursery_spawn(g->nursery, branch_main, &j, sizeof j, CC_SITE("branch"));
        if (rc == 0) continue;
        b[i].result = rc;
        if (rc == -ECANCELED) continue; /* it is decided: the rest is not needed */
        note_error(g, rc);
        if (g->kind != KIND_ANY) {
            cc_nursery_cancel(g->nursery);
            rc = -ECANCELED;
        }
    }
}

static int combine(enum kind kind, cc_branch *b, size_t n) {
    if (n > INT_MAX || (b == NULL && n > 0) || (n == 0 && kind != KIND_ALL)) return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (b[i].fn == NULL) return -EINVAL;
    struct group g = {.kind = kind, .winner = -1};
    int rc = 0;
    CC_NURSERY(nursery) {
        g.nursery = nursery;
        start(&g, b, n);
        rc = cc_nursery_wait(nursery);
    }
    int error = cc__load_relaxed(&g.first_error), winner = cc__load_relaxed(&g.winner);
    if (winner >= 0) return winner;
    if (kind == KIND_ANY) return rc != 0 ? rc : error;  /* stopped from outside; or all have failed */
    return rc == -ECANCELED && error != 0 ? error : rc; /* one could not be started */
}

int cc_all(cc_branch *b, size_t n) {
    return combine(KIND_ALL, b, n);
}

int cc_race(cc_branch *b, size_t n) {
    return combine(KIND_RACE, b, n);
}

int cc_any(cc_branch *b, size_t n) {
    return combine(KIND_ANY, b, n);
}
