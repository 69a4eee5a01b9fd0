/* SPDX-License-Identifier: MIT */
/* docs/GUIDE.md, sockets: a server, a fiber a connection; clients; a deadline; a child process. */
#include <ccrt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

CC_TASK(session, (int, conn)) {
    cc_autoclose int fd = conn;
    char buf[4096];
    ssize_t n;
    while ((n = cc_read(fd, buf, sizeof buf)) > 0)
        if (cc_write(fd, buf, (size_t)n) < 0) break;
    return 0;
}

CC_TASK(server, (cc_nursery *, sessions), (int, listener)) {
    int fd;
    while ((fd = cc_accept(listener)) >= 0) {
        int rc = cc_spawn(sessions, session, fd);
        if (rc != 0) {
            cc_close(fd);
            return rc;
        }
    }
    return fd == -ECANCELED ? 0 : fd;
}

CC_TASK(client, (const char *, addr), (int *, ok)) {
    cc_autoclose int fd = cc_connect(addr);
    char in[5];
    if (fd < 0) return fd;
    if (cc_write(fd, "hello", 5) < 0) return -EIO;
    *ok = cc_read_full(fd, in, 5) == 5 && memcmp(in, "hello", 5) == 0;
    return 0;
}

static void ask_too_long(const char *addr) {
    cc_autoclose int fd = cc_connect(addr);
    char in[5];
    CC_DEADLINE_MS(20) {
        ssize_t n = cc_read(fd, in, sizeof in); /* nothing was sent, so nothing comes back */
        printf("read: %s\n", n == -ETIMEDOUT ? "-ETIMEDOUT" : "?");
    }
}

static void run_child(void) {
    const char *argv[] = {"echo", "from a child", NULL};
    char out[64];
    int status = 0;
    ssize_t n = -1;
    CC_DEADLINE_MS(60000) n = cc_process_output(argv, out, sizeof out, &status);
    if (n > 0 && status == 0) printf("%.*s", (int)n, out);
}

CC_MAIN(argc, argv) {
    int ok[100] = {0}, sum = 0;
    char addr[64];
    cc_autoclose int listener = cc_listen("127.0.0.1:0");
    if (listener < 0 || cc_local_addr(listener, addr, sizeof addr) != 0) return 1;
    CC_NURSERY(sessions) {
        cc_nursery_cancel_on(sessions, SIGINT, SIGTERM);
        cc_spawn(sessions, server, sessions, listener);
        CC_NURSERY(clients) {
            for (int i = 0; i < 100; i++) cc_spawn(clients, client, addr, &ok[i]);
        }
        ask_too_long(addr);
        cc_nursery_cancel(sessions); /* the server would accept for ever */
    }
    for (int i = 0; i < 100; i++) sum += ok[i];
    printf("%d answers\n", sum);
    run_child();
    return 0;
}
