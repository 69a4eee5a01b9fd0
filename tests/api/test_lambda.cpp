/* SPDX-License-Identifier: MIT */
/* Goal: the C API serves C++17 unchanged; lambdas are tasks, and what they captured is destroyed exactly once.
 * Method: captures that count themselves, small and large, copied, moved and move-only, through spawns that succeed and
 * that fail; results of class types; exceptions that leave a nursery's braces, and one that leaves a task, in a child
 * process.
 * Timeout: 120
 */
#include <ccrt.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

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

/* Something that is alive, and says when it is not. */
static std::atomic<int> alive, made;
class counted {
  public:
    counted() {
        born();
    }
    counted(const counted &) {
        born();
    }
    counted(counted &&) noexcept {
        born();
    }
    counted &operator=(const counted &) = default;
    counted &operator=(counted &&) = default;
    ~counted() {
        alive--;
    }

  private:
    static void born() {
        alive++;
        made++;
    }
};

CC_TASK(adds, (std::atomic<int> *, sum), (int, x)) {
    *sum += x;
    return 0;
}
CC_ASYNC(std::string, greeting, (const char *, who), (int, times)) {
    std::string text;
    for (int i = 0; i < times; i++) text += who;
    return text;
}

static void the_macros_work() {
    std::atomic<int> sum{0};
    CC_RESULT(std::string) f;
    std::string waited;
    int rc = 1, sleeps = 1;
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) EXPECT(cc_spawn(n, adds, &sum, i) == 0);
        EXPECT(cc_async(n, f, greeting, "ho ", 3) == 0);
        EXPECT(cc_await_cancellable(f, &waited) == 0 && waited == "ho ho ho ");
        EXPECT(cc_await(f) == "ho ho ho " && cc_result_status(f) == 0);
        rc = cc_nursery_wait_cancellable(n);
    }
    CC_DEADLINE_MS(1) {
        CC_SHIELD {
            sleeps = cc_sleep_ms(2);
        }
        EXPECT(cc_sleep_ms(60000) == -ETIMEDOUT);
    }
    EXPECT(rc == 0 && sleeps == 0 && sum == 45);
    CC_BLOCKING {
        CC_EXTERNAL_WAIT {
            sum++;
            if (sum > 0) continue; /* leaves the inner braces */
            sum = 0;
        }
        sum++;
    }
    EXPECT(sum == 47);
    EXPECT(greeting("x", 2) == "xx");
}

static void lambdas_are_tasks() {
    std::atomic<int> sum{0};
    int rc = 1;
    CC_NURSERY(n) {
        for (int i = 0; i < 10; i++) EXPECT(ccrt::spawn(n, [&sum, i] { sum += i; }) == 0); /* nothing counts as 0 */
        ccrt::spawn(n, [&sum] {
            sum += 1000;
            return 5;
        });
        char large[300];
        std::memset(large, 1, sizeof large);
        ccrt::spawn(n, [large, &sum] {
            for (char c : large) sum += c;
        });
        auto keeps_count = [&sum, calls = 0]() mutable { sum += ++calls; };
        ccrt::spawn(n, keeps_count); /* a copy each */
        ccrt::spawn(n, keeps_count);
        std::function<void()> any_kind = [&sum] { sum += 10000; };
        ccrt::spawn(n, any_kind, CC_SITE("a function"));
        ccrt::spawn(n, std::move(any_kind));
        rc = cc_nursery_wait(n);
    }
    EXPECT(rc == 0);
    EXPECT(sum == 45 + 1000 + 300 + 2 + 20000);
    CC_NURSERY(n) {
        ccrt::spawn(n, [] { return -EIO; });
        ccrt::spawn(n, [] { return cc_sleep_ms(60000); });
        rc = cc_nursery_wait(n);
    }
    EXPECT(rc == -EIO);
}

static void captures_are_destroyed_once() {
    int before = alive;
    std::atomic<int> ran{0};
    CC_NURSERY(n) {
        counted c;
        auto p = std::make_unique<counted>();
        for (int i = 0; i < 50; i++) ccrt::spawn(n, [c, &ran] { ran++; });
        ccrt::spawn(n, [c = std::move(c), p = std::move(p), &ran] { ran += p != nullptr; });
        EXPECT(p == nullptr);
    }
    EXPECT(ran == 51 && alive == before && made > 0);
    CC_NURSERY(n) {
        auto p = std::make_unique<counted>();
        cc_nursery_cancel(n);
        EXPECT(ccrt::spawn(n, [p = std::move(p), &ran] { ran = 0; }) == -ECANCELED);
        EXPECT(p == nullptr && alive == before); /* it was moved, and destroyed by the call */
        counted c;
        EXPECT(ccrt::spawn(n, [c, &ran] { ran = 0; }) == -ECANCELED);
        EXPECT(alive == before + 1);
    }
    EXPECT(ran == 51 && alive == before);
}

