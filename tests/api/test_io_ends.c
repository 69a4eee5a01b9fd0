/* SPDX-License-Identifier: MIT */
/* Goal: each call that can wait for a descriptor is ended in the middle: by cancellation, by a deadline, by somebody
 * who closes the descriptor, a fiber or a plain thread. A number that is used again at once is not mistaken for the one
 * that was waited for: the new descriptor's bytes are all its own. The same for connecting and for child processes.
 * Method: a table of the calls and of what each waits for. The call is in the middle when somebody is on the list of
 * waiters of its descriptor.
 */
#include "driver/fd.h"
#include "runtimes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MUCH = 1 << 20 };
static char much[MUCH];

/* ---- the calls ---- */

static int reads(int fd) {
    return (int)cc_read(fd, much, 1);
}
static int reads_full(int fd) {
    return (int)cc_read_full(fd, much, 100);
}
static int reads_vector(int fd) {
    struct iovec v[2] = {{much, 1}, {much + 1, 1}};
    return (int)cc_readv(fd, v, 2);
}
static int reads_line(int fd) {
    char room[32], *line;
    size_t len;
    cc_reader r;
    cc_reader_init(&r, fd, room, sizeof room);
    return cc_reader_line(&r, &line, &len);
}
static int reads_until(int fd) {
    char room[32], *line;
    size_t len;
    cc_reader r;
    cc_reader_init(&r, fd, room, sizeof room);
    return cc_reader_until(&r, 'x', &line, &len);
}
static int reads_exactly(int fd) {
    char room[32], out[40];
    cc_reader r;
    cc_reader_init(&r, fd, room, sizeof room);
    return (int)cc_reader_exactly(&r, out, sizeof out);
}
static int waits_to_read(int fd) {
    return cc_wait_fd(fd, POLLIN);
}
static int waits_to_write(int fd) {
    return cc_wait_fd(fd, POLLOUT);
}
static int waits_for_both(int fd) {
    return cc_wait_fd(fd, POLLIN | POLLOUT);
}
static int selects(int fd) {
    return cc_select(CC_READABLE(fd), CC_AFTER_MS(600000));
}
static int selects_to_write(int fd) {
    return cc_select(CC_WRITABLE(fd), CC_AFTER_MS(600000));
}
static int writes(int fd) {
    return (int)cc_write(fd, much, MUCH);
}
static int writes_vector(int fd) {
    struct iovec v[2] = {{much, 1}, {much, MUCH}};
    return (int)cc_writev(fd, v, 2);
}
static int flushes(int fd) {
    char room[32];
    cc_writer w;
    cc_writer_init(&w, fd, room, sizeof room);
    test_must(cc_writer_write(&w, "some", 4) == 4);
    return cc_writer_flush(&w);
}
static int sends_file(int fd) {
    cc_autoclose int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return (int)cc_sendfile(fd, in, 0, 65536);
}
static int receives(int fd) {
    return (int)cc_recv_from(fd, much, 1, NULL, 0);
}
static char full_datagrams[128]; /* the address of one that takes no more */
static int sends_to(int fd) {
    return (int)cc_send_to(fd, much, 1, full_datagrams);
}
static int next_signal(int fd) {
    return cc_signal_next(fd);
}

/* ---- what they wait for ---- */

