/* SPDX-License-Identifier: MIT */
/* Goal: whatever sockets, pipes, signals and child processes need and cannot have: the call says so, the others go on,
 * no descriptor is left open and no child is left behind.
 * Method: a scenario of such calls, run again and again with the Nth call of the system, or for memory, made to fail,
 * for N = 1, 2, ... until a run has no failure.
 * Link: -Wl,--wrap=socket,--wrap=accept4,--wrap=pipe2,--wrap=socketpair,--wrap=dup3,--wrap=posix_spawnp
 * Link: -Wl,--wrap=calloc,--wrap=setsockopt,--wrap=bind,--wrap=listen,--wrap=epoll_ctl,--wrap=getaddrinfo
 * Not with: thread
 * Timeout: 180
 */
#include "nth.h"
#include "runtimes.h"

#include <fcntl.h>
#include <netdb.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static long fail_at = -1;
static _Atomic long calls;
static _Atomic bool armed;
static _Thread_local bool resolving; /* in the C library, whose own calls go by here, too, if it is linked statically */

static bool fails(void) {
    return cc__load_relaxed(&armed) && !resolving && cc__add_relaxed(&calls, 1) + 1 == fail_at;
}
static int fail_with(int error) {
    errno = error;
    return -1;
}
static bool has_failed(void) {
    return cc__load_relaxed(&calls) >= fail_at;
}

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __real_pipe2(int fd[2], int flags);
int __wrap_pipe2(int fd[2], int flags);
int __real_socketpair(int family, int type, int protocol, int fd[2]);
int __wrap_socketpair(int family, int type, int protocol, int fd[2]);
int __real_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags);
__typeof__(posix_spawnp) __real_posix_spawnp, __wrap_posix_spawnp;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __real_epoll_ctl(int set, int op, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e);
__typeof__(getaddrinfo) __real_getaddrinfo, __wrap_getaddrinfo;

int __wrap_socket(int family, int type, int protocol) {
    return fails() ? fail_with(EMFILE) : __real_socket(family, type, protocol);
}
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags) {
    return fails() ? fail_with(EMFILE) : __real_accept4(fd, addr, len, flags);
}
int __wrap_pipe2(int fd[2], int flags) {
    return fails() ? fail_with(EMFILE) : __real_pipe2(fd, flags);
}
int __wrap_socketpair(int family, int type, int protocol, int fd[2]) {
    return fails() ? fail_with(EMFILE) : __real_socketpair(family, type, protocol, fd);
}
int __wrap_dup3(int from, int to, int flags) {
    return fails() ? fail_with(EMFILE) : __real_dup3(from, to, flags);
}
int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr, char *const argv[], char *const env[]) {
    return fails() ? ENOMEM : __real_posix_spawnp(pid, file, actions, attr, argv, env);
}
void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? test_no_memory() : __real_calloc(n, size);
}
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len) {
    return fails() ? fail_with(ENOMEM) : __real_setsockopt(fd, level, name, value, len);
}
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len) {
    return fails() ? fail_with(ENOMEM) : __real_bind(fd, addr, len);
}
int __wrap_listen(int fd, int backlog) {
    return fails() ? fail_with(ENOMEM) : __real_listen(fd, backlog);
}
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *e) {
    return fails() ? fail_with(ENOMEM) : __real_epoll_ctl(set, op, fd, e);
}
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out) {
    resolving = true;
    int rc = __real_getaddrinfo(node, service, hints, out);
    resolving = false;
    return rc;
}

static size_t descriptors(void) {
    size_t n = 0;
    for (int fd = 0; fd < 2048; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Whether it is there; if not, because something was made to fail. */
static bool have(ssize_t rc) {
    bool good = rc >= 0 || (has_failed() && (rc == -EMFILE || rc == -ENOMEM));
    if (!good) fprintf(stderr, "%ld\n", (long)rc);
    test_must(good);
    return rc >= 0;
}
static void end(int fd) {
    if (fd >= 0) test_must(cc_close(fd) == 0);
}

/* A connection by some address of a listener, and a byte over it. */
static void connect_to(int ls, const char *host) {
    char addr[128], to[160], c = 0;
    test_must(cc_local_addr(ls, addr, sizeof addr) == 0);
    snprintf(to, sizeof to, "%s%s", host, host[0] == 0 ? addr : strrchr(addr, ':'));
    int client = cc_connect(to), server = -1;
    if (have(client) && have(server = cc_accept(ls))) {
        test_must(cc_write(client, "x", 1) == 1);
        if (have(cc_read(server, &c, 1))) test_must(c == 'x');
    }
    end(client);
    end(server);
}
static void use_sockets(void) {
    int ls = cc_listen("127.0.0.1:0"), any = cc_listen(":0"), udp = cc_udp("127.0.0.1:0"), fd[2];
    if (have(ls)) connect_to(ls, "");
    if (have(any)) connect_to(any, "localhost");
    if (have(udp)) (void)have(cc_send_to(udp, "x", 1, "localhost:9"));
    if (have(cc_pipe(fd))) test_must(cc_write(fd[1], "x", 1) == 1 && cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    end(ls);
    end(any);
    end(udp);
}
static void use_signals(void) {
    for (int i = 0; i < 2; i++) { /* the second time a place is there already */
        int fd = cc_signals(SIGURG);
        if (have(fd)) test_must(kill(getpid(), SIGURG) == 0 && cc_signal_next(fd) == SIGURG);
        end(fd);
    }
    CC_NURSERY(n)(void) have(cc_nursery_cancel_on(n, SIGURG));
}
static void use_processes(void) {
    char buf[8];
    int status = 1;
    cc_process p;
    const char *echo[] = {"echo", "x", NULL}, *cat[] = {"cat", NULL};
    ssize_t n = cc_process_output(echo, buf, sizeof buf, &status);
    if (have(n)) test_must(n == 2 && status == 0);
    cc_process_attr pipes = {.in = CC_STDIO_PIPE, .out = CC_STDIO_PIPE, .err = CC_STDIO_PIPE};
    int rc = cc_process_spawn(&p, cat, &pipes);
    if (!have(rc)) {
        test_must(p.in == -1 && p.out == -1 && p.err == -1 && p.pid == 0);
        return;
    }
    test_must(cc_process_close_in(&p) == 0);
    while (!have(cc_process_wait(&p, &status))) {
    }
    test_must(status == 0);
}

static void *uses_all(void *arg) {
    use_sockets();
    use_processes();
    return arg;
}

/* What a signal needs once and for ever: the end that it is sent by, and a reactor for plain threads. */
static void warm_up(void) {
    int fd = cc_signals(SIGURG);
    CC_DEADLINE_MS(0) test_must(cc_signal_next(fd) == -ETIMEDOUT);
    end(fd);
}

static void scenario(void *nth) {
    cc_runtime *rt;
    cc_task t;
    warm_up();
    size_t before = descriptors();
    fail_at = *(long *)nth;
    test_must(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}) == 0);
    cc__store_relaxed(&armed, true);
    if (have(cc_runtime_spawn(rt, &t, NULL, uses_all, NULL))) test_must(cc_task_join(t, NULL) == 0);
    use_signals(); /* here: a worker has them blocked */
    cc__store_relaxed(&armed, false);
    cc_runtime_destroy(rt);
    test_must(descriptors() == before);
    test_must(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    if (!has_failed()) _exit(TEST_NTH_NOT_REACHED);
}

static void one_that_fails(void **state) {
    (void)state;
    print_message("%ld calls were made to fail\n", test_nth(scenario) - 1);
}

TEST_MAIN(cmocka_unit_test(one_that_fails))