/* A callable whose copy throws: the caller gets that, and nothing was spawned. */
class throws_when_copied {
  public:
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied &) {
        throw std::runtime_error("no copy");
    }
    void operator()() {
        failures++;
    }
};
static void a_copy_that_throws() {
    throws_when_copied f;
    bool caught = false;
    CC_NURSERY(n) {
        try {
            ccrt::spawn(n, f);
        } catch (const std::runtime_error &) {
            caught = true;
        }
        EXPECT(cc_nursery_wait(n) == 0);
    }
    EXPECT(caught);
}

/* No memory for what was captured: nothing ran, and a result says so. */
class has_no_room {
  public:
    std::string text = "not to be copied by bytes";
    static void *operator new(size_t, const std::nothrow_t &) noexcept {
        return nullptr;
    }
    static void operator delete(void *) {
    }
    void operator()() {
        failures++;
    }
};
static void no_memory() {
    ccrt::result<std::string> r;
    CC_NURSERY(n) {
        EXPECT(ccrt::spawn(n, has_no_room()) == -ENOMEM);
    }
    EXPECT(cc_priv_result_fail(&r.cc_h, -ENOMEM) == -ENOMEM && cc_result_status(r) == -ENOMEM); /* as async does */
}

static void results_of_any_type() {
    int before = alive;
    ccrt::result<std::string> text;
    ccrt::result<std::unique_ptr<counted>> pointer;
    CC_RESULT(long) number;
    ccrt::result<std::string> never;
    CC_NURSERY(n) {
        std::string word = "long enough not to be kept in the string itself";
        EXPECT(ccrt::async(n, text, [word] { return word + "!"; }) == 0);
        EXPECT(ccrt::async(n, pointer, [] { return std::make_unique<counted>(); }) == 0);
        EXPECT(ccrt::async(n, number, [] { return 7L; }) == 0);
        EXPECT(cc_await(text) == word + "!");
        EXPECT(cc_await(number) == 7);
        std::unique_ptr<counted> taken = std::move(cc_await(pointer));
        EXPECT(taken != nullptr && alive == before + 1);
        cc_nursery_cancel(n);
        EXPECT(ccrt::async(n, never, [word] { return word; }) == -ECANCELED);
        EXPECT(cc_await(never).empty() && cc_result_status(never) == -ECANCELED);
    }
    EXPECT(alive == before);
}

static void combinations() {
    int rc = ccrt::all([] {}, [] { return cc_sleep_ms(1); }, [] { return 3; });
    EXPECT(rc == 0);
    EXPECT(ccrt::all([] { return -EIO; }, [] { return cc_sleep_ms(60000); }) == -EIO);
    auto p = std::make_unique<int>(5);
    auto [winner, result] = ccrt::race([] { return cc_sleep_ms(60000); }, [p = std::move(p)] { return *p; });
    EXPECT(winner == 1 && result == 5);
    auto good = ccrt::any([] { return -EIO; }, [] { return 8; }, [] { return cc_sleep_ms(60000); });
    EXPECT(good.index == 1 && good.result == 8);
    auto none = ccrt::any([] { return -EIO; });
    EXPECT(none.index == -EIO && none.result == -EIO);
}

/* An exception on its way out of the braces cancels and joins; one inside a task is the task's own. */
static void exceptions_leave_nurseries() {
    std::atomic<int> cancelled{0};
    bool caught = false;
    try {
        CC_NURSERY(n) {
            ccrt::spawn(n, [&] {
                cancelled += cc_sleep_ms(60000) == -ECANCELED;
                try {
                    throw std::string("inner");
                } catch (const std::string &s) {
                    cc_yield();
                    cancelled += s == "inner";
                }
            });
            cc_yield();
            throw std::runtime_error("outer");
        }
    } catch (const std::runtime_error &e) {
        caught = std::string(e.what()) == "outer";
    }
    EXPECT(caught && cancelled == 2 && cc_cancelled() == 0);
}

/* In a process of its own, before this one has threads. */
static void an_exception_that_leaves_a_task() {
    int pipe_fd[2];
    if (pipe(pipe_fd) != 0) std::abort();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_fd[1], STDERR_FILENO);
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        CC_NURSERY(n) {
            ccrt::spawn(n, [] { throw std::runtime_error("left the task"); });
        }
        _exit(0);
    }
    close(pipe_fd[1]);
    std::string text;
    char part[256];
    for (ssize_t n; (n = read(pipe_fd[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
    close(pipe_fd[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    EXPECT(text.find("left the task") != std::string::npos);
}

int main() {
    an_exception_that_leaves_a_task();
    both(the_macros_work);
    both(lambdas_are_tasks);
    for (int i = 0; i < 20; i++) both(captures_are_destroyed_once);
    both(a_copy_that_throws);
    both(no_memory);
    both(results_of_any_type);
    for (int i = 0; i < 20; i++) both(combinations);
    for (int i = 0; i < 20; i++) both(exceptions_leave_nurseries);
    return failures == 0 ? 0 : 1;
}
