/* SPDX-License-Identifier: MIT */
/* Goal: C++ exceptions are each fiber's own: thrown, caught, in flight and counted across switches.
 * Method: two fibers switch inside catch blocks and destructors, in an order that would mix up the thread's
 * exception state were it not swapped.
 */
#include <ccrt.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

static int failures;
static std::string trail;

static void expect(bool ok, const char *what) {
    if (ok) return;
    std::printf("failed: %s\n", what);
    failures++;
}

struct noisy {
    const char *name;
    explicit noisy(const char *n) : name(n) {
    }
    ~noisy() {
        trail += name;
    }
};

static void throw_after_switch() {
    noisy n("d");
    cc_resched();
    throw std::runtime_error("boom");
}

static void *catches(void *arg) {
    const char *who = static_cast<const char *>(arg);
    try {
        noisy n("D");
        throw_after_switch();
    } catch (const std::exception &e) {
        expect(std::string(e.what()) == "boom", "the message");
        cc_resched(); /* with a caught exception of our own */
        expect(std::string(e.what()) == "boom", "the message after a switch");
        try {
            throw std::string(who);
        } catch (const std::string &inner) {
            cc_resched();
            expect(inner == who, "a nested exception is one's own");
            try {
                throw; /* the innermost of this fiber, not of whoever threw last */
            } catch (const std::string &again) {
                expect(again == who, "rethrow gives one's own");
            }
        }
    }
    expect(std::uncaught_exceptions() == 0, "nothing in flight at the end");
    return arg;
}

struct switches_in_destructor {
    int in_flight;
    ~switches_in_destructor() {
        expect(std::uncaught_exceptions() == in_flight, "in flight before the switch");
        cc_resched();
        expect(std::uncaught_exceptions() == in_flight, "in flight after the switch");
    }
};

static void *unwinds(void *arg) {
    try {
        switches_in_destructor s{1};
        throw 5;
    } catch (int n) {
        expect(n == 5, "the int");
    }
    return arg;
}

static void *idles(void *arg) {
    for (int i = 0; i < 5; i++) {
        expect(std::uncaught_exceptions() == 0, "an idle fiber has nothing in flight");
        expect(std::current_exception() == nullptr, "nor caught");
        cc_resched();
    }
    return arg;
}

int main() {
    cc_sched *s = nullptr;
    if (cc_sched_create(&s, nullptr) != 0) return 1;
    static char a[] = "a", b[] = "b";
    cc_sched_push(s, catches, a);
    cc_sched_push(s, catches, b);
    cc_sched_push(s, unwinds, nullptr);
    cc_sched_push(s, unwinds, nullptr);
    cc_sched_push(s, idles, nullptr);
    try {
        throw 1; /* the owner has one in hand, too */
    } catch (int n) {
        expect(cc_sched_run(s) == 0, "run");
        expect(n == 1 && std::current_exception() != nullptr, "the owner's own");
    }
    expect(trail == "dDdD", "destructors ran");
    cc_sched_destroy(s);
    std::printf("%d failed\n", failures);
    return failures == 0 ? 0 : 1;
}