/* Two descriptors: the one that is waited for, and another that is to be closed, or -1. */
static void make_empty(int fd[2]) {
    test_must(cc_pipe(fd) == 0);
}
static void make_foreign(int fd[2]) {
    test_must(pipe2(fd, O_CLOEXEC) == 0);
}
static void fill(int fd) {
    test_must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    while (write(fd, much, 4096) > 0 || write(fd, much, 1) > 0) {
    }
}
static void make_full(int fd[2]) {
    int way[2];
    test_must(cc_pipe(way) == 0);
    fill(way[1]);
    fd[0] = way[1];
    fd[1] = way[0];
}
static void make_full_foreign(int fd[2]) {
    test_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
    fill(fd[0]);
    test_must(fcntl(fd[0], F_SETFL, 0) == 0);
}
static void make_listener(int fd[2]) {
    fd[0] = cc_listen("127.0.0.1:0");
    fd[1] = -1;
}
static void make_udp(int fd[2]) {
    fd[0] = cc_udp("127.0.0.1:0");
    fd[1] = -1;
}
/* A local one, whose receiver reads nothing. */
static void make_full_datagrams(int fd[2]) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "ccrt_test_ends_%d_%llu", (int)getpid(),
                     (unsigned long long)test_random());
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    snprintf(full_datagrams, sizeof full_datagrams, "unix:@%s", at.sun_path + 1);
    fd[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    fd[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    test_must(fd[0] >= 0 && fd[1] >= 0 && bind(fd[1], (struct sockaddr *)&at, len) == 0);
    test_must(connect(fd[0], (struct sockaddr *)&at, len) == 0);
    while (send(fd[0], much, 1, MSG_DONTWAIT) == 1) {
    }
}
static void make_signals(int fd[2]) {
    fd[0] = cc_signals(SIGUSR1);
    fd[1] = -1;
}

static const struct kind {
    const char *name;
    int (*call)(int fd);
    void (*make)(int fd[2]);
} kinds[] = {
    {"read", reads, make_empty},
    {"read, foreign", reads, make_foreign},
    {"read_full", reads_full, make_empty},
    {"readv", reads_vector, make_empty},
    {"reader_line", reads_line, make_empty},
    {"reader_until", reads_until, make_empty},
    {"reader_exactly", reads_exactly, make_empty},
    {"wait_fd in", waits_to_read, make_empty},
    {"wait_fd in, foreign", waits_to_read, make_foreign},
    {"wait_fd out", waits_to_write, make_full},
    {"wait_fd both", waits_for_both, make_full_foreign},
    {"select", selects, make_empty},
    {"select out", selects_to_write, make_full},
    {"write", writes, make_full},
    {"write, foreign", writes, make_full_foreign},
    {"writev", writes_vector, make_full},
    {"writer_flush", flushes, make_full},
    {"sendfile", sends_file, make_full},
    {"accept", cc_accept, make_listener},
    {"recv_from", receives, make_udp},
    {"send_to", sends_to, make_full_datagrams},
    {"signal_next", next_signal, make_signals},
};

/* ---- what ends them ---- */

/* Whether somebody waits for it. */
static bool is_waited_for(int fd) {
    struct cc__fd *e = cc__fd_known(fd);
    if (e == NULL) return false;
    cc__waitlist_lock(&e->in);
    bool any = e->in.first != NULL || e->out.first != NULL;
    cc__waitlist_unlock(&e->in);
    return any;
}
static int readers_of(int fd) {
    struct cc__fd *e = cc__fd_known(fd);
    int n = 0;
    if (e == NULL) return 0;
    cc__waitlist_lock(&e->in);
    const struct cc__node *at = e->in.first == NULL ? NULL : &e->in.first->node;
    for (; at != NULL; at = at->next) n++;
    cc__waitlist_unlock(&e->in);
    return n;
}
static void await_wait(int fd) {
    while (!is_waited_for(fd)) test_must(cc_sleep_ms(1) == 0);
}
static void want(const struct kind *k, const char *way, int rc, int wanted) {
    if (rc == wanted) return;
    printf("%s, %s: %d, not %d\n", k->name, way, rc, wanted);
    test_must(rc == wanted);
}
static void *close_it(void *fd) {
    test_must(cc_close(*(int *)fd) == 0);
    return NULL;
}

CC_TASK(makes, (const struct kind *, k), (int, fd), (int *, rc)) {
    *rc = k->call(fd);
    return 0;
}
static void end_each_way(const struct kind *k) {
    int fd[2], rc = 1;
    pthread_t t;
    k->make(fd);
    test_must(fd[0] >= 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, makes, k, fd[0], &rc) == 0);
        await_wait(fd[0]);
        cc_nursery_cancel(n);
    }
    want(k, "cancelled", rc, -ECANCELED);
    test_must(!is_waited_for(fd[0]));
    int64_t before = cc_now_ns();
    CC_DEADLINE_MS(5) rc = k->call(fd[0]);
    want(k, "too late", rc, -ETIMEDOUT);
    test_must(cc_now_ns() - before >= 5000000 && !is_waited_for(fd[0]));
    CC_NURSERY(n) {
        test_must(cc_spawn(n, makes, k, fd[0], &rc) == 0);
        await_wait(fd[0]);
        test_must(cc_close(fd[0]) == 0);
    }
    want(k, "closed", rc, -EBADF);
    if (fd[1] >= 0) test_must(cc_close(fd[1]) == 0);
    k->make(fd);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, makes, k, fd[0], &rc) == 0);
        await_wait(fd[0]);
        test_must(pthread_create(&t, NULL, close_it, &fd[0]) == 0 && pthread_join(t, NULL) == 0);
    }
    want(k, "closed by a thread", rc, -EBADF);
    if (fd[1] >= 0) test_must(cc_close(fd[1]) == 0);
}
static void *all_ways(void *arg) {
    for (size_t i = 0; i < TEST_COUNT_OF(kinds); i++) {
        if (kinds[i].call == next_signal && TEST_TSAN) continue; /* which keeps signals back */
        end_each_way(&kinds[i]);
    }
    return arg;
}
static void each_call_is_ended(void **state) {
    (void)state;
    test_on_all(all_ways);
}

