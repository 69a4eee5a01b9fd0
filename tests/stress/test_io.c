/* SPDX-License-Identifier: MIT */
/* Goal: descriptors under stress: a server at rest makes no system call and is there at once when a request comes
 * (lesson 49); a worker that computes keeps nobody from descriptors that it watches; clients that reset, are cancelled
 * or have their descriptor closed by another leave no descriptor and no waiter behind; a thousand clients of which some
 * reset leave no memory behind, either, and spoil no request of another; ten thousand idle connections cost those that
 * are not nothing (lesson 88).
 * Method: as in test_idle.c, /proc says how often threads were switched to. Storms with random delays, for a while, on
 * runtimes of several sizes; descriptors are counted before and after. CC_TEST_SECONDS=60 has the thousand go on for so
 * long.
 * Timeout: 120
 */
#include "io/io.h"
#include "runtimes.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned count_entries(const char *path) {
    unsigned n = 0;
    DIR *d = opendir(path);
    test_must(d != NULL);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

CC_TASK(session, (int, conn)) {
    cc_autoclose int fd = conn;
    char buf[256];
    ssize_t k;
    while ((k = cc_read(fd, buf, sizeof buf)) > 0)
        if (cc_write(fd, buf, (size_t)k) < 0) break;
    return 0;
}
CC_TASK(server, (cc_nursery *, conns), (int, ls)) {
    int c;
    while ((c = cc_accept(ls)) >= 0)
        if (cc_spawn(conns, session, c) != 0) cc_close(c);
    return c == -ECANCELED || c == -EBADF ? 0 : c;
}
static int listen_at(char *addr, size_t size) {
    int ls = cc_listen("127.0.0.1:0");
    test_must(ls >= 0 && cc_local_addr(ls, addr, size) == 0);
    return ls;
}

/* ---- at rest ---- */

static struct {
    char addr[64];
    int ls;
    cc_nursery *_Atomic nursery;
} resting;

static void *serves(void *arg) {
    resting.ls = listen_at(resting.addr, sizeof resting.addr);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, server, n, resting.ls) == 0);
        cc__store_release(&resting.nursery, n);
    }
    test_must(cc_close(resting.ls) == 0);
    return arg;
}
/* utime and stime of a thread: the 14th and 15th word, after a name in brackets. */
static long ticks_of(const char *thread) {
    char path[300], line[1000];
    long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    FILE *f = fopen(path, "r");
    const char *at = f != NULL && fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
    if (at != NULL && sscanf(at + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld", &user, &kernel) != 2)
        user = kernel = 0;
    if (f != NULL) fclose(f);
    return user + kernel;
}

/* What the library's threads have done so far: how often they were switched to, and their time on a processor, in ticks
 * of the kernel's. One that looks again and again, or sleeps for a moment at a time, adds to one or the other. */
static long activity(void) {
    long sum = 0;
    char path[300], line[200];
    DIR *d = opendir("/proc/self/task");
    test_must(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        long n;
        bool ours = false;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/status", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            ours = ours || strncmp(line, "Name:\tccrt-", 11) == 0;
            if (ours && (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
                         sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1))
                sum += n;
        }
        if (f != NULL) fclose(f);
        if (ours) sum += ticks_of(e->d_name);
    }
    closedir(d);
    return sum;
}
static bool comes_to_rest(void) {
    for (int i = 0; i < 20; i++) {
        long before = activity();
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        if (activity() == before) return true;
    }
    return false;
}
/* The client is a plain thread with plain calls, so that only the server is seen. */
static void a_server_at_rest_does_nothing(void **state) {
    (void)state;
    cc_runtime *rt;
    cc_task t;
    char c = 'x';
    if (access("/proc/self/task", R_OK) != 0) skip();
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 2}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, serves, NULL), 0);
    while (cc__load_acquire(&resting.nursery) == NULL) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int fd = cc_connect(resting.addr);
    assert_true(fd >= 0);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(send(fd, &c, 1, 0), 1);
        assert_int_equal(cc_read(fd, &c, 1), 1);
        assert_true(comes_to_rest());
    }
    int64_t best = INT64_MAX;
    for (int i = 0; i < 50; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        int64_t before = cc_now_ns();
        assert_int_equal(send(fd, &c, 1, 0), 1);
        while (recv(fd, &c, 1, 0) != 1) assert_true(errno == EAGAIN);
        int64_t took = cc_now_ns() - before;
        if (took < best) best = took;
    }
    assert_true(best < 5000000); /* not by somebody who looks every 10 ms */
    assert_int_equal(cc_close(fd), 0);
    cc_nursery_cancel(cc__load_acquire(&resting.nursery));
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

