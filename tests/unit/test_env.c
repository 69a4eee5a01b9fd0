/* SPDX-License-Identifier: MIT */
/* Goal: every variable of the environment does what docs/ENVIRONMENT.md says; a value that is not understood is told in
 * one line, with what would be, and ignored; all are read once.
 * Method: this program again with one more argument, as a child with the variables set, by exec; what it prints is
 * looked at, line by line. The table of the document is compared with what the child knows.
 * Not with: cross valgrind
 * One way: its children have the environments that it gives them, this variable among them
 * Timeout: 120
 */
#include "test.h"

#include "base/atomic.h"
#include "base/env.h"

#include "chan/chan.h"

#include <ccrt.h>
#include <fcntl.h>

/* ---- the child ---- */

static void *yields(void *arg) {
    for (int i = 0; i < 10; i++) cc_yield();
    return arg;
}

static _Atomic int flag; /* W: the main thread.  R: the task */
static void *waits(void *arg) {
    *(cc_parker *)arg = cc_parker_self();
    while (cc__load_acquire(&flag) == 0) cc_park_if(&flag, 0);
    return NULL;
}

/* A thread waits on a channel, alone and with another, until it is too late; and what there is to see of its ring. */
static int channels(void) {
    CC_CHAN(int) c;
    int v, rc = cc_chan_create_with(c, &((cc_chan_attr){.capacity = 2, .name = "few"}));
    if (rc != 0) return rc;
    rc += cc_send(c, 1) + cc_recv(c, &v);
    printf("ring=%d\n", cc__load_relaxed(&c.ch->put.frozen) == 0);
    fflush(stdout);
    CC_DEADLINE_MS(1) rc += cc_recv(c, &v) != -ETIMEDOUT;
    rc += cc_select(CC_RECV(c, &v), CC_AFTER_MS(1)) != 1;
    cc_chan_close(c);
    cc_chan_destroy(c);
    return rc;
}

/* Tasks that wait on a channel, by a call and by a select, and go on for each of the reasons that there are. */
enum reason { BY_DATA, BY_CLOSE, BY_CANCEL, BY_SIGNAL };
typedef CC_CHAN(int) int_chan;
CC_TASK(goes_on, (int_chan, c), (int, way), (int *, rc)) {
    int v;
    *rc = way == 0 ? cc_recv(c, &v) : way == 1 ? cc_send(c, 1) : cc_select(CC_RECV(c, &v), CC_CLOSED(c));
    return 0;
}
static void *goes_on_for_all_reasons(void *wrong) {
    static const char *const ways[] = {"receive", "send", "select"};
    static const int is[][3] = {
        [BY_DATA] = {0, 0, 0}, [BY_CLOSE] = {-EPIPE, -EPIPE, 1}, [BY_CANCEL] = {-ECANCELED, -ECANCELED, -ECANCELED}};
    for (enum reason reason = BY_DATA; reason <= BY_CANCEL; reason++) {
        for (int way = 0; way < 3; way++) {
            int_chan c;
            int rc = 99, v, failed = cc_chan_create(c, 0);
            fprintf(stderr, "reason %d, %s:\n", reason, ways[way]);
            CC_NURSERY(n) {
                failed += cc_spawn(n, goes_on, c, way, &rc);
                while (c.ch->rx.first == NULL && c.ch->tx.first == NULL) cc_yield();
                if (reason == BY_DATA) failed += way == 1 ? cc_recv(c, &v) : cc_send(c, 1);
                if (reason == BY_CLOSE) cc_chan_close(c);
                if (reason == BY_CANCEL) cc_nursery_cancel(n);
            }
            *(int *)wrong += failed != 0 || rc != is[reason][way];
            cc_chan_destroy(c);
        }
    }
    return NULL;
}
/* A task's end decides a select that waits at a channel, too. */
static void *goes_on_by_an_end(void *wrong) {
    int_chan c;
    int v, failed = cc_chan_create(c, 0);
    fprintf(stderr, "reason %d, select:\n", BY_SIGNAL);
    cc_task t = cc_fiber_spawn_task(yields, NULL);
    failed += cc_select(CC_RECV(c, &v), CC_DONE(t)) != 1;
    *(int *)wrong += failed + cc_task_join(t, NULL);
    cc_chan_destroy(c);
    return NULL;
}
static int reasons(void) {
    const cc_runtime_attr one = {.workers = 1};
    int wrong = 0, rc = cc_run(&one, goes_on_for_all_reasons, &wrong, NULL);
    return rc + cc_run(&one, goes_on_by_an_end, &wrong, NULL) + wrong;
}