/* ---- numbers that are used again ---- */

/* The number of a descriptor that is waited for becomes another's at once, which has something to be read. */
static void *reuses(void *arg) {
    for (size_t i = 0; i < test_rounds(300); i++) {
        bool foreign = i % 2 == 0;
        int fd[2], next[2], rc[3] = {1, 1, 1};
        char c = 0;
        (foreign ? make_foreign : make_empty)(fd);
        const struct kind *k = &kinds[foreign ? 1 : 0];
        CC_NURSERY(n) {
            for (int j = 0; j < 3; j++) test_must(cc_spawn(n, makes, k, fd[0], &rc[j]) == 0);
            while (readers_of(fd[0]) < 3) test_must(cc_sleep_ms(1) == 0); /* who comes later reads from the next one */
            if (foreign) {
                test_must(close(fd[0]) == 0); /* without a word; the next to get the number tells them */
            } else {
                test_must(cc_close(fd[0]) == 0);
            }
            test_must(cc_pipe(next) == 0 && next[0] == fd[0]);
            test_must(cc_write(next[1], "n", 1) == 1);
            test_must(cc_nursery_wait(n) == 0);
            for (int j = 0; j < 3; j++) want(k, "used again", rc[j], -EBADF);
        }
        test_must(cc_read(next[0], &c, 1) == 1 && c == 'n');
        test_must(cc_close(next[0]) == 0 && cc_close(next[1]) == 0 && cc_close(fd[1]) == 0);
    }
    return arg;
}
static void a_number_is_used_again(void **state) {
    (void)state;
    test_on_workers(1, reuses, NULL); /* one worker: all three wait when the first does */
}

/* ---- connecting ---- */

static const char *full_address;
static int connects(int unused) {
    (void)unused;
    return cc_connect(full_address);
}
CC_TASK(connects_task, (int *, rc)) {
    *rc = connects(0);
    return 0;
}
/* A listener that takes nobody any more: the kernel leaves who comes next without an answer. */
static void *connect_ends(void *arg) {
    char addr[128];
    int ls = cc_listen("127.0.0.1:0"), fds[64], n = 0, rc = 0;
    test_must(ls >= 0 && listen(ls, 0) == 0 && cc_local_addr(ls, addr, sizeof addr) == 0);
    full_address = addr;
    while (n < 64 && rc >= 0) {
        CC_DEADLINE_MS(100) rc = cc_connect(addr);
        if (rc >= 0) fds[n++] = rc;
    }
    test_must(rc == -ETIMEDOUT && n > 0);
    CC_NURSERY(all) {
        test_must(cc_spawn(all, connects_task, &rc) == 0);
        test_must(cc_sleep_ms(5) == 0);
        cc_nursery_cancel(all);
    }
    test_must(rc == -ECANCELED);
    for (int i = 0; i < n; i++) test_must(cc_close(fds[i]) == 0);
    test_must(cc_close(ls) == 0);
    return arg;
}
static void connecting_is_ended(void **state) {
    (void)state;
    test_on_workers(1, connect_ends, NULL);
    test_on_workers(7, connect_ends, NULL);
}

/* ---- children ---- */

CC_TASK(waits_for_child, (cc_process *, p), (int *, rc)) {
    *rc = cc_process_wait(p, NULL);
    return 0;
}
CC_TASK(wants_output, (int *, rc)) {
    char buf[10];
    const char *sleeps[] = {"sleep", "600", NULL};
    *rc = (int)cc_process_output(sleeps, buf, sizeof buf, NULL); /* which ends the child */
    return 0;
}
static void *child_ends(void *arg) {
    cc_process p;
    int rc = 1, status = 0;
    const char *sleeps[] = {"sleep", "600", NULL};
    test_must(cc_process_spawn(&p, sleeps, NULL) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, waits_for_child, &p, &rc) == 0);
        test_must(cc_sleep_ms(5) == 0);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED && cc_process_kill(&p, SIGKILL) == 0 && cc_process_wait(&p, &status) == 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, wants_output, &rc) == 0);
        test_must(cc_sleep_ms(20) == 0);
        cc_nursery_cancel(n);
    }
    test_must(rc == -ECANCELED);
    return arg;
}
static void waiting_for_a_child_is_ended(void **state) {
    (void)state;
    test_on_workers(2, child_ends, NULL);
}

TEST_MAIN(cmocka_unit_test(each_call_is_ended), cmocka_unit_test(a_number_is_used_again),
          cmocka_unit_test(connecting_is_ended), cmocka_unit_test(waiting_for_a_child_is_ended))
