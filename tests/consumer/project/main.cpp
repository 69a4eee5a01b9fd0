// SPDX-License-Identifier: MIT
// A user's C++ program: fibers that are each inside a catch block of their own when they take turns, and
// then throw again what they caught; run.sh compares what it prints.
#include <ccrt.h>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct Fiber {
    std::string name, caught;
    int uncaught = -1;
};

void throw_again(Fiber &fiber) {
    try {
        throw std::runtime_error(fiber.name);
    } catch (const std::exception &) {
        cc_resched(); // the others throw and catch theirs meanwhile
        throw;
    }
}

void *run(void *arg) {
    Fiber &fiber = *static_cast<Fiber *>(arg);
    try {
        throw_again(fiber);
    } catch (const std::exception &e) {
        fiber.caught = e.what();
    }
    fiber.uncaught = std::uncaught_exceptions();
    return arg;
}

struct Destroy {
    void operator()(cc_sched *s) const {
        cc_sched_destroy(s);
    }
};

} // namespace

int main() {
    cc_sched *raw = nullptr;
    if (cc_sched_create(&raw, nullptr) != 0) return 1;
    std::unique_ptr<cc_sched, Destroy> sched(raw);
    Fiber fibers[] = {{"one", ""}, {"two", ""}, {"three", ""}};
    for (Fiber &fiber : fibers) {
        if (cc_sched_push(raw, run, &fiber) != 0) return 1;
    }
    if (cc_sched_run(raw) != 0) return 1;
    for (const Fiber &fiber : fibers)
        std::printf("%s caught %s, %d\n", fiber.name.c_str(), fiber.caught.c_str(), fiber.uncaught);
    return 0;
}
