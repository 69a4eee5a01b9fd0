/* SPDX-License-Identifier: MIT */
/* The echo rows by State Threads: a thread of its own kind a connection, all on one of the system's; as it chooses. */
#define _GNU_SOURCE
#include "load.h"

#include <pthread.h>
#include <st.h>

static int listener, connections;

static void *session(void *arg) {
    st_netfd_t fd = (st_netfd_t)arg;
    char buf[4096];
    ssize_t k;
    while ((k = st_read(fd, buf, sizeof buf, ST_UTIME_NO_TIMEOUT)) > 0)
        if (st_write(fd, buf, (size_t)k, ST_UTIME_NO_TIMEOUT) != k) break;
    st_netfd_close(fd);
    return NULL;
}

static void *serve(void *arg) {
    st_thread_t *all = (st_thread_t *)calloc((size_t)connections, sizeof *all);
    (void)arg;
    st_set_eventsys(ST_EVENTSYS_ALT);
    bench_check(all != NULL && st_init() == 0, "cannot start");
    st_netfd_t l = st_netfd_open_socket(listener);
    bench_check(l != NULL, "no listener");
    for (int i = 0; i < connections; i++) {
        st_netfd_t fd = st_accept(l, NULL, NULL, ST_UTIME_NO_TIMEOUT);
        bench_check(fd != NULL && (all[i] = st_thread_create(session, fd, 1, 0)) != NULL, "cannot accept");
    }
    for (int i = 0; i < connections; i++) st_thread_join(all[i], NULL);
    free(all);
    return NULL;
}

int main(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int on = 1;
    pthread_t t;
    connections = bench_connections();
    bench_load_fork(connections, load_main);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bench_check(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 4096) == 0, "cannot listen");
    bench_check(getsockname(listener, (struct sockaddr *)&at, &len) == 0, "no name");
    bench_check(pthread_create(&t, NULL, serve, NULL) == 0, "no thread");
    bench_load_begin(ntohs(at.sin_port));
    bench_load_report(connections);
    pthread_join(t, NULL);
    return 0;
}
