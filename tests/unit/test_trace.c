/* SPDX-License-Identifier: MIT */
/* Goal: a trace is valid JSON whatever text is in it; records of logs whose clocks differ are put in an order that
 * makes sense, also where there are hundreds of them; what was lost does no harm; what cannot be had (memory, room on
 * the disk) is an error and not a crash.
 * Method: the writer on records made by hand, into a file that is read back; malloc() that fails at each of its calls;
 * the store on a real file, filled until it is full.
 * Link: -Wl,--wrap=calloc
 * Not with: cross valgrind
 */
#include "test.h"

#include "base/rng.h"
#include "plat/vm.h"
#include "trace/log.h"
#include "trace/out.h"
#include "trace/store.h"

#include <ccrt/task.h>
#include <fcntl.h>
#include <sys/stat.h>

static long calloc_fails_at; /* counts down to the call that fails; 0: none */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
    if (calloc_fails_at > 0 && --calloc_fails_at == 0) return NULL;
    return __real_calloc(n, size);
}

static char path[] = "/tmp/ccrt_test_trace_XXXXXX", text[1 << 20];
static struct cc__trace_file file;

static void begin(void) {
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    file = (struct cc__trace_file){.ns_per_cycle = 1};
    assert_int_equal(cc__out_open(&file, path), 0);
}
static void reread(void) {
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = 0;
    close(fd);
}
static void end(void) {
    cc__out_close(&file);
    unlink(path);
}
static const char *must_have(const char *part) {
    const char *at = strstr(text, part);
    if (at == NULL) print_message("expected %s in:\n%s\n", part, text);
    assert_non_null(at);
    return at;
}

/* ---- text ---- */

static void any_text_is_valid(void **state) {
    (void)state;
    static const struct {
        const char *given, *shown;
    } texts[] = {
        {"plain", "plain"},
        {"\"\\\n\x7f", "\\\"\\\\??"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff\xfe\x80", "???"},
        {"\xc0\xaf", "??"},           /* longer than it need be */
        {"\xed\xa0\x80", "???"},      /* half a pair */
        {"\xf4\x90\x80\x80", "????"}, /* too large */
        {"cut \xe2\x82", "cut ??"},   /* at its end */
        {"\xe2\x28\xa1", "?(?"},
    };
    begin();
    for (size_t i = 0; i < TEST_COUNT_OF(texts); i++) {
        cc__out_begin(&file, 'i', i, 1);
        cc__out_text(&file, "name", texts[i].given);
        cc__out_end(&file, false);
    }
    assert_int_equal(cc__out_flush(&file, 5), 0);
    reread();
    for (size_t i = 0; i < TEST_COUNT_OF(texts); i++) {
        char line[128];
        snprintf(line, sizeof line, "{\"ph\":\"i\",\"pid\":%zu,\"tid\":1,\"name\":\"%s\"}", i, texts[i].shown);
        must_have(line);
    }
    must_have("\"events lost\":5}}\n");
    end();
}

static void what_follows_overwrites_the_end_only(void **state) {
    (void)state;
    char long_name[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    begin();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) { /* longer than the buffer */
            cc__out_begin(&file, 'i', 1, 1);
            cc__out_text(&file, "name", round == 1 ? long_name : "short");
            cc__out_args(&file);
            cc__out_number(&file, "n", (uint64_t)i);
            cc__out_end(&file, true);
        }
        assert_int_equal(cc__out_flush(&file, 0), 0);
        reread();
        size_t events = 0;
        for (const char *at = text; (at = strstr(at, "\"ph\"")) != NULL; at++) events++;
        assert_int_equal(events, 4 * (round + 1));
        assert_int_equal(strlen(must_have("\n],\"otherData\"")), strlen("\n],\"otherData\":{\"events lost\":0}}\n"));
    }
    end();
}

/* ---- records ---- */

enum { WORKERS = 300, LOGS = 1 + WORKERS };

