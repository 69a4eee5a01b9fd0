/* SPDX-License-Identifier: MIT */
/* What the library does today, shown in numbers: ./dev demo. Each step prints a line while it works and one
 * when it is done; all of it takes less than 20 seconds. */
#include <ccrt.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 7 };
static int step;

/* ---- printing ---- */

static bool on_terminal;

/* A line that the next one replaces on a terminal; elsewhere only the final ones are printed. */
static void progress(const char *format, ...) {
    if (!on_terminal) return;
    va_list args;
    va_start(args, format);
    printf("\r\033[K  %d/%d  ", step, STEPS);
    vprintf(format, args);
    va_end(args);
    fflush(stdout);
}

static void done(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%s  %d/%d  ", on_terminal ? "\r\033[K" : "", step, STEPS);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

static void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("       ");
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static void must(int rc, const char *what) {
    if (rc >= 0) return;
    printf("\n%s: %s\n", what, cc_strerror(rc));
    exit(1);
}

/* ---- measuring ---- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A figure in bytes from a file of "Key:   123 kB" lines. */
static double kilobyte_line(const char *file, const char *key) {
    FILE *f = fopen(file, "r");
    char line[256];
    double bytes = 0;
    if (f == NULL) return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0) bytes = strtod(line + strlen(key), NULL) * 1024;
    fclose(f);
    return bytes;
}

static double memory_used(void) {
    return kilobyte_line("/proc/self/status", "VmRSS:") + kilobyte_line("/proc/self/status", "VmPTE:");
}

/* ---- step 1: order ---- */

static char order[64];
static void *letters(void *arg) {
    const char *two = arg;
    strncat(order, &two[0], 1);
    cc_resched();
    strncat(order, &two[1], 1);
    return NULL;
}

static void show_order(void) {
    step = 1;
    cc_sched *s;
    must(cc_sched_create(&s, NULL), "a scheduler");
    must(cc_sched_push(s, letters, "ac"), "a fiber");
    must(cc_sched_push(s, letters, "bd"), "a fiber");
    must(cc_sched_run(s), "run");
    cc_sched_destroy(s);
    done("Two fibers take turns in plain C, in a fixed order: %s", order);
}

/* ---- step 2: switches, beside threads ---- */

static void *switches(void *arg) {
    for (long n = (long)arg; n > 0; n--) cc_resched();
    return NULL;
}

static double fiber_switch_ns(long each) {
    cc_sched *s;
    must(cc_sched_create(&s, NULL), "a scheduler");
    for (int i = 0; i < 2; i++) must(cc_sched_push(s, switches, (void *)each), "a fiber");
    double t = seconds();
    must(cc_sched_run(s), "run");
    t = seconds() - t;
    cc_sched_destroy(s);
    return t / (2 * (double)each) * 1e9;
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static long thread_turns;
static void *takes_turns(void *arg) {
    int me = arg != NULL;
    pthread_mutex_lock(&table.lock);
    for (long n = thread_turns; n > 0; n--) {
        while (table.turn != me) pthread_cond_wait(&table.changed, &table.lock);
        table.turn = !me;
        pthread_cond_signal(&table.changed);
    }
    pthread_mutex_unlock(&table.lock);
    return NULL;
}

static double thread_switch_ns(long each) {
    pthread_t other;
    thread_turns = each;
    double t = seconds();
    if (pthread_create(&other, NULL, takes_turns, &table) != 0) must(-EAGAIN, "a thread");
    takes_turns(NULL);
    pthread_join(other, NULL);
    return (seconds() - t) / (2 * (double)each) * 1e9;
}

static void show_switches(void) {
    step = 2;
    progress("20 million switches between two fibers ...");
    fiber_switch_ns(1000000);
    double fiber = fiber_switch_ns(10000000);
    progress("the same between two threads ...");
    double thread = thread_switch_ns(20000);
    done("A switch takes %.1f nanoseconds: %.0f million a second, on one core", fiber, 1e3 / fiber);
    note("between two threads it takes %.0f, %.0f times as long", thread, thread / fiber);
}

/* ---- step 3: a million ---- */

static void *lives(void *arg) {
    long *met = arg;
    ++*met;
    cc_resched(); /* all of them are alive here */
    ++*met;
    return NULL;
}

static long affordable(long wanted) {
    double available = kilobyte_line("/proc/meminfo", "MemAvailable:");
    long fit = (long)(available * 0.7 / 5000);
    return fit < wanted ? fit / 1000 * 1000 : wanted;
}

static void show_many(void) {
    step = 3;
    long count = affordable(1000000), met = 0;
    cc_sched *s;
    must(cc_sched_create(&s, NULL), "a scheduler");
    double before = memory_used(), t = seconds();
    for (long i = 0; i < count; i++) must(cc_sched_push(s, lives, &met), "a fiber");
    bool patient = true; /* a busy machine may take long to find the memory */
    while (met < count && patient) {
        must(cc_sched_next(s), "a stack");
        if (met % 20000 == 0) {
            progress("%ld fibers alive ...", met);
            patient = seconds() - t < 9;
        }
    }
    t = seconds() - t;
    double each = (memory_used() - before) / (double)met;
    done("%ld fibers exist at once, each in the middle of a C function, made in %.1f s", met, t);
    note("each has a stack of 196,608 bytes with a guard below, and takes %.0f bytes of memory", each);
    progress("ending them ...");
    if (met == count) must(cc_sched_run(s), "run");
    cc_sched_destroy(s);
    if (patient && met != 2 * count) must(-EIO, "a fiber was lost");
}

/* ---- step 4: reuse ---- */

static void *counts(void *arg) {
    ++*(long *)arg;
    return NULL;
}

static void show_short(void) {
    step = 4;
    enum { COUNT = 5000000 };
    long ran = 0;
    cc_sched *s;
    progress("%d short fibers ...", COUNT);
    must(cc_sched_create(&s, NULL), "a scheduler");
    double t = seconds();
    for (long i = 0; i < COUNT; i++) {
        must(cc_sched_push(s, counts, &ran), "a fiber");
        if (i % 1000 == 999) must(cc_sched_run(s), "run");
    }
    t = seconds() - t;
    cc_sched_destroy(s);
    if (ran != COUNT) must(-EIO, "a fiber was lost");
    done("A fiber that need not wait costs %.0f nanoseconds, start to end: its stack is reused warm", t / COUNT * 1e9);
}

/* ---- step 5: a mistake ---- */

static __attribute__((noinline)) int forever(int n) {
    volatile char page[2048];
    page[0] = (char)n;
    return n < 0 ? 0 : forever(n + 1) + page[0];
}
static void *overflows(void *arg) {
    (void)arg;
    volatile int n = forever(0);
    (void)n;
    return NULL;
}

static void overflow_child(int err) {
    cc_sched *s;
    cc_sched_fiber f;
    dup2(err, STDERR_FILENO);
    if (cc_sched_create(&s, NULL) != 0) _exit(1);
    cc_sched_fiber_attr attr = {.name = "parse"};
    cc_sched_spawn(s, &attr, overflows, NULL, &f);
    cc_sched_run(s);
    _exit(1);
}

static void show_overflow(void) {
    step = 5;
    int fd[2];
    char text[512] = "";
    if (pipe(fd) != 0) return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) return;
    if (pid == 0) overflow_child(fd[1]);
    close(fd[1]);
    ssize_t n = read(fd[0], text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    close(fd[0]);
    waitpid(pid, NULL, 0);
    char *detail = strstr(text, " (");
    if (detail != NULL) *detail = 0;
    done("A fiber that recurses without end is named, instead of corrupting its neighbour:");
    note("%s", text);
}

/* ---- step 6: tasks over all cpus ---- */

static unsigned workers; /* of the default runtime, as far as they were seen */

CC_TASK(visits, (unsigned char *, seen)) {
    *seen = 1;
    unsigned worker = cc_worker_self();
    if (__atomic_load_n(&workers, __ATOMIC_RELAXED) < worker) __atomic_store_n(&workers, worker, __ATOMIC_RELAXED);
    return 0;
}

static void show_tasks(void) {
    step = 6;
    enum { COUNT = 1000000 };
    unsigned char *seen = calloc(COUNT, 1);
    int rc = -ENOMEM;
    long ran = 0;
    if (seen == NULL) must(rc, "memory");
    progress("%d tasks over all cpus ...", COUNT);
    double t = seconds();
    CC_NURSERY(n) {
        for (long i = 0; i < COUNT; i++) must(cc_spawn(n, visits, &seen[i]), "a task");
        rc = cc_nursery_wait(n);
    }
    t = seconds() - t;
    must(rc, "the nursery");
    for (long i = 0; i < COUNT; i++) ran += seen[i];
    free(seen);
    if (ran != COUNT) must(-EIO, "a task was lost");
    done("%d tasks spawned, run by %u workers and joined: %.0f nanoseconds each", COUNT, workers, t / COUNT * 1e9);
}

/* ---- step 7: cancellation ---- */

CC_TASK(sleeps_for_an_hour) {
    return cc_sleep_ms(3600000);
}
CC_TASK(fails_soon) {
    cc_sleep_ms(500);
    return -EIO;
}

static void show_cancellation(void) {
    step = 7;
    enum { COUNT = 100000 };
    int rc = 0;
    progress("%d tasks sleep for an hour ...", COUNT);
    double t = seconds();
    CC_NURSERY(n) {
        for (long i = 0; i < COUNT; i++) must(cc_spawn(n, sleeps_for_an_hour), "a task");
        must(cc_spawn(n, fails_soon), "a task");
        rc = cc_nursery_wait(n);
    }
    done("%d tasks sleep for an hour, one fails after half a second: all have ended after %.2f s", COUNT,
         seconds() - t);
    note("and the wait for them returned: %s", cc_strerror(rc));
}

int main(void) {
    on_terminal = isatty(STDOUT_FILENO) == 1;
    double t = seconds();
    printf("ccrt %d.%d.%d: plain C functions as fibers\n\n", CC_VERSION_MAJOR, CC_VERSION_MINOR, CC_VERSION_PATCH);
    show_order();
    show_switches();
    show_many();
    show_short();
    show_overflow();
    show_tasks();
    show_cancellation();
    printf("\nAll this in %.1f seconds. Next:\n"
           "  examples/03_tasks.c       forty lines to start from; its output is in examples/03_tasks.out\n"
           "  ./dev test                all tests, with gcc and clang\n"
           "  ./dev bench               the same figures beside Go, Boost.Fiber, State Threads and others\n"
           "  ./dev install PREFIX      headers and libraries for your own program\n",
           seconds() - t);
    return 0;
}
