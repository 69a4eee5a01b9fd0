/* SPDX-License-Identifier: MIT */
/* Goal: a report shows every task with its number, name, what it does, what it waits for and how long, where it was
 * spawned and the functions of its stack; tasks that wait alike are put together; a signal has it written, and the
 * program goes on, unless the program wants the signal for itself.
 * Method: tasks that wait in each way there is, and a look at the text. The functions of this file that have to be seen
 * in stacks are never inlined and do something after their calls.
 * Not with: valgrind
 */
#include "runtimes.h"

#include <ccrt.h>
#include <fcntl.h>
#include <sys/mman.h>

static _Atomic int go, spinning;
static _Atomic int after_calls;

#define FRAME __attribute__((noinline)) static

FRAME void waits_in_sleep(void) {
    cc_sleep_ms(600000);
    cc__add_relaxed(&after_calls, 1);
}
FRAME void waits_in_park(void) {
    while (cc__load_acquire(&go) == 0) cc_park_if(&go, 0);
    cc__add_relaxed(&after_calls, 1);
}
FRAME void waits_in_join(cc_task t) {
    cc_task_join(t, NULL);
    cc__add_relaxed(&after_calls, 1);
}

static void *sleeper(void *arg) {
    waits_in_sleep();
    return arg;
}
static void *parker(void *arg) {
    *(cc_parker *)arg = cc_parker_self();
    waits_in_park();
    return NULL;
}
static void *joiner(void *arg) {
    waits_in_join(*(cc_task *)arg);
    return NULL;
}
static void *spinner(void *arg) {
    cc__store_release(&spinning, 1);
    while (cc__load_acquire(&go) == 0) cc__cpu_relax();
    return arg;
}
CC_TASK(child, (int, ms)) {
    return cc_sleep_ms(ms);
}
static void *nurse(void *arg) {
    CC_NURSERY(n) {
        cc_spawn(n, child, 600000);
        cc__add_relaxed(&after_calls, 1);
    }
    return arg;
}

/* ---- reading reports ---- */

static char report[4 << 20]; /* more than a thousand stacks */

static const char *take_report(void) {
    int fd = memfd_create("report", 0);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w+");
    assert_non_null(f);
    cc_dump(f);
    ssize_t n = pread(fd, report, sizeof report - 1, 0);
    assert_true(n > 0);
    report[n] = 0;
    fclose(f);
    return report;
}

/* The entry whose first line holds `text`: that line and its stack, up to the next. NULL: none. */
static char *entry(const char *from, const char *text, char *out, size_t size) {
    for (const char *line = from; *line != 0;) {
        const char *end = strchr(line, '\n'), *at = strstr(line, text);
        assert_non_null(end);
        if (line[0] != ' ' && at != NULL && at < end) {
            while (end[1] == ' ') end = strchr(end + 1, '\n');
            size_t n = (size_t)(end - line) < size - 1 ? (size_t)(end - line) : size - 1;
            memcpy(out, line, n);
            out[n] = 0;
            return out;
        }
        line = end + 1;
    }
    return NULL;
}

/* Reports until there is an entry with both texts in its first line: tasks take a while to get there. */
static char *await_entry(const char *who, const char *what, char *out, size_t size) {
    for (int i = 0; i < 5000; i++) {
        char *found = entry(take_report(), who, out, size);
        if (found != NULL && strstr(found, what) != NULL) return found;
        cc_sleep_ms(2);
    }
    fail_msg("no %s with %s in:\n%s", who, what, report);
    return NULL;
}

static void has(const char *where, const char *text) {
    if (strstr(where, text) == NULL) print_message("no \"%s\" in:\n%s\n", text, where);
    assert_non_null(strstr(where, text));
}

/* The names, in this order. */
static void has_frames(const char *where, const char *const *names, size_t n) {
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
    const char *at = where;
    for (size_t i = 0; i < n; i++) {
        char text[64];
        snprintf(text, sizeof text, "    %s+0x", names[i]);
        has(at, text);
        at = strstr(at, text);
    }
#else
    (void)where, (void)names, (void)n;
#endif
}

/* `text` with the line where it was spawned. */
#define SPAWNED(var, line) snprintf(var, sizeof var, "spawned at %s:%d", __FILE__, (line))

