/* SPDX-License-Identifier: MIT */
/* Names to addresses. The resolver of the C library may take seconds, so it runs on a thread for blocking calls, and
 * who asks does not have to wait for it: a lookup lies on the heap, belongs to two, and the last of them frees it. Who
 * asks waits for a notification, which can be cancelled; a task of its own waits for the resolver.
 *
 * Prev: io/address.c  Next: io/net.c */
#include <ccrt/blocking.h>
#include <ccrt/notify.h>
#include <ccrt/scope.h>
#include <ccrt/task.h>

#include "io.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
    _Atomic int owners; /* 2, then 1.  W, R: both.  [RS1] */
    cc_notify over;
    char host[256], port[8];
    bool passive;
    int result; /* as cc__address_resolve(); written before `over` is told */
    struct cc__sockaddr found[CC__ADDRESSES_MAX];
};

static void let_go(struct lookup *l) {
    if (cc__sub_acq_rel(&l->owners, 1) == 1) free(l); /* [RS1] acquire, release: the other is through with it */
}

static int look_up(void *arg) {
    struct lookup *l = arg;
    return l->result = cc__sock_look_up(l->host, l->port, l->passive, l->found, CC__ADDRESSES_MAX);
}

static void *lookup_main(void *arg) {
    struct lookup *l = arg;
    (void)cc_blocking(look_up, l);
    cc_notify_one(&l->over);
    let_go(l);
    return NULL;
}

/* Start a lookup that has two owners. */
static int start(struct lookup *l) {
    cc_task t;
    int rc = cc_task_spawn(&t, &(cc_task_attr){.name = "name lookup"}, lookup_main, l);
    if (rc == 0) (void)cc_task_detach(t);
    return rc;
}

static void print_port(char *out, unsigned port) {
    char digits[8];
    size_t n = 0;
    do digits[n++] = (char)('0' + port % 10);
    while ((port /= 10) != 0);
    for (size_t i = 0; i < n; i++) out[i] = digits[n - 1 - i];
    out[n] = 0;
}

int cc__address_resolve(const struct cc__address *a, bool passive, struct cc__sockaddr out[CC__ADDRESSES_MAX]) {
    if (a->family != AF_UNSPEC) {
        out[0] = a->at;
        return 1;
    }
    struct lookup *l = calloc(1, sizeof *l);
    if (l == NULL) return -ENOMEM;
    cc__store_relaxed(&l->owners, 2); /* [RS1] */
    l->passive = passive;
    memcpy(l->host, a->host, sizeof l->host);
    print_port(l->port, a->port);
    int rc = start(l);
    if (rc != 0) {
        free(l);
        return rc;
    }
    rc = cc_notify_wait_cancellable(&l->over);
    if (rc == 0) {
        rc = l->result;
        if (rc > 0) memcpy(out, l->found, (size_t)rc * sizeof out[0]);
    }
    let_go(l);
    return rc;
}
