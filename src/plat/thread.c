/* SPDX-License-Identifier: MIT */
/* Threads over pthreads, and /proc for what another thread is doing.
 *
 * Prev: plat/clock.c  Next: plat/cpu.c */
#include "thread.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads that were started here. W: who starts one, who ends.  R: anyone */
static _Atomic unsigned own_threads;

/* The cpus that threads start with; NULL: those of who starts them. */
static struct {
    cc__lock lock; /* guards both */
    cpu_set_t *set;
    size_t bytes;
} kept = {.lock = CC__LOCK_INIT};

/* As pthread_create(), with those cpus. */
static int create(pthread_t *out, void *(*fn)(void *), void *arg) {
    pthread_attr_t attr;
    cc__lock_take(&kept.lock);
    bool set = kept.set != NULL && pthread_attr_init(&attr) == 0;
    int err = set ? pthread_attr_setaffinity_np(&attr, kept.bytes, kept.set) : 0;
    cc__lock_drop(&kept.lock);
    if (set && err == 0) err = pthread_create(out, &attr, fn, arg);
    if (set) pthread_attr_destroy(&attr);
    /* Cpus can be taken away from a process. */
    return set && err != EINVAL ? err : pthread_create(out, NULL, fn, arg);
}

int cc__thread_start(cc__thread *out, void *(*fn)(void *), void *arg) {
    /* Faults are the thread's own: where one is blocked, the kernel ends the process without asking a handler. */
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t most, before;
    sigfillset(&most);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, &before); /* inherited by the new thread */
    cc__add_relaxed(&own_threads, 1);
    int err = create(&out->handle, fn, arg);
    if (err != 0) cc__sub_relaxed(&own_threads, 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

void cc__thread_join(cc__thread *t) {
    int err = pthread_join(t->handle, NULL);
    CC_CHECK(err == 0, "a thread was joined twice, or by itself");
}

int64_t cc__thread_cpu_ns(int id) {
    enum {
        PER_THREAD = 4,
        SCHEDULED = 2
    }; /* Linux: how pthread_getcpuclockid() names a thread's clock, by its number */
    clockid_t clock = (clockid_t)((~(unsigned)id << 3) | PER_THREAD | SCHEDULED);
    struct timespec ts;
    if (clock_gettime(clock, &ts) != 0) return 0;
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

unsigned cc__thread_count(void) {
    struct stat s;
    /* The kernel gives the directory a link for itself, one for its parent, and one for each thread. */
    return stat("/proc/self/task", &s) == 0 && s.st_nlink > 2 ? (unsigned)s.st_nlink - 2 : 0;
}

/* Its flags, the ninth word; the second, its name, is in parentheses and may have any characters in it. */
static bool is_kernels(const char *id) {
    enum { IO_WORKER = 0x10 };
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", id);
    if (cc__file_read(path, text, sizeof text) < 0) return false;
    const char *at = strrchr(text, ')');
    for (int word = 2; at != NULL && word < 9; word++) at = strchr(at + 1, ' ');
    return at != NULL && (strtoul(at, NULL, 10) & IO_WORKER) != 0;
}

unsigned cc__thread_count_kernels(void) {
    DIR *all = opendir("/proc/self/task");
    unsigned n = 0;
    if (all == NULL) return 0;
    for (struct dirent *e; (e = readdir(all)) != NULL;) n += e->d_name[0] != '.' && is_kernels(e->d_name);
    closedir(all);
    return n;
}

void cc__thread_ends(void) {
    cc__sub_relaxed(&own_threads, 1);
}

unsigned cc__thread_count_own(void) {
    return cc__load_relaxed(&own_threads);
}

void cc__thread_let_go(cc__thread *t) {
    pthread_detach(t->handle);
}

void cc__thread_set_name(const char *name) {
    char cut[16]; /* the kernel's limit, with the final 0 */
    snprintf(cut, sizeof cut, "%s", name);
    pthread_setname_np(pthread_self(), cut);
}

enum { PIN_CPUS_MAX = 1 << 16 };

int cc__thread_pin(int cpu) {
    if (cpu < 0 || cpu >= PIN_CPUS_MAX) return -EINVAL;
    cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
    if (set == NULL) return -ENOMEM;
    size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S((size_t)cpu, bytes, set);
    int err = pthread_setaffinity_np(pthread_self(), bytes, set);
    CPU_FREE(set);
    return -err;
}

/* The cpus of the calling thread, allocated; or NULL. */
static cpu_set_t *cpus_now(size_t *bytes) {
    for (size_t cpus = CPU_SETSIZE; cpus <= PIN_CPUS_MAX; cpus *= 2) { /* the kernel's own may be larger */
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) return NULL;
        *bytes = CPU_ALLOC_SIZE(cpus);
        if (pthread_getaffinity_np(pthread_self(), *bytes, set) == 0) return set;
        CPU_FREE(set);
    }
    return NULL;
}

int cc__thread_keep_cpus(void) {
    cc__lock_take(&kept.lock);
    if (kept.set == NULL) kept.set = cpus_now(&kept.bytes);
    int rc = kept.set == NULL ? -ENOMEM : 0;
    cc__lock_drop(&kept.lock);
    return rc;
}

void *cc__thread_leave_cpus(void) {
    size_t bytes;
    return cpus_now(&bytes);
}

void *cc__thread_unpin(void) {
    size_t bytes = 0;
    cc__lock_take(&kept.lock);
    cpu_set_t *before = kept.set == NULL ? NULL : cpus_now(&bytes);
    bool differ = before != NULL && (bytes != kept.bytes || memcmp(before, kept.set, bytes) != 0);
    if (!differ || pthread_setaffinity_np(pthread_self(), kept.bytes, kept.set) != 0) {
        CPU_FREE(before);
        before = NULL;
    }
    cc__lock_drop(&kept.lock);
    return before;
}

void cc__thread_pin_again(void *before) {
    if (before == NULL) return;
    cc__lock_take(&kept.lock);
    size_t bytes = kept.bytes; /* of any set of this kernel's */
    cc__lock_drop(&kept.lock);
    pthread_setaffinity_np(pthread_self(), bytes, before);
    CPU_FREE(before);
}

/* What a thread may use is what it was told and what its group may, and the kernel remembers the former: so it is told
 * "all" again if that comes to the same. Else it could never use what its group is given later. */
static void allow_again(const cpu_set_t *before) {
    cpu_set_t all, now;
    memset(&all, 0xff, sizeof all);
    if (pthread_setaffinity_np(pthread_self(), sizeof all, &all) == 0 &&
        pthread_getaffinity_np(pthread_self(), sizeof now, &now) == 0 && CPU_EQUAL(&now, before))
        return;
    pthread_setaffinity_np(pthread_self(), sizeof *before, before);
}

bool cc__thread_move(void) {
    cpu_set_t before, others;
    int cpu = sched_getcpu();
    if (cpu < 0 || pthread_getaffinity_np(pthread_self(), sizeof before, &before) != 0)
        return false; /* > CPU_SETSIZE */
    others = before;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) == 0 || pthread_setaffinity_np(pthread_self(), sizeof others, &others) != 0) return false;
    allow_again(&before);
    return true;
}