static cc_runtime *runtime_of(unsigned workers) {
    cc_runtime *rt;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = workers}), 0);
    return rt;
}

/* ---- what is shown ---- */

static void every_way_to_wait(void **state) {
    (void)state;
    char e[8192], site[512];
    cc_parker parked;
    cc_task p, j, s, n, r;
    cc__store_release(&go, 0);
    cc__store_release(&spinning, 0);
    assert_int_equal(cc_task_spawn(&p, &(cc_task_attr){.name = "the parker"}, parker, &parked), 0);
    SPAWNED(site, __LINE__ - 1);
    await_entry("\"the parker\"", " waits (park_if on 0x", e, sizeof e);
    has(e, site);
    has(e, " for about ");
    has_frames(e, (const char *[]){"cc_priv_park_if", "waits_in_park", "parker"}, 3);

    assert_int_equal(cc_task_spawn(&j, &(cc_task_attr){.name = "the joiner"}, joiner, &p), 0);
    SPAWNED(site, __LINE__ - 1);
    await_entry("\"the joiner\"", " waits (join of task ", e, sizeof e);
    has(e, "\"the parker\")");
    has(e, site);
    has_frames(e, (const char *[]){"cc_task_join", "waits_in_join", "joiner"}, 3);

    s = cc_fiber_spawn_task(sleeper, NULL);
    SPAWNED(site, __LINE__ - 1);
    await_entry("\"sleeper\"", " waits (sleep)", e, sizeof e);
    has(e, site);
    has_frames(e, (const char *[]){"cc_sleep_ms", "waits_in_sleep", "sleeper"}, 3);

    n = cc_fiber_spawn_task(nurse, NULL);
    await_entry("\"nurse\"", " waits (nursery on 0x", e, sizeof e);
    has_frames(e, (const char *[]){"cc_nursery_wait", "nurse"}, 2);
    await_entry("\"child\"", " waits (sleep)", e, sizeof e);
    has_frames(e, (const char *[]){"cc_sleep_ms"}, 1);

    assert_int_equal(cc_task_spawn(&r, &(cc_task_attr){.name = "the spinner"}, spinner, NULL), 0);
    while (cc__load_acquire(&spinning) == 0) cc_sleep_ms(1);
    await_entry("\"the spinner\"", " runs on worker ", e, sizeof e);
    assert_null(strchr(e, '\n'));                                                     /* no stack */
    if (test_monitored()) await_entry("\"the spinner\"", " for about ", e, sizeof e); /* only the monitor knows */

    cc__store_release(&go, 1);
    cc_unpark(parked);
    assert_int_equal(cc_task_join(r, NULL), 0);
    assert_int_equal(cc_task_join(j, NULL), 0);
    cc_task_detach(s);
    cc_task_detach(n);
}

/* ---- channels: which, what is in it, and why a wait there is over ---- */

typedef CC_CHAN(int) int_chan;

CC_TASK(receives, (int_chan, c)) {
    int v;
    return cc_recv(c, &v) < 0 ? 0 : 1;
}
CC_TASK(sends, (int_chan, c)) {
    return cc_send(c, 1) < 0 ? 0 : 1;
}
CC_TASK(selects, (int_chan, c), (int_chan, d)) {
    int v;
    return cc_select(CC_RECV(c, &v), CC_RECV(d, &v)) < 0 ? 0 : 1;
}