/* ---- stuck ---- */

static _Atomic int computing, answered;

CC_TASK(answers, (int, fd)) {
    char c;
    test_must(cc_read(fd, &c, 1) == 1);
    cc__store_release(&answered, 1);
    return 0;
}
CC_TASK(computes_until_answered, (int, fd)) {
    test_must(write(fd, "x", 1) == 1);
    cc__store_release(&computing, 1);
    int64_t until = cc_now_ns() + INT64_C(20000000000);
    while (cc__load_acquire(&answered) == 0 && cc_now_ns() < until) cc__cpu_relax();
    return cc__load_acquire(&answered) != 0 ? 0 : -ETIMEDOUT;
}
static void *stuck(void *arg) {
    int fd[2];
    test_must(cc_pipe(fd) == 0);
    cc__store_relaxed(&answered, 0);
    CC_NURSERY(n) {
        test_must(cc_spawn(n, answers, fd[0]) == 0);
        test_must(cc_sleep_ms(5) == 0); /* it waits, and its worker watches for it */
        test_must(cc_spawn(n, computes_until_answered, fd[1]) == 0);
        test_must(cc_nursery_wait(n) == 0);
    }
    test_must(cc_close(fd[0]) == 0 && cc_close(fd[1]) == 0);
    return arg;
}
static void a_stuck_worker_keeps_nobody(void **state) {
    (void)state;
    if (!test_monitored()) skip(); /* that is what the monitor is for */
    test_on_workers(1, stuck, NULL);
    test_on_workers(2, stuck, NULL);
}

/* ---- storms ---- */

CC_TASK(client, (const char *, addr), (int *, good), (int, i)) {
    cc_autoclose int fd = cc_connect(addr);
    if (fd < 0) return fd;
    char buf[256] = {0};
    for (int k = 0; k < 20; k++) {
        size_t n = 1 + (size_t)(test_random() % sizeof buf);
        if (i % 10 == 0 && k == 10) { /* a reset in the middle */
            struct linger now = {.l_onoff = 1};
            test_must(cc_write(fd, buf, n) == (ssize_t)n);
            test_must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
            return 0;
        }
        if (cc_write(fd, buf, n) != (ssize_t)n) return -EIO;
        if (cc_read_full(fd, buf, n) != (ssize_t)n) return -EIO;
    }
    *good = 1;
    return 0;
}
static void *storm(void *arg) {
    enum { CLIENTS = 200 };
    static int good[CLIENTS];
    char addr[64];
    int ls = listen_at(addr, sizeof addr);
    memset(good, 0, sizeof good);
    CC_NURSERY(conns) {
        test_must(cc_spawn(conns, server, conns, ls) == 0);
        CC_NURSERY(clients) {
            for (int i = 0; i < CLIENTS; i++) test_must(cc_spawn(clients, client, addr, &good[i], i) == 0);
            test_must(cc_nursery_wait(clients) == 0);
        }
        test_must(cc_close(ls) == 0); /* ends the accepting */
    }
    for (int i = 0; i < CLIENTS; i++) test_must(good[i] == (i % 10 != 0));
    return arg;
}

/* Readers of pipes, whose descriptors are closed, written to and cancelled at the same time. */
CC_TASK(reader, (int, fd)) {
    char c;
    ssize_t k = cc_read(fd, &c, 1);
    test_must(k == 1 || k == 0 || k == -EBADF || k == -ECANCELED);
    return 0;
}
CC_TASK(closer, (int, fd)) {
    test_jitter();
    test_must(cc_close(fd) == 0);
    return 0;
}
CC_TASK(writer, (int, fd)) {
    test_jitter();
    ssize_t k = cc_write(fd, "xx", 2);
    test_must(k == 2 || k == -EPIPE || k == -ECANCELED);
    return 0;
}
/* A pipe, ours, with high numbers: a reader that comes too late uses a closed one, which must not have become that of a
 * reactor meanwhile. */