/* Of plain threads, and one for each worker. */
static struct cc__trace_log logs[LOGS];
static struct cc__trace_chunk *chunk[LOGS];
static uint32_t logs_used;
static uint64_t until, expect_late;

static void records_begin(uint32_t workers) {
    until = UINT64_MAX;
    expect_late = 0;
    logs_used = 1 + workers;
    for (uint32_t i = 0; i < logs_used; i++) {
        void *at;
        assert_int_equal(cc__vm_map(&at, CC__TRACE_CHUNK_BYTES), 0);
        chunk[i] = at;
        logs[i] = (struct cc__trace_log){.runtime = i == 0 ? 0 : 1, .worker = i == 0 ? 0 : i - 1, .name = "test"};
    }
}
static void records_end(void) {
    for (uint32_t i = 0; i < logs_used; i++) cc__vm_unmap(chunk[i], CC__TRACE_CHUNK_BYTES);
}
static void add(uint32_t log, uint64_t when, enum cc__event_kind kind, uint32_t task, uint32_t other, uintptr_t a,
                uintptr_t b) {
    uint64_t n = cc__load_relaxed(&logs[log].count);
    chunk[log]->event[n] = (struct cc__event){when << 8 | kind, task, other, a, b};
    cc__store_relaxed(&logs[log].count, n + 1);
}
/* Write them; the last `unseen` of the second log were made after the first look at the counts. */
static int write_them(uint64_t unseen) {
    static struct cc__trace_part part[LOGS];
    for (uint32_t i = 0; i < logs_used; i++) {
        uint64_t n = cc__load_relaxed(&logs[i].count);
        part[i] = (struct cc__trace_part){&logs[i], chunk[i], i == 1 ? n - unseen : n, n};
    }
    uint64_t late = 0;
    int rc = cc__trace_write(&file, part, logs_used, until, &late);
    assert_true(rc != 0 || late == expect_late);
    if (rc == 0) rc = cc__out_flush(&file, 0);
    reread();
    return rc;
}

static const cc_site site = {"a.c", 12, "work"};

/* Worker 1 runs at 900 what worker 0, whose clock is ahead, spawned at 1000. */
static void clocks_may_differ(void **state) {
    (void)state;
    begin();
    records_begin(2);
    add(0, 100, CC__EVENT_SPAWN, 1, 77, (uintptr_t)&site, 1);
    add(1, 200, CC__EVENT_RUN, 0, 1, 0, 0);
    add(1, 800, CC__EVENT_NAME, 2, 1, 0x6f7774, 0); /* "two" */
    add(1, 1000, CC__EVENT_SPAWN, 2, 1, (uintptr_t)&site, 1);
    add(1, 2000, CC__EVENT_END, 1, 0, 0, 0);
    add(2, 900, CC__EVENT_RUN, 0, 2, 0, 0);
    add(2, 950, CC__EVENT_END, 2, 0, 0, 0);
    assert_int_equal(write_them(0), 0);
    must_have("{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":1.000,\"dur\":0.000,\"name\":\"two\",\"args\":{\"task\":2,"
              "\"spawned\":\"a.c:12\",\"left\":\"end\"}}");
    must_have("{\"ph\":\"s\",\"pid\":2,\"tid\":1,\"ts\":1.000,\"id\":2,\"name\":\"spawn\",\"cat\":\"wake\"}");
    must_have(
        "{\"ph\":\"f\",\"pid\":2,\"tid\":2,\"ts\":1.000,\"id\":2,\"name\":\"spawn\",\"cat\":\"wake\",\"bp\":\"e\"}");
    must_have("{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":0.200,\"dur\":1.800,\"name\":\"work\"");
    must_have("\"name\":\"thread 77\"");
    records_end();
    end();
}

