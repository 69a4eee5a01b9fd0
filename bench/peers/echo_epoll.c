/* SPDX-License-Identifier: MIT */
/* The limit of the echo rows: one thread, one epoll set, a read and a write a message, and nothing else. And of
 * that of idle connections: a buffer each. */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <pthread.h>

static int listener;
static char shared[4096], *own[4 * LOAD_MOST]; /* one for all; or, where they rest, one each, by descriptor */

static void watch(int set, int fd, uint32_t events) {
    struct epoll_event e = {.events = events, .data.fd = fd};
    bench_check(fd >= 0 && fd < 4 * LOAD_MOST && epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0, "cannot accept");
}
static void take_one(int set) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    watch(set, fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
    if (bench_idle()) bench_check((own[fd] = (char *)malloc(sizeof shared)) != NULL, "no memory");
}

static void *serve(void *arg) {
    int set = epoll_create1(0), alive = *(int *)arg, idle = bench_idle();
    if (idle) watch(set, listener, EPOLLIN); /* they come one by one */
    for (int i = 0; i < alive && !idle; i++) take_one(set);
    while (alive > 0) {
        struct epoll_event got[128];
        int n = epoll_wait(set, got, 128, -1);
        for (int i = 0; i < n; i++) {
            if (idle && got[i].data.fd == listener) {
                take_one(set);
                continue;
            }
            char *buf = idle ? own[got[i].data.fd] : shared;
            ssize_t k = recv(got[i].data.fd, buf, sizeof shared, MSG_DONTWAIT);
            if (k > 0) {
                (void)send(got[i].data.fd, buf, (size_t)k,
                           MSG_NOSIGNAL | MSG_DONTWAIT); /* it is told if it does not come */
            } else if (k == 0 || errno != EAGAIN) {      /* its end, or a reset */
                close(got[i].data.fd);
                alive--;
            }
        }
    }
    return NULL;
}

int main(void) {
    int connections = bench_connections();
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int on = 1;
    pthread_t t;
    bench_load_fork_any(connections);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bench_check(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 4096) == 0, "cannot listen");
    bench_check(getsockname(listener, (struct sockaddr *)&at, &len) == 0, "no name");
    bench_check(pthread_create(&t, NULL, serve, &connections) == 0, "no thread");
    bench_load_begin(ntohs(at.sin_port));
    bench_load_report_any(connections);
    pthread_join(t, NULL);
    return 0;
}