static void high_pipe(int fd[2]) {
    int low[2];
    test_must(pipe2(low, O_CLOEXEC | O_NONBLOCK) == 0);
    for (int i = 0; i < 2; i++) {
        fd[i] = cc__io_adopt(fcntl(low[i], F_DUPFD_CLOEXEC, 300), 0);
        test_must(fd[i] >= 300 && close(low[i]) == 0);
    }
}
static void *closes(void *arg) {
    for (size_t i = 0; i < test_rounds(2000); i++) {
        int fd[2];
        high_pipe(fd);
        CC_NURSERY(n) {
            for (int k = 0; k < 3; k++) test_must(cc_spawn(n, reader, fd[0]) == 0);
            if (i % 2 == 0) test_must(cc_spawn(n, writer, fd[1]) == 0);
            test_must(cc_spawn(n, closer, fd[0]) == 0);
            if (i % 3 == 0) {
                test_jitter();
                cc_nursery_cancel(n);
            }
        }
        test_must(cc_close(fd[1]) == 0);
    }
    return arg;
}
static void storms_leave_nothing_behind(void **state) {
    (void)state;
    unsigned before = count_entries("/proc/self/fd");
    test_on_all(storm);
    test_on_all(closes);
    assert_int_equal(count_entries("/proc/self/fd"), before);
}

/* ---- a thousand, and resets among them ---- */

enum { CLIENTS = 1000, ONE_IN = 100 };
static _Atomic int64_t requests, resets;
static _Atomic int over;

/* One connection: some requests, then the end, or a reset in the middle of one, with a reply on its way. */
static int connection_of(const char *addr, bool is_bad) {
    char buf[256], back[256];
    cc_autoclose int fd = cc_connect(addr);
    if (fd < 0) return fd;
    for (int k = 0; k < 10; k++) {
        size_t n = 1 + (size_t)(test_random() % sizeof buf);
        memset(buf, (int)(n + (size_t)k), n);
        if (cc_write(fd, buf, n) != (ssize_t)n) return -EIO;
        if (is_bad && k == 5) {
            struct linger now = {.l_onoff = 1};
            test_must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
            cc__add_relaxed(&resets, 1);
            return 0;
        }
        if (cc_read_full(fd, back, n) != (ssize_t)n || memcmp(buf, back, n) != 0) return -EIO;
        cc__add_relaxed(&requests, 1);
    }
    return 0;
}
CC_TASK(client_for_long, (const char *, addr), (int, i)) {
    int rc = 0;
    do rc = connection_of(addr, i % ONE_IN == 0);
    while (rc == 0 && cc__load_relaxed(&over) == 0);
    return rc;
}
/* What is allocated, in KiB: what was freed does not count, whoever keeps it. And what is resident, stacks among it. */
struct memory {
    long allocated, resident;
};
static struct memory memory_kib(void) {
    long pages = 0;
    struct mallinfo2 m = mallinfo2();
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f != NULL) fclose(f);
    return (struct memory){(long)((m.uordblks + m.hblkhd) / 1024), pages * (sysconf(_SC_PAGESIZE) / 1024)};
}
/* Once more for so long: all clients at once, until they are told to end. Returns the memory in use at its end. */
static struct memory a_thousand_for(const char *addr, int ms) {
    int clients = (int)test_rounds(CLIENTS);
    cc__store_relaxed(&over, 0);
    CC_NURSERY(n) {
        for (int i = 0; i < clients; i++) test_must(cc_spawn(n, client_for_long, addr, i) == 0);
        test_must(cc_sleep_ms(ms) == 0);
        cc__store_relaxed(&over, 1);
        test_must(cc_nursery_wait(n) == 0); /* no request has failed */
    }
    return memory_kib();
}
static void *thousand(void *arg) {
    const char *seconds = getenv("CC_TEST_SECONDS");
    char addr[64];
    int ls = listen_at(addr, sizeof addr), ms = seconds == NULL ? 1000 : 1000 * atoi(seconds);
    cc__store_relaxed(&requests, 0);
    cc__store_relaxed(&resets, 0);
    CC_NURSERY(conns) {
        test_must(cc_spawn(conns, server, conns, ls) == 0);
        (void)a_thousand_for(addr, ms / 4); /* whatever is kept for later is there now */
        struct memory before = a_thousand_for(addr, ms / 4), after = a_thousand_for(addr, ms / 2);
        printf("%ld requests, %ld resets; %ld KiB allocated, then %ld; %ld resident, then %ld\n",
               (long)cc__load_relaxed(&requests), (long)cc__load_relaxed(&resets), before.allocated, after.allocated,
               before.resident, after.resident);
        test_must(cc__load_relaxed(&requests) > 0 && cc__load_relaxed(&resets) > 0);
        if (!TEST_ASAN && !TEST_TSAN) /* they have a malloc() of their own, and keep what was freed */
            test_must(after.allocated - before.allocated < 256 && after.resident - before.resident < 4096);
        test_must(cc_close(ls) == 0);
    }
    return arg;
}
static void raise_limit(void) {
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 22000 ? files.rlim_max : 22000;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}
static void resets_spoil_nothing(void **state) {
    (void)state;
    raise_limit();
    unsigned before = count_entries("/proc/self/fd");
    test_on_workers(2, thousand, NULL);
    assert_int_equal(count_entries("/proc/self/fd"), before);
}

