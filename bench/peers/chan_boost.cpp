/* SPDX-License-Identifier: MIT */
/* chan: fibers at one buffered_channel until it is closed; so long a message. With one worker all are fibers of one
 * thread, with more all receivers are in a second one: its fibers stay where they are. Of its capacity one place is
 * always free. */
#include <boost/fiber/all.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "common.h"

enum { TIMES = 31, MESSAGES = 400000 };

using channel = boost::fibers::buffered_channel<int64_t>;
using fibers = std::vector<boost::fibers::fiber>;

static int sides;
static size_t capacity;

static fibers receive(channel &c, std::vector<int64_t> &sums) {
    fibers f;
    for (int i = 0; i < sides; i++)
        f.emplace_back([&c, &sum = sums[i]] {
            for (int64_t x : c) sum += x;
        });
    return f;
}

static void send(channel &c, long messages) {
    fibers f;
    int64_t each = messages / sides;
    for (int i = 0; i < sides; i++)
        f.emplace_back([&c, i, each] {
            for (int64_t x = i * each; x < (i + 1) * each; x++)
                bench_check(c.push(x) == boost::fibers::channel_op_status::success, "cannot send");
        });
    for (auto &one : f) one.join();
    c.close();
}

static void run(long messages) {
    channel c(capacity);
    std::vector<int64_t> sums(sides);
    auto receive_all = [&] { return receive(c, sums); };
    if (bench_workers() > 1) {
        std::thread other([&] {
            for (auto &one : receive_all()) one.join();
        });
        send(c, messages);
        other.join();
    } else {
        auto f = receive_all();
        send(c, messages);
        for (auto &one : f) one.join();
    }
    int64_t sum = 0;
    for (int64_t s : sums) sum += s;
    bench_check(sum == (int64_t)messages * (messages - 1) / 2, "not the sum of what was sent");
}

static void measure(const char *name, int of_each, size_t room) {
    sides = of_each;
    capacity = room;
    bench_report(name, bench_quartile_ns(run, MESSAGES, TIMES) / MESSAGES, "ns");
}

int main() {
    measure("1x1_128", 1, 128);
    measure("1x1_1024", 1, 1024);
    measure("4x4_128", 4, 128);
    measure("4x4_1024", 4, 1024);
    return 0;
}