/* What the settings are, then a few tasks: joined while they run and after, parked and unparked, pinned. */
static int child(const char *what) {
    cc_runtime *rt;
    cc_parker parker = {0};
    cc_task t, pinned, parked;
    cc_runtime_attr attr = {.workers = strcmp(what, "two") == 0 ? 2 : 0, .name = "envy"};
    if (strcmp(what, "set later") == 0) {
        cc_run(&(cc_runtime_attr){.workers = 1}, yields, NULL, NULL);
        setenv("CC_WORKERS", "3", 1);
    }
    if (cc_runtime_create(&rt, &attr) != 0) return 2;
    printf("workers=%u stats=%d verbose=%d join=%d wake=%d inbox=%d sysmon=%d monitor=%d park=%d stall=%d deadlock=%d "
           "deadlock_runtime=%d inbox_dump=%d chan=%d chan_more=%d no_lockfree=%d io=%d pin=%d abort=%d\n",
           cc_runtime_workers(rt), cc__env.fiber_stats, cc__env.verbose, cc__env.debug_join, cc__env.debug_wake,
           cc__env.debug_inbox, cc__env.debug_sysmon, cc__env.sysmon, cc__env.park_debug, cc__env.debug_stall,
           cc__env.debug_deadlock, cc__env.debug_deadlock_runtime, cc__env.debug_inbox_dump, cc__env.chan_debug,
           cc__env.chan_debug_verbose, cc__env.chan_no_lockfree, cc__env.io, cc__env.pin, cc__env.deadlock_abort);
    fflush(stdout);
    int rc = strcmp(what, "channels") == 0 ? channels() : strcmp(what, "reasons") == 0 ? reasons() : 0;
    rc += cc_runtime_spawn(rt, &t, &(cc_task_attr){.name = "first"}, yields, NULL);
    rc += cc_runtime_spawn(rt, &pinned, &(cc_task_attr){.name = "pinned", .worker = 1}, yields, NULL);
    rc += cc_runtime_spawn(rt, &parked, &(cc_task_attr){.name = "parked"}, waits, &parker);
    cc_runtime_stats stats;
    do { /* it waits */
        cc_runtime_stats_get(rt, &stats);
    } while (stats.parked < 1 || stats.ended < 2);
    cc__store_release(&flag, 1);
    cc_unpark(parker);
    rc += cc_task_join(t, NULL) + cc_task_join(pinned, NULL) + cc_task_join(parked, NULL);
    cc_runtime_destroy(rt);
    return rc != 0;
}

/* ---- the parent ---- */

static char said[16384];

/* Run it with these variables, "NAME=value ...", and no others of ours; what it says is in `said`. */
static void run(const char *what, const char *variables) {
    char text[512], *names[16], *rest = text, *one;
    size_t n = 0;
    snprintf(text, sizeof text, "%s", variables);
    while (n < TEST_COUNT_OF(names) - 1 && (one = strsep(&rest, " ")) != NULL)
        if (*one != 0) names[n++] = one;
    names[n] = NULL;
    int pipe_fd[2], status;
    fflush(NULL);
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_fd[1], STDOUT_FILENO);
        dup2(pipe_fd[1], STDERR_FILENO);
        char *args[] = {(char *)(uintptr_t) "child", (char *)(uintptr_t)what, NULL};
        execve("/proc/self/exe", args, names);
        _exit(9);
    }
    close(pipe_fd[1]);
    size_t at = 0;
    for (ssize_t got; (got = read(pipe_fd[0], said + at, sizeof said - 1 - at)) > 0;) at += (size_t)got;
    said[at] = 0;
    close(pipe_fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) print_message("%s\n", said);
    assert_int_equal(status, 0);
}