static void a_lost_spawn_does_no_harm(void **state) {
    (void)state;
    begin();
    records_begin(2);
    add(2, 100, CC__EVENT_RUN, 0, 9, 0, 0);
    add(1, 150, CC__EVENT_UNPARK, 9, 0, 0, 1); /* it is not known */
    add(2, 300, CC__EVENT_PARK, 9, 0, 0, 0);   /* without a reason */
    assert_int_equal(write_them(0), 0);
    must_have("\"ts\":0.100,\"dur\":0.200,\"name\":\"task 9\",\"args\":{\"task\":9,\"left\":\"park\"}}");
    assert_null(strstr(text, "\"ph\":\"s\""));
    records_end();
    end();
}

static void what_is_too_late_is_left_out(void **state) {
    (void)state;
    begin();
    records_begin(2);
    until = 250;
    expect_late = 2;
    add(0, 100, CC__EVENT_SPAWN, 1, 77, (uintptr_t)&site, 1);
    add(2, 200, CC__EVENT_RUN, 0, 1, 0, 0);
    add(2, 300, CC__EVENT_PARK, 1, 0, 0, 0);
    add(2, 400, CC__EVENT_RUN, 0, 8, 0, 0);
    assert_int_equal(write_them(0), 0);
    must_have("\"args\":{\"task\":1,\"spawned\":\"a.c:12\",\"left\":\"the trace ends\"}}");
    assert_null(strstr(text, "task 8"));
    records_end();
    end();
}

/* What was recorded while the counts were looked at: only its spawns are taken. */
static void of_the_last_records_only_spawns_count(void **state) {
    (void)state;
    begin();
    records_begin(2);
    add(1, 100, CC__EVENT_SPAWN_FN, 3, 0, 0x1234, 1);
    add(1, 110, CC__EVENT_SPAWN, 4, 0, (uintptr_t)&site, 1);
    add(1, 120, CC__EVENT_RUN, 0, 5, 0, 0);
    add(2, 130, CC__EVENT_RUN, 0, 4, 0, 0);
    add(2, 140, CC__EVENT_YIELD, 4, 3, 0, 0);
    assert_int_equal(write_them(2), 0);
    must_have(
        "\"ts\":0.130,\"dur\":0.010,\"name\":\"work\",\"args\":{\"task\":4,\"spawned\":\"a.c:12\",\"left\":\"yield\"");
    must_have("\"name\":\"task 3\",\"args\":{\"task\":3,\"function\":\"0x1234\",\"left\":\"the trace ends\"");
    assert_null(strstr(text, "task 5"));
    records_end();
    end();
}

/* More tasks at once than the table has room for at first, ended in another order. */
static void many_tasks_at_once(void **state) {
    (void)state;
    enum { TASKS = 1000 };
    begin();
    records_begin(2);
    for (uint32_t i = 1; i <= TASKS; i++) add(1, i, CC__EVENT_SPAWN, i, 0, (uintptr_t)&site, 1);
    for (uint32_t i = 1; i <= TASKS; i++)
        add(2, TASKS + i, i == 1 ? CC__EVENT_RUN : CC__EVENT_END, 0, 1 + i * 7 % TASKS, 0, 0);
    assert_int_equal(write_them(0), 0);
    assert_int_equal(file.arrows, TASKS);
    records_end();
    end();
}

/* ---- hundreds of logs ---- */

enum { STEALS = 5000 };
static struct steal {
    uint64_t when;
    uint32_t log, number;
} steals[STEALS];

