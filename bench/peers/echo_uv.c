/* SPDX-License-Identifier: MIT */
/* The echo rows by libuv: one loop on one thread. A message is sent back by uv_try_write(), its quickest way, which is
 * enough for messages that always fit. */
#define _GNU_SOURCE
#include "load.h"

#include <pthread.h>
#include <uv.h>

static uv_loop_t loop;
static uv_tcp_t listener;
static int alive;
static char shared[65536]; /* each reply is sent before the next message is read */

enum { OWN_BYTES = 4096 }; /* of a connection that rests */

static void lend(uv_handle_t *h, size_t wanted, uv_buf_t *buf) {
    (void)wanted;
    *buf = h->data == NULL ? uv_buf_init(shared, sizeof shared) : uv_buf_init((char *)h->data, OWN_BYTES);
}

static void on_closed(uv_handle_t *h) {
    free(h->data);
    free(h);
    if (--alive == 0) uv_close((uv_handle_t *)&listener, NULL);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf) {
    if (n < 0) {
        uv_close((uv_handle_t *)s, on_closed);
    } else if (n > 0) {
        uv_buf_t out = uv_buf_init(buf->base, (unsigned)n);
        bench_check(uv_try_write(s, &out, 1) == n, "cannot send");
    }
}

static void on_connection(uv_stream_t *s, int status) {
    uv_tcp_t *c = (uv_tcp_t *)malloc(sizeof *c);
    bench_check(status == 0 && c != NULL && uv_tcp_init(&loop, c) == 0, "cannot accept");
    c->data = bench_idle() ? malloc(OWN_BYTES) : NULL;
    bench_check(uv_accept(s, (uv_stream_t *)c) == 0 && uv_tcp_nodelay(c, 1) == 0, "cannot accept");
    bench_check(uv_read_start((uv_stream_t *)c, lend, on_read) == 0, "cannot read");
}

static void *serve(void *arg) {
    (void)arg;
    uv_run(&loop, UV_RUN_DEFAULT);
    return NULL;
}

int main(void) {
    struct sockaddr_in at;
    int connections = bench_connections(), len = sizeof at;
    pthread_t t;
    bench_load_fork_any(connections);
    alive = connections;
    bench_check(uv_loop_init(&loop) == 0 && uv_tcp_init(&loop, &listener) == 0, "no loop");
    bench_check(uv_ip4_addr("127.0.0.1", 0, &at) == 0, "no address");
    bench_check(uv_tcp_bind(&listener, (struct sockaddr *)&at, 0) == 0, "cannot bind");
    bench_check(uv_listen((uv_stream_t *)&listener, 4096, on_connection) == 0, "cannot listen");
    bench_check(uv_tcp_getsockname(&listener, (struct sockaddr *)&at, &len) == 0, "no name");
    bench_check(pthread_create(&t, NULL, serve, NULL) == 0, "no thread");
    bench_load_begin(ntohs(at.sin_port));
    bench_load_report_any(connections);
    pthread_join(t, NULL);
    return 0;
}