/* On one worker, which this task keeps: whoever it wakes is ready, and does not run meanwhile. */
static void *ends_waits(void *arg) {
    static char e[8192];
    int_chan full, empty, third;
    int v;
    bool same_stack = !TEST_ASAN; /* whose frames may be elsewhere */
    assert_int_equal(cc_chan_create_with(full, &((cc_chan_attr){.capacity = 2, .name = "orders"})), 0);
    assert_int_equal(cc_chan_create_with(empty, &((cc_chan_attr){.unbounded = 1})), 0);
    assert_int_equal(cc_chan_create(third, 0), 0);
    cc_send(full, 7);
    cc_send(full, 8);
    CC_NURSERY(n) {
        cc_spawn(n, sends, full);
        cc_spawn(n, receives, empty);
        cc_spawn(n, selects, empty, third);
        await_entry("\"selects\"", " waits (select, NONE)", e, sizeof e);
        await_entry("\"receives\"", " waits (receive on channel 0x", e, sizeof e);
        has(e, ", 0 in it, NONE)");
        await_entry("\"sends\"", " waits (send on channel \"orders\" 0x", e, sizeof e);
        has(e, ", 2 of 2 in it, NONE)");
        cc_recv(full, &v);
        cc_chan_close(empty);
        if (same_stack) {
            assert_non_null(entry(take_report(), "\"sends\"", e, sizeof e));
            has(e, " is ready (send on channel \"orders\" 0x");
            has(e, ", DATA)");
            assert_non_null(entry(take_report(), "\"receives\"", e, sizeof e));
            has(e, ", 0 in it, closed, CLOSE)");
            assert_non_null(entry(take_report(), "\"selects\"", e, sizeof e));
            has(e, " is ready (select, CLOSE)");
        }
    }
    CC_NURSERY(n) {
        cc_spawn(n, receives, third);
        await_entry("\"receives\"", " waits (receive on channel 0x", e, sizeof e);
        has(e, ", NONE)");
        cc_nursery_cancel(n); /* its waiter finds that out by itself, when it runs */
        if (same_stack) {
            assert_non_null(entry(take_report(), "\"receives\"", e, sizeof e));
            has(e, " is ready (receive on channel 0x");
            has(e, ", SIGNAL)");
        }
    }
    cc_chan_destroy(full);
    cc_chan_destroy(empty);
    cc_chan_destroy(third);
    return arg;
}

static void channels_that_are_waited_on(void **state) {
    (void)state;
    cc_task t;
    cc_runtime *rt;
    assert_int_equal(cc_runtime_create(&rt, &(cc_runtime_attr){.workers = 1, .no_monitor = 1}), 0);
    assert_int_equal(cc_runtime_spawn(rt, &t, NULL, ends_waits, NULL), 0);
    assert_int_equal(cc_task_join(t, NULL), 0);
    cc_runtime_destroy(rt);
}

/* A thread that waits is shown, too; here it is the one that is asked from. */
static void *dumps(void *arg) {
    char *e = arg;
    char who[64];
    snprintf(who, sizeof who, "thread %d waits", (int)getpid());
    await_entry(who, "(join of task ", e, 4096);
    return arg;
}

static void threads_that_wait(void **state) {
    (void)state;
    static char e[4096];
    void *result;
    cc_task t = cc_fiber_spawn_task(dumps, e);
    assert_int_equal(cc_task_join(t, &result), 0);
    has(e, "\"dumps\")");
}

static void alike_are_put_together(void **state) {
    (void)state;
    enum { MANY = 37 };
    char e[8192], text[64];
    cc_parker parked[MANY];
    cc_task t[MANY], u;
    cc__store_release(&go, 0);
    cc_runtime *rt = runtime_of(2);
    for (int i = 0; i < MANY; i++) assert_int_equal(cc_runtime_spawn(rt, &t[i], NULL, parker, &parked[i]), 0);
    assert_int_equal(cc_runtime_spawn(rt, &u, &(cc_task_attr){.name = "another"}, joiner, &t[0]), 0);
    snprintf(text, sizeof text, "%d tasks (1, 2, 3, 4, 5, 6, ...) \"parker\" wait (park_if on 0x", MANY);
    await_entry(text, " for about ", e, sizeof e);
    has_frames(e, (const char *[]){"cc_priv_park_if", "waits_in_park", "parker"}, 3);
    await_entry("\"another\"", " waits (join of task ", e, sizeof e);
    cc__store_release(&go, 1);
    for (int i = 0; i < MANY; i++) cc_unpark(parked[i]);
    for (int i = 1; i < MANY; i++) assert_int_equal(cc_task_join(t[i], NULL), 0);
    assert_int_equal(cc_task_join(u, NULL), 0);
    cc_runtime_destroy(rt);
}

/* More kinds than there is room for: the rest is counted. */
static void *waits_on(void *arg) {
    int line = (int)(intptr_t)arg;
    static cc_site sites[2000];
    sites[line] = (cc_site){__FILE__, line, "kind"};
    cc_task t;
    if (cc_task_spawn_at(&sites[line], &t, NULL, sleeper, NULL) != 0) return arg;
    return (void *)(intptr_t)-cc_task_detach(t);
}