static bool says(const char *text) {
    return strstr(said, text) != NULL;
}
static void must_say(const char *text) {
    if (!says(text)) print_message("expected \"%s\" in:\n%s\n", text, said);
    assert_true(says(text));
}
static size_t lines_with(const char *text) {
    size_t n = 0;
    for (const char *at = said; (at = strstr(at, text)) != NULL; at++) n++;
    return n;
}

static const struct {
    const char *variable, *field;
    int by_default;
} flags[] = {
    {"CC_FIBER_STATS", "stats", 0},
    {"CC_VERBOSE", "verbose", 0},
    {"CC_DEBUG_JOIN", "join", 0},
    {"CC_DEBUG_WAKE", "wake", 0},
    {"CC_DEBUG_INBOX", "inbox", 0},
    {"CC_DEBUG_SYSMON", "sysmon", 0},
    {"CC_SYSMON", "monitor", 1},
    {"CC_PARK_DEBUG", "park", 0},
    {"CC_DEBUG_STALL", "stall", 1},
    {"CC_DEBUG_DEADLOCK", "deadlock", 0},
    {"CC_DEBUG_DEADLOCK_RUNTIME", "deadlock_runtime", 0},
    {"CC_DEBUG_INBOX_DUMP", "inbox_dump", 0},
    {"CC_CHAN_DEBUG", "chan", 0},
    {"CC_CHAN_DEBUG_VERBOSE", "chan_more", 0},
    {"CC_CHAN_NO_LOCKFREE", "no_lockfree", 0},
    {"CC_DEADLOCK_ABORT", "abort", 1},
};

static void flag_is(size_t i, int value) {
    char text[64];
    snprintf(text, sizeof text, " %s=%d%s", flags[i].field, value, strcmp(flags[i].field, "abort") == 0 ? "\n" : " ");
    must_say(text);
}

static void nothing_is_said_unasked(void **state) {
    (void)state;
    run("two", "");
    for (size_t i = 0; i < TEST_COUNT_OF(flags); i++) flag_is(i, flags[i].by_default);
    assert_int_equal(lines_with("\n"), 1);
    run("two", "CC_VERBOSE= CC_WORKERS= CC_TRACE="); /* as good as unset */
    assert_int_equal(lines_with("\n"), 1);
}

static void flags_are_one_or_zero(void **state) {
    (void)state;
    const char *const bad[] = {"yes", "2", "-1", "01x", "true"};
    for (size_t i = 0; i < TEST_COUNT_OF(flags); i++) {
        char set[64], told[128];
        for (int value = 0; value < 2; value++) {
            snprintf(set, sizeof set, "%s=%d", flags[i].variable, value);
            run("two", set);
            flag_is(i, value);
            assert_false(says("ignored"));
        }
        const char *value = bad[i % TEST_COUNT_OF(bad)];
        snprintf(set, sizeof set, "%s=%s", flags[i].variable, value);
        snprintf(told, sizeof told, "ccrt: %s=\"%s\" is ignored: it is to be 1 or 0\n", flags[i].variable, value);
        run("two", set);
        flag_is(i, flags[i].by_default);
        must_say(told);
        assert_int_equal(lines_with("ignored"), 1);
    }
}

