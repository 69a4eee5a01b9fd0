/* SPDX-License-Identifier: MIT */
/* Must be reported: two tasks on two workers write one variable, and nothing orders them. (They meet before they write,
 * by what the sanitizer knows; and what each does at the runtime meanwhile, at a lock and a channel of its own, orders
 * nothing.) */
#include <ccrt.h>

#include <pthread.h>
#include <stddef.h>

typedef CC_CHAN(int) numbers;

static pthread_barrier_t both_run;
static int shared;

static void *racing_write(void *arg) {
    cc_mutex own = CC_MUTEX_INIT;
    numbers c;
    if (cc_chan_create(c, 4) != 0) return arg;
    pthread_barrier_wait(&both_run);
    for (int i = 0, back; i < 100; i++) {
        cc_mutex_lock(&own);
        if (cc_send(c, i) != 0 || cc_recv(c, &back) != 0) break;
        shared++;
        cc_mutex_unlock(&own);
    }
    cc_chan_destroy(c);
    return arg;
}

int main(void) {
    cc_runtime *rt;
    cc_task t[2];
    cc_runtime_attr attr = {.workers = 2};
    if (pthread_barrier_init(&both_run, NULL, 2) != 0 || cc_runtime_create(&rt, &attr) != 0) return 2;
    for (int i = 0; i < 2; i++)
        if (cc_runtime_spawn(rt, &t[i], NULL, racing_write, NULL) != 0) return 2;
    for (int i = 0; i < 2; i++) cc_task_join(t[i], NULL);
    cc_runtime_destroy(rt);
    return 0;
}
