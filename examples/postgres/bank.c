/* SPDX-License-Identifier: MIT */
/* A bank in PostgreSQL: two hundred fibers that move money between accounts by transactions, over eight connections
 * that they share. One asks for something that takes too long, and is stopped by its deadline. In the end no money is
 * lost.
 *
 *     bank "host=127.0.0.1 port=5432 user=postgres dbname=postgres"
 */
#include "pg.h"

#include <ccrt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CONNECTIONS = 8, FIBERS = 200, TRANSFERS = 5, ACCOUNTS = 100, EACH = 1000 };

static CC_CHAN(PGconn *) idle; /* connections that nobody uses */

/* ---- statements ---- */

/* One that must go well; its first value, as a number, or 0. A negative errno. */
static long ask(PGconn *c, const char *sql, int count, const char *const *values) {
    PGresult *r;
    long value = 0;
    int rc = pg_query(c, &r, sql, count, values);
    if (rc != 0) return rc;
    switch (PQresultStatus(r)) {
    case PGRES_COMMAND_OK: break;
    case PGRES_TUPLES_OK: value = PQntuples(r) > 0 ? strtol(PQgetvalue(r, 0, 0), NULL, 10) : 0; break;
    default: fprintf(stderr, "%s: %s", sql, PQresultErrorMessage(r)); value = -EIO;
    }
    PQclear(r);
    return value;
}

static long order(PGconn *c, const char *sql) {
    return ask(c, sql, 0, NULL);
}

static long add(PGconn *c, int account, int amount) {
    char id[16], sum[16];
    const char *values[] = {sum, id};
    snprintf(id, sizeof id, "%d", account);
    snprintf(sum, sizeof sum, "%d", amount);
    return ask(c, "UPDATE account SET balance = balance + $1 WHERE id = $2", 2, values);
}

/* ---- who uses them ---- */

CC_TASK(connects, (const char *, info)) {
    PGconn *c;
    int rc = pg_connect(&c, info);
    if (rc == 0) return cc_send(idle, c);
    fprintf(stderr, "cannot connect: %s\n%s", cc_strerror(rc), PQerrorMessage(c));
    PQfinish(c);
    return rc;
}

/* The account with the smaller number first: two that want the same two never wait for each other. */
CC_TASK(moves_money, (int, fiber)) {
    for (int i = 0; i < TRANSFERS; i++) {
        int a = (fiber * 7 + i) % ACCOUNTS, b = (a + 1 + (fiber * 13 + i * 5) % (ACCOUNTS - 1)) % ACCOUNTS;
        int low = a < b ? a : b, high = a < b ? b : a, amount = 1 + fiber % 10;
        PGconn *c;
        int rc = cc_recv(idle, &c); /* waits for one that is free */
        if (rc != 0) return rc;
        bool good = order(c, "BEGIN") >= 0 && add(c, low, -amount) >= 0 && add(c, high, amount) >= 0;
        if (order(c, good ? "COMMIT" : "ROLLBACK") < 0) good = false;
        rc = cc_send(idle, c);
        if (!good || rc != 0) return good ? rc : -EIO;
    }
    return 0;
}

CC_TASK(asks_for_too_much, (int, ms)) {
    PGconn *c;
    long rc = cc_recv(idle, &c), after;
    if (rc != 0) return (int)rc;
    CC_DEADLINE_MS(ms) rc = order(c, "SELECT pg_sleep(600)");
    after = order(c, "SELECT 42");
    printf("too much: %s; then: %ld\n", cc_strerror((int)rc), after);
    return cc_send(idle, c);
}

/* ---- all of it ---- */

static int run(const char *info) {
    int rc = 0;
    CC_NURSERY(n) {
        for (int i = 0; i < CONNECTIONS; i++) cc_spawn(n, connects, info);
        rc = cc_nursery_wait(n);
    }
    PGconn *c;
    if (rc != 0 || (rc = cc_recv(idle, &c)) != 0) return rc;
    char text[200];
    snprintf(text, sizeof text, "INSERT INTO account SELECT id, %d FROM generate_series(0, %d) AS id", EACH,
             ACCOUNTS - 1);
    long sum = order(c, "SET client_min_messages = warning");
    if (sum >= 0) sum = order(c, "DROP TABLE IF EXISTS account");
    if (sum >= 0) sum = order(c, "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)");
    if (sum >= 0) sum = order(c, text);
    if ((rc = cc_send(idle, c)) != 0 || sum < 0) return sum < 0 ? (int)sum : rc;
    CC_NURSERY(n) {
        cc_spawn(n, asks_for_too_much, 100);
        for (int i = 0; i < FIBERS; i++) cc_spawn(n, moves_money, i);
        rc = cc_nursery_wait(n);
    }
    if (rc != 0 || (rc = cc_recv(idle, &c)) != 0) return rc;
    sum = order(c, "SELECT sum(balance) FROM account");
    long moved = order(c, "SELECT count(*) FROM account WHERE balance <> 1000");
    printf("%d transfers; there are %ld, and %s\n", FIBERS * TRANSFERS, sum, moved > 0 ? "not where they were" : "?");
    if ((rc = cc_send(idle, c)) != 0) return rc;
    return sum == (long)ACCOUNTS * EACH && moved > 0 ? 0 : -EIO;
}

CC_MAIN(argc, argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s CONNECTION\n", argv[0]);
        return 2;
    }
    if (cc_chan_create(idle, CONNECTIONS) != 0) return 1;
    int rc = run(argv[1]);
    PGconn *c;
    while (cc_try_recv(idle, &c) == 0) PQfinish(c);
    cc_chan_destroy(idle);
    if (rc != 0) fprintf(stderr, "bank: %s\n", cc_strerror(rc));
    return rc == 0 ? 0 : 1;
}