static int by_time_and_log(const void *a, const void *b) {
    const struct steal *x = a, *y = b;
    if (x->when != y->when) return x->when < y->when ? -1 : 1;
    if (x->log != y->log) return x->log < y->log ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Each event once, by time; of those at the same time the first log's first. */
static void hundreds_of_logs_are_in_order(void **state) {
    (void)state;
    struct cc__rng random;
    cc__rng_seed(&random, test_seed());
    begin();
    records_begin(WORKERS);
    for (uint32_t i = 0; i < STEALS; i++) {
        steals[i] = (struct steal){1000 + i / 4, 1 + cc__rng_below(&random, WORKERS), i};
        add(steals[i].log, steals[i].when, CC__EVENT_STEAL, i, 0, 0, 0);
    }
    assert_int_equal(write_them(0), 0);
    qsort(steals, STEALS, sizeof *steals, by_time_and_log);
    const char *at = text;
    for (uint32_t i = 0; i < STEALS; i++) {
        char line[160];
        const struct steal *s = &steals[i];
        snprintf(line, sizeof line,
                 "{\"ph\":\"i\",\"pid\":2,\"tid\":%u,\"ts\":%u.%03u,\"s\":\"t\",\"name\":\"steal\","
                 "\"args\":{\"tasks\":%u,",
                 s->log, (unsigned)(s->when / 1000), (unsigned)(s->when % 1000), s->number);
        at = strstr(at, "{\"ph\":\"i\"");
        assert_non_null(at);
        if (strncmp(at, line, strlen(line)) != 0) print_message("event %u: not %s but %.120s\n", i, line, at);
        assert_int_equal(strncmp(at, line, strlen(line)), 0);
        at++;
    }
    assert_null(strstr(at, "{\"ph\":\"i\""));
    records_end();
    end();
}

/* All workers but the last seem to run a task before the last has spawned it, which it does in another order; one such
 * spawn was lost. */
static void hundreds_may_wait_for_their_spawns(void **state) {
    (void)state;
    enum { TASKS = WORKERS - 1, LOST = 7, STEP = 100 }; /* 100 and 299 have no factor in common */
    begin();
    records_begin(WORKERS);
    for (uint32_t i = 1; i <= TASKS; i++) {
        add(i, 100 + i, CC__EVENT_RUN, 0, i, 0, 0);
        add(i, 101 + i, CC__EVENT_END, i, 0, 0, 0);
        uint32_t spawned = 1 + i * STEP % TASKS;
        if (spawned != LOST) add(WORKERS, 1000 + i, CC__EVENT_SPAWN, spawned, 0, (uintptr_t)&site, 1);
    }
    assert_int_equal(write_them(0), 0);
    assert_int_equal(file.arrows, TASKS - 1);
    const char *at = text;
    char line[160];
    for (uint32_t i = 1; i <= TASKS; i++) {
        uint32_t task = 1 + i * STEP % TASKS;
        if (task == LOST) continue;
        snprintf(line, sizeof line, "\"tid\":%u,\"ts\":1.%03u,\"dur\":0.000,\"name\":\"work\",\"args\":{\"task\":%u,",
                 task, i, task);
        at = strstr(at, line); /* after the one before */
        if (at == NULL) print_message("expected %s\n", line);
        assert_non_null(at);
    }
    assert_non_null(strstr(at, "\"ts\":0.107,\"dur\":0.001,\"name\":\"task 7\""));
    records_end();
    end();
}

/* One task goes from worker to worker, and seems to have done so before the last has spawned it. */
static void hundreds_may_wait_for_one_spawn(void **state) {
    (void)state;
    begin();
    records_begin(WORKERS);
    for (uint32_t i = 1; i < WORKERS; i++) {
        add(i, 2 * i, CC__EVENT_RUN, 0, 1, 0, 0);
        add(i, 2 * i + 1, CC__EVENT_YIELD, 1, 0, 0, 0);
    }
    add(WORKERS, 1000, CC__EVENT_SPAWN, 1, 0, (uintptr_t)&site, 1);
    add(WORKERS, 2000, CC__EVENT_STEAL, 1, 0, 0, 0);
    assert_int_equal(write_them(0), 0);
    const char *at = text;
    for (uint32_t i = 1; i < WORKERS; i++) {
        char line[160];
        snprintf(line, sizeof line, "{\"ph\":\"X\",\"pid\":2,\"tid\":%u,", i);
        at = strstr(at, line);
        if (at == NULL) print_message("expected %s\n", line);
        assert_non_null(at);
    }
    assert_non_null(strstr(at, "\"name\":\"steal\"")); /* nobody waited longer than for the spawn */
    records_end();
    end();
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    int rc = -ENOMEM;
    for (long at = 1; rc != 0; at++) {
        begin();
        records_begin(2);
        for (uint32_t i = 1; i < 600; i++) add(1, i, CC__EVENT_SPAWN, i, 0, (uintptr_t)&site, 1);
        calloc_fails_at = at;
        rc = write_them(0);
        if (rc == 0) assert_true(calloc_fails_at > 0 && at > 4);
        calloc_fails_at = 0;
        assert_true(rc == 0 || rc == -ENOMEM);
        records_end();
        end();
    }
}

/* ---- the store ---- */

static void fills_the_store(void *unused) {
    (void)unused;
    cc__trace_start(path);
    struct cc__trace_log *log = cc__trace_open(1, 0, "test");
    if (log == NULL) _exit(3);
    cc__trace_put_thread(CC__EVENT_SPAWN_FN, 1, 0, 0, 1);
    cc__trace_put_name(NULL, 1, 1, "first");
    for (int i = 0; i < 3000000; i++) cc__trace_put(log, CC__EVENT_STEAL, 1, 2, 0, 0);
    uint64_t kept = cc__load_relaxed(&log->count), lost = cc__load_relaxed(&log->lost);
    if (kept + lost != 3000000 || kept < 2000000) _exit(4);
    cc__trace_close(log);
    unlink(path); /* what is written goes nowhere, and so do the 2,000,000 */
    cc__trace_flush();
    log = cc__trace_open(2, 0, "test");
    cc__trace_put(log, CC__EVENT_STEAL, 1, 2, 0, 0); /* there is room again */
    if (log == NULL || cc__load_relaxed(&log->count) != 1) _exit(5);
    cc__trace_forget();
    if (CC__TRACING(CC__TRACE_ALL) || cc__trace_open(3, 0, "test") != NULL) _exit(6);
    cc__trace_end(); /* the file is another's: nothing is written, and nothing said */
    cc__trace_close(NULL);
    cc__trace_put(NULL, CC__EVENT_STEAL, 1, 2, 0, 0);
}

static void when_it_is_full_the_rest_is_counted(void **state) {
    (void)state;
    char err[1024];
    begin();
    int status = test_in_child(fills_the_store, NULL, err, sizeof err);
    assert_string_equal(err, "");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    end();
}

static void logs_a_line(void *unused) {
    (void)unused;
    char long_text[1000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    cc__log_monitor("nothing", 1, "is asked for");
    cc__trace_turn_on(CC__LOG_MONITOR);
    cc__log_monitor("worker", 3, "is stuck");
    cc__log_monitor(long_text, 3, "");
}

static void lines_are_lines(void **state) {
    (void)state;
    char err[1024];
    assert_int_equal(test_in_child(logs_a_line, NULL, err, sizeof err), 0);
    assert_int_equal(strncmp(err, "ccrt: monitor: worker 3 is stuck\nccrt: monitor: xxx", 51), 0);
    assert_int_equal(strlen(err), 33 + 256);
    assert_int_equal(err[strlen(err) - 1], '\n');
}

TEST_MAIN(cmocka_unit_test(any_text_is_valid), cmocka_unit_test(what_follows_overwrites_the_end_only),
          cmocka_unit_test(clocks_may_differ), cmocka_unit_test(a_lost_spawn_does_no_harm),
          cmocka_unit_test(what_is_too_late_is_left_out), cmocka_unit_test(of_the_last_records_only_spawns_count),
          cmocka_unit_test(many_tasks_at_once), cmocka_unit_test(hundreds_of_logs_are_in_order),
          cmocka_unit_test(hundreds_may_wait_for_their_spawns), cmocka_unit_test(hundreds_may_wait_for_one_spawn),
          cmocka_unit_test(without_memory_it_says_so), cmocka_unit_test(when_it_is_full_the_rest_is_counted),
          cmocka_unit_test(lines_are_lines))
