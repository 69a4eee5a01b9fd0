/* SPDX-License-Identifier: MIT */
/* Goal: channels and select serve C++17 unchanged: the same names, the same types of arguments, the same results.
 * Method: the calls of chan.h and select.h in C++, on a plain thread and in a task, with values of several types;
 * values that cross between lambdas; what select's cases hold lives until it returns.
 */
#include <ccrt.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

static int failures;

#define EXPECT(condition) expect((condition), #condition, __LINE__)
static void expect(bool ok, const char *what, int line) {
    if (ok) return;
    std::printf("line %d failed: %s\n", line, what);
    failures++;
}

/* Run it on this thread and in a task. */
template <class F> static void both(F f) {
    f();
    EXPECT(ccrt::all(f) == 0);
}

struct point {
    int x, y;
};
using int_chan = CC_CHAN(int);
using point_chan = CC_CHAN(point);

static void values_of_all_types() {
    both([] {
        int_chan c;
        point_chan p;
        CC_CHAN(unsigned char) bytes;
        CC_CHAN(double) reals;
        CC_CHAN(const char *) texts;
        int v = 0;
        point at = {};
        unsigned char b = 0;
        double r = 0;
        const char *t = nullptr;
        EXPECT(cc_chan_create(c, 2) == 0 && cc_chan_create(p, 2) == 0 && cc_chan_create(bytes, 1) == 0);
        EXPECT(cc_chan_create(reals, 1) == 0 && cc_chan_create(texts, 1) == 0);
        EXPECT(cc_send(c, 7) == 0 && cc_try_send(c, v) == 0 && cc_try_send(c, 9) == -EAGAIN);
        EXPECT(cc_recv(c, &v) == 0 && v == 7 && cc_try_recv(c, &v) == 0 && v == 0);
        EXPECT(cc_send(p, {1, 2}) == 0 && cc_send(p, (point{3, 4})) == 0 && cc_chan_len(p) == 2);
        EXPECT(cc_recv(p, &at) == 0 && at.x == 1 && at.y == 2 && cc_recv(p, &at) == 0 && at.x == 3);
        EXPECT(cc_send(bytes, 200) == 0 && cc_recv(bytes, &b) == 0 && b == 200);
        EXPECT(cc_send(reals, 3) == 0 && cc_recv(reals, &r) == 0 && r == 3.0);
        EXPECT(cc_send(texts, "text") == 0 && cc_recv(texts, &t) == 0 && t[0] == 't');
        EXPECT(cc_chan_cap(c) == 2 && cc_chan_is_closed(c) == 0 && cc_chan_dropped(c) == 0);
        cc_chan_close(c);
        EXPECT(cc_send(c, 1) == -EPIPE && cc_recv(c, &v) == -EPIPE);
        cc_chan_destroy(c);
        cc_chan_destroy(p);
        cc_chan_destroy(bytes);
        cc_chan_destroy(reals);
        cc_chan_destroy(texts);
    });
}

static void each_value() {
    both([] {
        int_chan c;
        long sum = 0;
        int rc = 0;
        cc_chan_attr attr = {};
        attr.unbounded = 1;
        EXPECT(cc_chan_create_with(c, &attr) == 0);
        CC_NURSERY(n) {
            EXPECT(ccrt::spawn(n, [c] {
                       for (int i = 1; i <= 1000; i++) EXPECT(cc_send(c, i) == 0);
                       cc_chan_close_error(c, -EIO);
                   }) == 0);
            CC_EACH(int, v, c, rc) sum += v;
        }
        EXPECT(sum == 500500 && rc == -EIO);
        CC_EACH(int, v, c) EXPECT(v == 0);
        cc_chan_destroy(c);
    });
}

static void select_as_an_expression() {
    both([] {
        int_chan a, b, none = {nullptr};
        point_chan p;
        int v = 0, sent = 0, received = 0;
        EXPECT(cc_chan_create(a, 0) == 0 && cc_chan_create(b, 1) == 0 && cc_chan_create(p, 1) == 0);
        EXPECT(cc_select(CC_RECV(a, &v), CC_DEFAULT) == 1);
        EXPECT(cc_select(CC_RECV(none, &v), CC_SEND(none, 1), CC_AFTER_MS(1)) == 2);
        EXPECT(cc_select_ordered(CC_SEND(b, 5), CC_DEFAULT) == 0);
        EXPECT(cc_select(CC_SEND(b, 6), CC_SEND(p, {1, 2})) == 1);
        EXPECT(cc_select(CC_RECV(b, &v), CC_SEND(p, (point{3, 4}))) == 0 && v == 5);
        CC_NURSERY(n) { /* cases that wait: what they send lies in the call */
            EXPECT(ccrt::spawn(n, [&] {
                       for (int i = 0; i < 1000; i++) received += cc_recv(a, &v) == 0 && v == 3 * i;
                   }) == 0);
            for (int i = 0; i < 1000; i++) sent += cc_select(CC_SEND(a, 3 * i), CC_CLOSED(a)) == 0;
        }
        EXPECT(sent == 1000 && received == 1000);
        cc_task t = cc_fiber_spawn_task([](void *arg) { return arg; }, nullptr);
        EXPECT(cc_select(CC_RECV(a, &v), CC_DONE(t)) == 1 && cc_task_join(t, nullptr) == 0);
        cc_chan_close_recv(a, -ENOSPC);
        EXPECT(cc_select(CC_SEND(a, 1)) == -ENOSPC && cc_select(CC_SEND(a, 1), CC_CLOSED(a)) == 1);
        cc_chan_destroy(a);
        cc_chan_destroy(b);
        cc_chan_destroy(p);
    });
}

static void select_as_a_block() {
    both([] {
        int_chan a;
        int v = 4, hits = 0, rc = 0;
        EXPECT(cc_chan_create(a, 1) == 0);
        for (int i = 0; i < 3; i++) {
            CC_SELECT {
                CC_ON_SEND(a, &v) {
                    hits += 1;
                }
                CC_ON_RECV(a, &v) {
                    hits += 10;
                    break;
                }
                CC_ON_CLOSED(a) {
                    hits += 100;
                }
                CC_ON_AFTER_MS(10000) {
                    hits += 1000;
                }
            }
        }
        EXPECT(hits == 12);
        CC_SELECT_ORDERED {
            CC_ON_SEND(a, &v) {
                EXPECT(false);
            }
            CC_ON_DEFAULT {
                hits++;
            }
        }
        cc_chan_close(a);
        CC_SELECT {
            CC_ON_SEND(a, &v) {
                EXPECT(false);
            }
            CC_ON_ERROR(rc) {
                hits++;
            }
        }
        EXPECT(hits == 14 && rc == -EPIPE);
        cc_chan_destroy(a);
    });
}

int main() {
    values_of_all_types();
    each_value();
    select_as_an_expression();
    select_as_a_block();
    return failures == 0 ? 0 : 1;
}
