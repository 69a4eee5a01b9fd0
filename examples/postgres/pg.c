/* SPDX-License-Identifier: MIT */
/* libpq from fibers: see pg.h. */
#include "pg.h"

#include <ccrt.h>
#include <poll.h>

/* ---- connecting ---- */

int pg_connect(PGconn **out, const char *info) {
    PGconn *c = *out = PQconnectStart(info);
    if (c == NULL) return -ENOMEM;
    if (PQstatus(c) == CONNECTION_BAD) return -EINVAL;
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK) {
        if (next == PGRES_POLLING_FAILED) return -ECONNREFUSED;
        /* Its descriptor may be another each time: it tries several addresses. */
        int rc = cc_wait_fd(PQsocket(c), next == PGRES_POLLING_READING ? POLLIN : POLLOUT);
        if (rc < 0) return rc;
        next = PQconnectPoll(c);
    }
    return PQsetnonblocking(c, 1) == 0 ? 0 : -EIO;
}

/* ---- asking ---- */

/* Send what libpq has kept. The server may not take more before it has got rid of what it has for us. */
static int flush(PGconn *c) {
    for (int left; (left = PQflush(c)) != 0;) {
        int rc = left < 0 ? -EIO : cc_wait_fd(PQsocket(c), POLLIN | POLLOUT);
        if (rc < 0) return rc;
        if ((rc & POLLIN) != 0 && !PQconsumeInput(c)) return -EIO;
    }
    return 0;
}

/* The last of the results that there are. */
static int receive(PGconn *c, PGresult **out) {
    for (;;) {
        while (PQisBusy(c)) {
            int rc = cc_wait_fd(PQsocket(c), POLLIN);
            if (rc < 0) return rc;
            if (!PQconsumeInput(c)) return -EIO;
        }
        PGresult *r = PQgetResult(c);
        if (r == NULL) return *out == NULL ? -EIO : 0;
        PQclear(*out);
        *out = r;
    }
}

/* This one has no way without waiting: it connects to the server, tells it and waits for the end. */
static int tell_to_stop(void *cancel) {
    char why[256];
    return PQcancel(cancel, why, sizeof why) ? 0 : -EIO;
}

/* Have the server stop, and read what it still has to say, whatever has ended the wait for it. A server that has not
 * begun with the statement yet ignores that it is to stop, and begins: so it is told again, until it answers. */
static void stop(PGconn *c, PGresult **out) {
    PGcancel *cancel = PQgetCancel(c);
    int rc = cancel == NULL ? -ENOMEM : -ETIMEDOUT;
    CC_SHIELD {
        while (rc == -ETIMEDOUT) {
            rc = cc_blocking(tell_to_stop, cancel);
            CC_DEADLINE_MS(200) {
                if (rc == 0) rc = flush(c);
                if (rc == 0) rc = receive(c, out);
            }
        }
    }
    PQfreeCancel(cancel);
}

int pg_query(PGconn *c, PGresult **out, const char *sql, int count, const char *const *values) {
    *out = NULL;
    if (!PQsendQueryParams(c, sql, count, NULL, values, NULL, NULL, 0)) return -EIO;
    int rc = flush(c);
    if (rc == 0) rc = receive(c, out);
    if (rc == -ECANCELED || rc == -ETIMEDOUT) stop(c, out);
    if (rc == 0) return 0;
    PQclear(*out);
    *out = NULL;
    return rc;
}
