/* SPDX-License-Identifier: MIT */
/* Guide, chapter 6: a mutex and a semaphore. */
#include <ccrt.h>
#include <stdio.h>

typedef struct account {
    cc_mutex lock;
    long balance; /* guarded by the lock */
} account;

CC_TASK(pay_in, (account *, a), (int, times)) {
    for (int i = 0; i < times; i++) {
        cc_mutex_lock(&a->lock);
        a->balance++;
        cc_mutex_unlock(&a->lock);
    }
    return 0;
}

static long pay(void) {
    account a = {.lock = CC_MUTEX_INIT, .balance = 0};
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) cc_spawn(n, pay_in, &a, 1000);
    }
    return a.balance;
}

/* At most so many at a time, and none that nobody waits for any more. */
CC_TASK(download, (cc_sem *, permits), (int, ms)) {
    int rc = cc_sem_acquire_cancellable(permits, 1);
    if (rc != 0) return rc;
    rc = cc_sleep_ms(ms);
    cc_sem_release(permits, 1);
    return rc;
}

static int downloads(int ms) {
    cc_sem permits = CC_SEM_INIT(3);
    int rc = 0;
    CC_DEADLINE_MS(ms) {
        CC_NURSERY(n) {
            for (int i = 0; i < 12; i++) cc_spawn(n, download, &permits, 1);
            for (int i = 0; i < 3; i++) cc_spawn(n, download, &permits, 20000);
            rc = cc_nursery_wait(n);
        }
    }
    return rc;
}

CC_MAIN(argc, argv) {
    printf("balance %ld\n", pay());
    printf("downloads: %s\n", cc_strerror(downloads(200)));
    return 0;
}