size_t cc__thread_stack_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
    return (size_t)limit.rlim_cur;
}

void cc__thread_yield(void) {
    sched_yield();
}

unsigned cc__thread_cpu(void) {
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu + 1;
}

int cc__thread_id(void) {
    return (int)syscall(SYS_gettid);
}

enum cc__thread_state cc__thread_state(int id) {
    char path[64], stat[128];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    if (cc__file_read(path, stat, sizeof stat) < 0) return CC__THREAD_GONE;
    /* "id (name) S ...": the name may hold anything, so look for the last parenthesis. */
    const char *after = strrchr(stat, ')');
    if (after == NULL || after[1] != ' ') return CC__THREAD_GONE;
    switch (after[2]) {
    case 'R': return CC__THREAD_RUNNING;
    case 'S':
    case 'D': return CC__THREAD_SLEEPING;
    case 'T':
    case 't': return CC__THREAD_STOPPED;
    default: return CC__THREAD_GONE; /* Z, X: dead, not yet reaped */
    }
}

void cc__lock_take(cc__lock *l) {
    int err = pthread_mutex_lock(l);
    CC_ASSERT(err == 0);
    (void)err;
}

void cc__lock_drop(cc__lock *l) {
    int err = pthread_mutex_unlock(l);
    CC_ASSERT(err == 0);
    (void)err;
}

static cc__lock at_end_lock = CC__LOCK_INIT; /* guards `made` of all */

int cc__at_end_arm(struct cc__at_end *a, void *arg) {
    cc__lock_take(&at_end_lock);
    int rc = a->made ? 0 : -pthread_key_create(&a->key, a->fn);
    if (rc == 0) a->made = true;
    cc__lock_drop(&at_end_lock);
    return rc != 0 ? rc : -pthread_setspecific(a->key, arg);
}

static void (*at_fork)(void);

static void at_fork_register(void) {
    /* Without memory for the handler a child that calls us anyway would hang; there is nothing better to do. */
    (void)pthread_atfork(NULL, NULL, at_fork);
}

void cc__thread_at_fork(void (*fn)(void)) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static cc__lock lock = CC__LOCK_INIT;
    cc__lock_take(&lock);
    at_fork = fn;
    cc__lock_drop(&lock);
    pthread_once(&once, at_fork_register);
}
