/* SPDX-License-Identifier: MIT */
/* One current value: who watches sees the newest, not every one, and always the last. */
#include <ccrt.h>
#include <stdio.h>

struct setting {
    int brightness, volume;
};
typedef CC_WATCH(struct setting) settings;

CC_TASK(applies, (settings, w)) {
    struct setting s;
    uint64_t seen = 0; /* nothing yet: the first is news */
    int applied = 0, rc;
    while ((rc = cc_watch_recv(w, &seen, &s)) == 0) {
        applied++;
        cc_sleep_ms(20); /* to apply one takes longer than to change it */
    }
    printf("ends with %d, %d; %s\n", s.brightness, s.volume, applied < 100 ? "not all were applied" : "all were?");
    return rc == -EPIPE ? 0 : rc;
}

CC_MAIN(argc, argv) {
    settings w;
    if (cc_watch_create(w, {50, 5}) != 0) return 1;
    CC_NURSERY(n) {
        cc_spawn(n, applies, w);
        for (int i = 1; i <= 100; i++) cc_watch_send(w, {i, 5});
        cc_watch_send(w, {0, 0});
        cc_watch_close(w);
    }
    cc_watch_destroy(w);
    return 0;
}