static void reports_are_bounded(void **state) {
    (void)state;
    if (TEST_TSAN) return; /* it has no room for so many fibers beside its own */
    enum { KINDS = 1500 };
    for (int i = 0; i < KINDS; i++) assert_null(waits_on((void *)(intptr_t)i));
    for (int i = 0; i < 100 && strstr(take_report(), "\nand ") == NULL; i++) cc_sleep_ms(10);
    const char *more = strstr(report, "\nand ");
    assert_non_null(more);
    has(more, " more\n");
}

static void streams_without_a_descriptor(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs("before\n", f);
    cc_dump(f);
    fputs("after\n", f);
    fclose(f);
    assert_int_equal(strncmp(text, "before\nccrt: ", 13), 0);
    has(text, "\nafter\n");
    free(text);
}

/* ---- by signal ---- */

static int report_fd;

/* Wait until the file that stderr goes to has a text. */
static bool await_text(const char *text) {
    for (int i = 0; i < 5000; i++) {
        ssize_t n = pread(report_fd, report, sizeof report - 1, 0);
        report[n < 0 ? 0 : n] = 0;
        if (strstr(report, text) != NULL) return true;
        usleep(2000);
    }
    return false;
}

static int program(int argc, char **argv) {
    (void)argv;
    cc_task t;
    if (cc_task_spawn(&t, &(cc_task_attr){.name = "waits in the program"}, sleeper, NULL) != 0) return 1;
    kill(getpid(), SIGQUIT);
    if (!await_text("\"waits in the program\"")) return 2;
    return argc;
}

static void by_signal(void *unused) {
    (void)unused;
    report_fd = memfd_create("stderr", 0);
    dup2(report_fd, STDERR_FILENO);
    _exit(cc_run_main(program, 42, NULL));
}

/* TSan hands a signal on when the thread it came to calls libc next, which may be never. */
static void quit_has_it_written(void **state) {
    (void)state;
    if (TEST_TSAN) return;
    char err[4096];
    int status = test_in_child(by_signal, NULL, err, sizeof err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void own_handler(int signo) {
    (void)signo;
    _exit(7);
}
static int quits(int argc, char **argv) {
    (void)argv;
    kill(getpid(), SIGQUIT);
    for (int i = 0; i < 1000; i++) cc_sleep_ms(argc);
    return 1;
}
static void with_own_handler(void *unused) {
    (void)unused;
    signal(SIGQUIT, own_handler);
    _exit(cc_run_main(quits, 42, NULL));
}
static void forks_and_quits(void *unused) {
    (void)unused;
    if (cc_dump_on_signal(SIGQUIT) != 0) _exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGQUIT);
        _exit(0);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid) _exit(2);
    _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT ? 0 : 3);
}

static void the_programs_handler_stays(void **state) {
    (void)state;
    if (TEST_TSAN) return;
    char err[4096];
    int status = test_in_child(with_own_handler, NULL, err, sizeof err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = test_in_child(forks_and_quits, NULL, err, sizeof err);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void signals_are_asked_for(void **state) {
    (void)state;
    assert_int_equal(cc_dump_on_signal(SIGUSR1), 0);
    assert_int_equal(cc_dump_on_signal(SIGUSR1), 0);
    assert_int_equal(cc_dump_on_signal(SIGKILL), -EINVAL);
    assert_int_equal(cc_dump_on_signal(-1), -EINVAL);
    signal(SIGUSR2, SIG_IGN);
    assert_int_equal(cc_dump_on_signal(SIGUSR2), -EBUSY);
    signal(SIGUSR2, own_handler);
    assert_int_equal(cc_dump_on_signal(SIGUSR2), -EBUSY);
}

TEST_MAIN(cmocka_unit_test(quit_has_it_written), cmocka_unit_test(the_programs_handler_stays),
          cmocka_unit_test(signals_are_asked_for), cmocka_unit_test(every_way_to_wait),
          cmocka_unit_test(channels_that_are_waited_on), cmocka_unit_test(threads_that_wait),
          cmocka_unit_test(alike_are_put_together), cmocka_unit_test(reports_are_bounded),
          cmocka_unit_test(streams_without_a_descriptor))
