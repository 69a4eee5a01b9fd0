/* SPDX-License-Identifier: MIT */
/* Must be reported: fibers of two threads' schedulers write one variable, and nothing orders them. (They
 * meet before they write: until then, the library's own lock may order one thread after the other.) */
#include <ccrt.h>

#include <pthread.h>
#include <stddef.h>

static pthread_barrier_t both_run;
static int shared;

static void *racing_write(void *arg) {
    if (arg == NULL) pthread_barrier_wait(&both_run);
    for (int i = 0; i < 10; i++) {
        shared++;
        cc_resched();
    }
    return arg;
}

static void *thread_main(void *arg) {
    cc_sched *s;
    if (cc_sched_create(&s, NULL) != 0) return NULL;
    cc_sched_push(s, racing_write, NULL);
    cc_sched_push(s, racing_write, s); /* with each other they do not race: one thread */
    cc_sched_run(s);
    cc_sched_destroy(s);
    return arg;
}

int main(void) {
    pthread_t thread[2];
    if (pthread_barrier_init(&both_run, NULL, 2) != 0) return 2;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread[i], NULL, thread_main, NULL) != 0) return 2;
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return 0;
}
