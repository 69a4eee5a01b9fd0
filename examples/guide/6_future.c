/* SPDX-License-Identifier: MIT */
/* Of the guide: tasks without a stack. */
#include <ccrt.h>
#include <stdio.h>
#include <stdlib.h>

typedef CC_CHAN(int) int_chan;

/* All that it is, from one poll to the next. */
typedef struct {
    cc_future fut;
    int_chan in;
    int value;
    long sum;
} adder;

static cc_poll_state add(cc_future *f, cc_waker *w) {
    (void)w;
    adder *a = CC_CONTAINER_OF(f, adder, fut);
    int rc;
    while ((rc = cc_poll_recv(f, a->in, &a->value)) == 0) a->sum += a->value;
    return rc == -EAGAIN ? CC_PENDING : CC_READY; /* nothing there now: polled again when there is */
}

CC_MAIN(argc, argv) {
    enum { ADDERS = 10000 };
    cc_counter over = CC_COUNTER_INIT(0);
    int_chan numbers;
    adder *all = calloc(ADDERS, sizeof *all);
    if (all == NULL || cc_chan_create(numbers, 16) != 0) return 1;
    for (int i = 0; i < ADDERS; i++) {
        all[i].in = numbers;
        cc_future_init(&all[i].fut, add);
        if (cc_future_spawn(&all[i].fut, &over) != 0) return 1;
    }
    for (int i = 1; i <= 100000; i++) cc_send(numbers, i);
    cc_chan_close(numbers);
    cc_counter_wait(&over); /* all are over: nobody touches them any more */

    long sum = 0;
    for (int i = 0; i < ADDERS; i++) sum += all[i].sum;
    printf("%ld\n", sum);
    free(all);
    cc_chan_destroy(numbers);
    return 0;
}