static void workers_are_a_number_in_range(void **state) {
    (void)state;
    run("one", "CC_WORKERS=5");
    must_say("workers=5 ");
    run("two", "CC_WORKERS=5"); /* the program goes first */
    must_say("workers=2 ");
    run("one", "");
    char by_default[32] = {0};
    sscanf(said, "%31s", by_default);
    const char *const bad[] = {"abc", "0", "-1", "1e9", "4097", "99999999999999999999", "3x", "+3", "0x10"};
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        char set[64], told[128];
        snprintf(set, sizeof set, "CC_WORKERS=%s", bad[i]);
        snprintf(told, sizeof told, "ccrt: CC_WORKERS=\"%s\" is ignored: it is to be a number from 1 to 4096\n",
                 bad[i]);
        run("one", set);
        must_say(told);
        must_say(by_default);
        assert_int_equal(lines_with("ignored"), 1);
    }
}

static void io_is_one_of_three(void **state) {
    (void)state;
    const struct {
        const char *set;
        int io;
    } good[] = {{"CC_IO=epoll", CC_IO_EPOLL}, {"CC_IO=uring", CC_IO_URING}, {"CC_IO=pool", CC_IO_POOL}, {"CC_IO=", 0}};
    for (size_t i = 0; i < TEST_COUNT_OF(good); i++) {
        char told[32];
        snprintf(told, sizeof told, " io=%d ", good[i].io);
        run("two", good[i].set);
        must_say(told);
        assert_false(says("ignored"));
    }
    const char *const bad[] = {"1", "Uring", "kqueue", "poo", "pools"};
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        char set[64], told[128];
        snprintf(set, sizeof set, "CC_IO=%s", bad[i]);
        snprintf(told, sizeof told, "ccrt: CC_IO=\"%s\" is ignored: it is to be epoll, uring or pool\n", bad[i]);
        run("two", set);
        must_say(told);
        must_say(" io=0 ");
        assert_int_equal(lines_with("ignored"), 1);
    }
    run("two", "CC_VERBOSE=1 CC_IO=pool");
    must_say("files    threads, by CC_IO\n");
    run("two", "CC_VERBOSE=1 CC_IO=uring");
    if (says("cannot be had")) {
        must_say("ccrt: io_uring, by CC_IO, cannot be had here: ");
        must_say("; files go to threads\n");
        must_say("files    threads: io_uring, by CC_IO, cannot be had: ");
    } else {
        must_say("files    io_uring, by CC_IO\n");
    }
    run("two", "CC_VERBOSE=1");
    must_say("files    ");
    must_say(", by default");
}

/* This program has no hwloc: a strategy is understood, and cannot be had. */
static void pinning_is_a_word(void **state) {
    (void)state;
    const char *const words[] = {"off", "linear", "avoid-smt", "tiered"};
    for (size_t i = 0; i < TEST_COUNT_OF(words); i++) {
        char set[64], field[32], told[128];
        snprintf(set, sizeof set, "CC_PIN=%s", words[i]);
        snprintf(field, sizeof field, " pin=%d ", (int)i + CC_PIN_OFF);
        snprintf(told, sizeof told, "ccrt: CC_PIN=\"%s\" is ignored: this program has no hwloc, ", words[i]);
        run("two", set);
        must_say(field);
        assert_int_equal(lines_with("ignored"), i > 0);
        if (i > 0) must_say(told);
    }
    const char *const bad[] = {"1", "Linear", "tiered,", "on"};
    for (size_t i = 0; i < TEST_COUNT_OF(bad); i++) {
        char set[64], told[128];
        snprintf(set, sizeof set, "CC_PIN=%s", bad[i]);
        snprintf(told, sizeof told, "ccrt: CC_PIN=\"%s\" is ignored: it is to be off, linear, avoid-smt or tiered\n",
                 bad[i]);
        run("two", set);
        must_say(told);
        must_say(" pin=0 ");
        assert_int_equal(lines_with("ignored"), 1);
    }
}

static void long_and_odd_values_are_shown_as_far_as_they_can_be(void **state) {
    (void)state;
    run("two", "CC_VERBOSE=\033[31m_and_more_than_forty_characters_of_this_and_that");
    must_say("CC_VERBOSE=\"?[31m_and_more_than_forty_characters_of_...\" is ignored");
}

