/* SPDX-License-Identifier: MIT */
/* Goal: oneshots, broadcasts, watches and ordered channels serve C++17: their typed macros take values and braces, and
 * lambdas wait on them.
 * Method: each call once, with a struct and a number, by tasks that are lambdas.
 */
#include <ccrt.h>

#include <cstdio>

static int failures;

#define EXPECT(condition) expect((condition), #condition, __LINE__)
static void expect(bool ok, const char *what, int line) {
    if (ok) return;
    std::printf("line %d failed: %s\n", line, what);
    failures++;
}

struct point {
    int x, y;
};

static void oneshots() {
    CC_ONESHOT(point) o;
    point p{};
    EXPECT(cc_oneshot_create(o) == 0);
    EXPECT(cc_oneshot_try_recv(o, &p) == -EAGAIN);
    int rc = ccrt::all([&] { return cc_oneshot_recv(o, &p); }, [&] { return cc_oneshot_send(o, {1, 2}); });
    EXPECT(rc == 0 && p.x == 1 && p.y == 2);
    cc_oneshot_drop(o);
    cc_oneshot_destroy(o);
}

static void broadcasts() {
    CC_BROADCAST(long) b;
    cc_subscriber s;
    long v = 0;
    EXPECT(cc_broadcast_create(b, 2) == 0 && cc_broadcast_subscribe(b, &s) == 0);
    for (int i = 1; i <= 3; i++) EXPECT(cc_broadcast_send(b, i) == 0);
    EXPECT(cc_broadcast_recv(b, &s, &v) == 0 && v == 2 && s.lagged == 1);
    EXPECT(cc_broadcast_try_recv(b, &s, &v) == 0 && v == 3 && s.lagged == 0);
    cc_broadcast_close(b);
    EXPECT(cc_broadcast_recv(b, &s, &v) == -EPIPE);
    cc_broadcast_destroy(b);
}

static void watches() {
    CC_WATCH(point) w;
    point p{3, 4};
    uint64_t seen = 1;
    EXPECT(cc_watch_create(w, {1, 2}) == 0 && cc_watch_version(w) == 1);
    int rc = ccrt::all([&] { return cc_watch_recv(w, &seen, &p); }, [&] { return cc_watch_send(w, {5, 6}); });
    EXPECT(rc == 0 && seen == 2 && p.x == 5);
    EXPECT(cc_watch_send(w, p) == 0 && cc_watch_try_recv(w, &seen, &p) == 0 && cc_watch_get(w, &p) == 0 && p.y == 6);
    cc_watch_close(w);
    EXPECT(cc_watch_recv(w, &seen, &p) == -EPIPE);
    cc_watch_destroy(w);
}

static void ordered() {
    cc_ordered *q;
    void *r = nullptr;
    int numbers[3] = {1, 2, 3};
    EXPECT(cc_ordered_create(&q, 3) == 0);
    for (int &n : numbers)
        EXPECT(cc_ordered_spawn(
                   q, [](void *arg) { return arg; }, &n) == 0);
    for (int &n : numbers) EXPECT(cc_ordered_recv(q, &r) == 0 && r == &n);
    EXPECT(cc_ordered_try_recv(q, &r) == -EAGAIN);
    cc_ordered_close(q);
    cc_ordered_destroy(q);
}

int main() {
    oneshots();
    broadcasts();
    watches();
    ordered();
    return failures == 0 ? 0 : 1;
}
