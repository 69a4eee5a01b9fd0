/* SPDX-License-Identifier: MIT */
/* Threads: start, join, name, pin; what another one is doing; a plain lock; code at a thread's end. */
#ifndef CC__PLAT_THREAD_H
#define CC__PLAT_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cc__thread {
    pthread_t handle;
} cc__thread;

/* Start a thread with all signals blocked but faults (they go to the program's own threads).
 *   Returns    0; -EAGAIN or -ENOMEM no room for one more */
int cc__thread_start(cc__thread *out, void *(*fn)(void *), void *arg);
void cc__thread_join(cc__thread *t);
void cc__thread_let_go(cc__thread *t); /* nobody will join it */

/* The last act of a thread that was started here. */
void cc__thread_ends(void);
/* How many threads the process has, as the kernel counts; 0 if it does not say. And how many of them were started here
 * and have not said that they end. */
unsigned cc__thread_count(void);
unsigned cc__thread_count_own(void);
/* And how many are the kernel's, which makes calls on files for us. Costs a few microseconds a thread. */
unsigned cc__thread_count_kernels(void);

/* Name the calling thread, cut to 15 bytes; shown by ps, top and gdb. */
void cc__thread_set_name(const char *name);

/* Bind the calling thread to one cpu. Returns 0; -EINVAL no such cpu, or not ours to use; -ENOMEM. */
int cc__thread_pin(int cpu);

/* Before any is bound: the cpus that the calling thread may use now are those that threads start with from now on,
 * whatever the one that starts them is bound to. The first call counts.
 *   Returns    0; -ENOMEM */
int cc__thread_keep_cpus(void);
/* The cpus of the calling thread, to come back to; NULL: no memory. And the same if it is bound to other cpus than
 * those above, and then it is not any more, so that a child process can be started; NULL: it was not bound. */
void *cc__thread_leave_cpus(void);
void *cc__thread_unpin(void);
void cc__thread_pin_again(void *before); /* back to them; NULL: nothing to do */

/* How large a main thread's stack may grow, in bytes; 0: without limit. */
size_t cc__thread_stack_limit(void);

/* Let another thread have the cpu. */
void cc__thread_yield(void);

/* Go to another cpu of those that the calling thread may use, whichever the system has; it may be moved back at any
 * time. Costs some microseconds.
 *   Returns    true; false: there is none, or the system does not let us */
bool cc__thread_move(void);

/* 1 + the cpu that the calling thread is on at this moment; 0: the system does not say. Costs some nanoseconds. */
unsigned cc__thread_cpu(void);

/* The kernel's number of the calling thread, for the two below. */
int cc__thread_id(void);

enum cc__thread_state {
    CC__THREAD_GONE,     /* no such thread in this process */
    CC__THREAD_RUNNING,  /* on a cpu or waiting for one */
    CC__THREAD_SLEEPING, /* blocked in the kernel */
    CC__THREAD_STOPPED   /* by a debugger or SIGSTOP */
};

/* What the kernel says a thread of this process is doing now; costs a few microseconds. */
enum cc__thread_state cc__thread_state(int id);

/* How long a thread of this process has had a cpu so far; 0 if there is no such thread. */
int64_t cc__thread_cpu_ns(int id);

/* Have fn called in the child after every fork(); once is enough. */
void cc__thread_at_fork(void (*fn)(void));

/* A lock for the rare paths; never held across a switch. */
typedef pthread_mutex_t cc__lock;
#define CC__LOCK_INIT PTHREAD_MUTEX_INITIALIZER
void cc__lock_take(cc__lock *l);
void cc__lock_drop(cc__lock *l);

/* Have fn(arg) called when the calling thread ends: one `struct cc__at_end` a purpose, static, with its
 * fn. Arming again replaces arg.
 *   Returns    0; -EAGAIN too many purposes in this process; -ENOMEM */
struct cc__at_end {
    void (*fn)(void *);
    bool made;
    pthread_key_t key;
};
int cc__at_end_arm(struct cc__at_end *a, void *arg);

#endif /* CC__PLAT_THREAD_H */
