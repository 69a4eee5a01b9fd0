/* SPDX-License-Identifier: MIT */
/* libpq from fibers. Its calls without waiting, and cc_wait_fd() where it says that it would wait: a query parks the
 * fiber that asks and nobody else, can be cancelled, and obeys deadlines. A connection is for one fiber at a time. */
#ifndef EXAMPLE_PG_H
#define EXAMPLE_PG_H

#include <libpq-fe.h>

/* Connect. The host should be a number or a local socket: libpq looks names up by itself, and blocks for that.
 *   Returns    0; -ECONNREFUSED, or another negative errno; *out is to be given to PQfinish() if it is not NULL, and
 *              tells why by PQerrorMessage() */
int pg_connect(PGconn **out, const char *info);

/* One statement, with parameters as text.
 *   Returns    0, and *out has its result, whether that is good or not; -EIO the connection is lost; -ECANCELED,
 *              -ETIMEDOUT: the server was told to stop, and the connection can be used again */
int pg_query(PGconn *c, PGresult **out, const char *sql, int count, const char *const *values);

#endif /* EXAMPLE_PG_H */