static void read_once(void **state) {
    (void)state;
    run("set later", "CC_WORKERS=2 CC_VERBOSE=maybe");
    must_say("workers=2 ");
    assert_int_equal(lines_with("ignored"), 1);
}

static void verbose_says_what_it_starts_with(void **state) {
    (void)state;
    run("two", "CC_VERBOSE=1");
    must_say("ccrt: version ");
    must_say("runtime 1 \"envy\"\n");
    must_say("workers  2, by the program (affinity: ");
    must_say("stacks   192 KiB, guards of 64 KiB by ");
    must_say("queues   256 slots a worker, 4096 global; spawns local\n");
    must_say("cpus     workers are not bound to any\n");
    must_say("switch   ");
    must_say("timers   ");
    run("one", "CC_VERBOSE=1 CC_WORKERS=3");
    must_say("workers  3, by CC_WORKERS (");
    run("one", "CC_VERBOSE=1");
    must_say("workers  ");
    assert_true(says("by the cpus of its affinity mask") || says("by the cpu quota of its cgroup"));
}

static void statistics_add_up(void **state) {
    (void)state;
    run("two", "CC_FIBER_STATS=1");
    must_say("ccrt: statistics of runtime 1 \"envy\" after ");
    const char *at = strstr(said, " cpu time\n");
    unsigned long long sum[6] = {0}, n[6];
    char who[16] = "";
    for (size_t rows = 0; strcmp(who, "total") != 0; rows++) { /* two workers or more, threads, total */
        assert_non_null(at);
        at = strchr(at, '\n') + 1;
        int got = sscanf(at, "%15s %llu %llu %llu %llu %llu %llu", who, n, n + 1, n + 2, n + 3, n + 4, n + 5);
        assert_int_equal(got, 7);
        bool total = strcmp(who, "total") == 0;
        assert_true(!total || rows >= 3);
        for (size_t k = 0; k < 6; k++) {
            if (total) assert_int_equal(n[k], sum[k]);
            sum[k] += total ? 0 : n[k];
        }
    }
    assert_int_equal(sum[0], 3); /* spawned, by the thread */
    assert_int_equal(sum[1], 3);
    assert_true(sum[2] >= 1 && sum[3] >= 1); /* one parked and was woken */
    must_say(" stacks given out ");
    assert_int_equal(lines_with("statistics"), 1);
}

static void logs_name_tasks(void **state) {
    (void)state;
    run("two", "CC_DEBUG_JOIN=1");
    must_say("ccrt: join: a thread takes the result of task 1 \"first\"\n");
    assert_false(says("ccrt: wake:") || says("ccrt: inbox:") || says("ccrt: park_if:"));
    run("two", "CC_DEBUG_WAKE=1");
    must_say("ccrt: wake: a thread wakes task 3 \"parked\"\n");
    run("two", "CC_DEBUG_INBOX=1");
    must_say("ccrt: inbox: task 2 \"pinned\" goes to the mail of worker 0\n");
    must_say(" takes 1 from the mail of worker 0\n");
    run("two", "CC_PARK_DEBUG=1");
    must_say("ccrt: park_if: task 3 \"parked\" parks: flag 0x");
    must_say(" is 0\n");
}

static void logs_of_channels(void **state) {
    (void)state;
    run("channels", "CC_CHAN_DEBUG=1");
    must_say("ccrt: chan: a thread waits to receive from 0x");
    must_say("ccrt: chan: a thread receives from 0x");
    must_say(": CANCEL\n");
    must_say("ccrt: chan: a thread waits in a select\n");
    must_say("ccrt: chan: a thread leaves a select: CANCEL\n");
    assert_false(says("closes") || says("no longer"));
    run("channels", "CC_CHAN_DEBUG_VERBOSE=1");
    must_say("ccrt: chan: a thread closes 0x");
    must_say(" \"few\"\n");
    must_say("ccrt: chan: a thread no longer waits at 0x");
    run("channels", "");
    must_say("ring=1\n");
    assert_false(says("ccrt: chan:"));
    run("channels", "CC_CHAN_NO_LOCKFREE=1");
    must_say("ring=0\n");
}