/* ---- many ---- */

CC_TASK(rests, (int, fd), (_Atomic int *, up)) {
    char c;
    cc__add_relaxed(up, 1);
    ssize_t k = cc_read(fd, &c, 1);
    return k == 0 || k == -EBADF ? 0 : -EIO; /* its other end was closed, or it was */
}
/* Connections that were accepted, of clients in a process of their own; at several addresses, so that no ports run
 * short. */
enum { IDLE = 10000, ADDRESSES = 4 };
static struct {
    int count, ls[ADDRESSES], fd[IDLE];
    uint16_t port[ADDRESSES];
    int stay[2]; /* a pipe: the clients go when the end that is written is closed */
} idle;

static void listen_for_idle_ones(void) {
    char addr[64];
    for (int i = 0; i < ADDRESSES; i++) {
        snprintf(addr, sizeof addr, "127.0.0.%d:0", i + 1);
        idle.ls[i] = cc_listen(addr);
        test_must(idle.ls[i] >= 0 && cc_local_addr(idle.ls[i], addr, sizeof addr) == 0);
        idle.port[i] = (uint16_t)strtoul(strrchr(addr, ':') + 1, NULL, 10);
    }
}
/* By plain calls: it is a fork of a process that has had threads. */
static void idle_clients(void *arg) {
    char c;
    (void)arg;
    close(idle.stay[1]);
    for (int i = 0; i < idle.count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons(idle.port[i % ADDRESSES]),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(i % ADDRESSES))};
        if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) _exit(1);
    }
    while (read(idle.stay[0], &c, 1) < 0) {
    }
}
static void *idle_ones(void *arg) {
    static _Atomic int up;
    int n = idle.count, p[2];
    cc__store_relaxed(&up, 0);
    CC_NURSERY(all) {
        for (int i = 0; i < n; i++) {
            CC_DEADLINE_MS(60000) idle.fd[i] = cc_accept(idle.ls[i % ADDRESSES]);
            test_must(idle.fd[i] >= 0 && cc_spawn(all, rests, idle.fd[i], &up) == 0);
        }
        while (cc__load_relaxed(&up) < n) test_must(cc_sleep_ms(1) == 0);
        test_must(cc_pipe(p) == 0);
        for (int i = 0; i < 1000; i++) { /* among all of them, one that is used */
            char c;
            CC_NURSERY(one) {
                test_must(cc_spawn(one, writer, p[1]) == 0);
                test_must(cc_read_full(p[0], &c, 1) == 1 && cc_read_full(p[0], &c, 1) == 1);
            }
        }
        test_must(cc_close(p[0]) == 0 && cc_close(p[1]) == 0);
        for (int i = 0; i < n; i += 2) test_must(cc_close(idle.fd[i]) == 0);
        test_must(close(idle.stay[1]) == 0); /* and the others' other ends */
        test_must(cc_nursery_wait(all) == 0);
    }
    for (int i = 1; i < n; i += 2) test_must(cc_close(idle.fd[i]) == 0);
    return arg;
}
static void many_idle_ones(void **state) {
    (void)state;
    struct rlimit files;
    int err, status;
    idle.count = (int)test_rounds(IDLE);
    raise_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < (rlim_t)idle.count + 1000) {
        print_message("%ld descriptors are too few for %d connections\n", (long)files.rlim_cur, idle.count);
        skip();
    }
    print_message("%d idle connections\n", idle.count);
    listen_for_idle_ones();
    assert_int_equal(pipe2(idle.stay, O_CLOEXEC), 0);
    pid_t pid = test_fork(idle_clients, NULL, &err);
    test_on_workers(2, idle_ones, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(close(err) | close(idle.stay[0]), 0);
    for (int i = 0; i < ADDRESSES; i++) assert_int_equal(cc_close(idle.ls[i]), 0);
}

TEST_MAIN(cmocka_unit_test(a_server_at_rest_does_nothing), cmocka_unit_test(a_stuck_worker_keeps_nobody),
          cmocka_unit_test(storms_leave_nothing_behind), cmocka_unit_test(resets_spoil_nothing),
          cmocka_unit_test(many_idle_ones))
