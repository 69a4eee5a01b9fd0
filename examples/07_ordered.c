/* SPDX-License-Identifier: MIT */
/* Tasks that run at the same time, and their results in the order in which they were spawned. */
#include <ccrt.h>
#include <stdio.h>

static const char *const words[] = {"the", "slowest", "word", "comes", "when", "it", "is", "due"};
enum { WORDS = sizeof words / sizeof words[0] };

static void *look_up(void *word) {
    cc_sleep_ms(word == words[1] ? 20 : 1); /* the others have ended long before it */
    return word;
}

CC_TASK(ask, (cc_ordered *, q)) {
    for (size_t i = 0; i < WORDS; i++) {
        int rc = cc_ordered_spawn(q, look_up, (void *)words[i]); /* waits while 4 have not been received */
        if (rc != 0) return rc;
    }
    cc_ordered_close(q);
    return 0;
}

CC_MAIN(argc, argv) {
    cc_ordered *q;
    if (cc_ordered_create(&q, 4) != 0) return 1;
    int rc = 0;
    CC_NURSERY(n) {
        cc_spawn(n, ask, q);
        void *word;
        while ((rc = cc_ordered_recv(q, &word)) == 0) printf("%s\n", (const char *)word);
    }
    printf("%s\n", rc == -EPIPE ? "(the end)" : cc_strerror(rc));
    cc_ordered_destroy(q);
    return 0;
}