/* What is told of a wait that ended for that reason, behind the heading of the one. */
static void must_name(enum reason reason, const char *way, const char *told, const char *name) {
    char heading[64], ends[32];
    snprintf(heading, sizeof heading, "reason %d, %s:\n", (int)reason, way);
    size_t n = (size_t)snprintf(ends, sizeof ends, ": %s\n", name);
    const char *at = strstr(said, heading), *line = at == NULL ? NULL : strstr(at, told);
    const char *end = line == NULL ? NULL : strchr(line, '\n');
    bool good = end != NULL && memcmp(end + 1 - n, ends, n) == 0;
    if (!good) print_message("not \"%s ...%s\" behind \"%s\", it said:\n%s\n", told, name, heading, said);
    assert_true(good);
}
static void logs_of_reasons(void **state) {
    (void)state;
    static const char *const variable[] = {"CC_CHAN_DEBUG=1", "CC_CHAN_DEBUG_VERBOSE=1"};
    static const char *const name[] = {[BY_DATA] = "DATA", [BY_CLOSE] = "CLOSE", [BY_CANCEL] = "CANCEL"};
    for (size_t i = 0; i < TEST_COUNT_OF(variable); i++) {
        run("reasons", variable[i]);
        for (enum reason reason = BY_DATA; reason <= BY_CANCEL; reason++) {
            must_name(reason, "receive", " receives from 0x", name[reason]);
            must_name(reason, "send", " sends to 0x", name[reason]);
            must_name(reason, "select", " leaves a select: ", name[reason]);
        }
        must_name(BY_SIGNAL, "select", " leaves a select: ", "SIGNAL");
    }
    run("reasons", "");
    assert_false(says("ccrt: chan:"));
}

/* Every variable is in the document, and the document has no others. */
static void the_document_has_all(void **state) {
    (void)state;
    static char text[32768];
    int fd = open(CCRT_SOURCE_DIR "/docs/ENVIRONMENT.md", O_RDONLY);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n > 0);
    size_t rows = 0;
    for (const char *at = text; (at = strstr(at, "\n| `CC_")) != NULL; at++) rows++;
    static const char *const others[] = {"CC_WORKERS", "CC_TRACE", "CC_IO", "CC_PIN"};
    const size_t n_others = TEST_COUNT_OF(others);
    for (size_t i = 0; i < TEST_COUNT_OF(flags) + n_others; i++) {
        char row[64];
        snprintf(row, sizeof row, "\n| `%s`", i < n_others ? others[i] : flags[i - n_others].variable);
        if (strstr(text, row) == NULL) print_message("not in the document: %s\n", row);
        assert_non_null(strstr(text, row));
    }
    assert_int_equal(rows, TEST_COUNT_OF(flags) + n_others);
}

int main(int argc, char **argv) {
    if (argc > 1) return child(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_unasked),
        cmocka_unit_test(flags_are_one_or_zero),
        cmocka_unit_test(workers_are_a_number_in_range),
        cmocka_unit_test(io_is_one_of_three),
        cmocka_unit_test(pinning_is_a_word),
        cmocka_unit_test(long_and_odd_values_are_shown_as_far_as_they_can_be),
        cmocka_unit_test(read_once),
        cmocka_unit_test(verbose_says_what_it_starts_with),
        cmocka_unit_test(statistics_add_up),
        cmocka_unit_test(logs_name_tasks),
        cmocka_unit_test(logs_of_channels),
        cmocka_unit_test(logs_of_reasons),
        cmocka_unit_test(the_document_has_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
