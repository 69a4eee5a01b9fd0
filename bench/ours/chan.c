/* SPDX-License-Identifier: MIT */
/* chan: one sender and one receiver, or four of each, at one buffered channel until it is closed; so long a message. */
#include "inside.h"

enum { TIMES = 31, MESSAGES = 400000, MOST = 4 };

typedef CC_CHAN(int64_t) numbers;

static int sides; /* so many senders, and so many receivers */
static size_t capacity;
static int64_t sums[MOST];

CC_TASK(sender, (numbers, c), (int64_t, from), (int64_t, to)) {
    for (int64_t x = from; x < to; x++) bench_check(cc_send(c, x) == 0, "cannot send");
    return 0;
}

CC_TASK(receiver, (numbers, c), (int, id)) {
    int64_t sum = 0;
    CC_EACH(int64_t, x, c) sum += x;
    sums[id] = sum;
    return 0;
}

static void run(long messages) {
    numbers c;
    int64_t each = messages / sides, sum = 0;
    bench_check(cc_chan_create(c, capacity) == 0, "cannot create a channel");
    CC_NURSERY(receivers) {
        for (int i = 0; i < sides; i++) bench_check(cc_spawn(receivers, receiver, c, i) == 0, "cannot spawn");
        CC_NURSERY(senders) {
            for (int i = 0; i < sides; i++)
                bench_check(cc_spawn(senders, sender, c, i * each, (i + 1) * each) == 0, "cannot spawn");
        }
        cc_chan_close(c);
    }
    cc_chan_destroy(c);
    for (int i = 0; i < sides; i++) sum += sums[i];
    bench_check(sum == (int64_t)messages * (messages - 1) / 2, "not the sum of what was sent");
}

static void measure(const char *name, int of_each, size_t room) {
    sides = of_each;
    capacity = room;
    bench_report(name, bench_quartile_inside_ns(run, MESSAGES, TIMES) / MESSAGES, "ns");
}

int main(void) {
    measure("1x1_128", 1, 128);
    measure("1x1_1024", 1, 1024);
    measure("4x4_128", 4, 128);
    measure("4x4_1024", 4, 1024);
    return 0;
}
