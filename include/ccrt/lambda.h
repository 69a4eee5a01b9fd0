/* SPDX-License-Identifier: MIT */
/* C++17: lambdas, and anything else that can be called, as tasks. Empty in C and in earlier C++.
 *
 *     ccrt::result<std::string> page;                       or CC_RESULT(std::string) page;
 *     CC_NURSERY(n) {
 *         ccrt::spawn(n, [=, p = std::move(p)] { ...; return 0; });     0, or why not
 *         ccrt::async(n, page, [&] { return fetch(url); });
 *         use(cc_await(page));
 *     }
 *     auto [winner, result] = ccrt::race([&] { return ask(a); }, [&] { return ask(b); });
 *
 * What a lambda has captured is moved or copied into the task and destroyed once: after it has returned and before
 * its nursery can be left, or by the call itself when that fails. It takes no arguments and returns an int (a negative
 * one is an error, as of a CC_TASK) or nothing, which counts as 0.
 *
 * An exception may be thrown and caught inside a task, also across waits, but must not leave it: that calls
 * std::terminate(), at the throw, with the message the C++ library has for it. One that leaves the braces of a nursery
 * cancels and joins its children on its way. */
#ifndef CCRT_LAMBDA_H
#define CCRT_LAMBDA_H

#if defined(__cplusplus) && __cplusplus >= 201703L

#include <cerrno>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "async.h"
#include "combine.h"
#include "scope.h"

namespace ccrt {

/* Where a result will be, as CC_RESULT(T), with a name that functions can be given. For cc_await() and the like. */
template <class T> class result {
  public:
    cc_priv_result cc_h = {};
    T cc_value = T();
};

namespace priv {

/* Call it; nothing is thrown past here. */
template <class F> int call(F &f) noexcept {
    static_assert(std::is_invocable_v<F &>, "ccrt: a task is called without arguments");
    using type = std::invoke_result_t<F &>;
    static_assert(std::is_void_v<type> || std::is_same_v<type, int>, "ccrt: a task returns an int or nothing");
    if constexpr (std::is_void_v<type>) {
        f();
        return 0;
    } else {
        return f();
    }
}

template <class F> int run_bytes(void *args) {
    return call(*static_cast<F *>(args));
}

template <class F> int run_box(void *args) {
    F *box = *static_cast<F **>(args);
    int rc = call(*box);
    delete box;
    return rc;
}

/* What a spawn may copy byte by byte needs no memory of its own. */
template <class F> constexpr bool is_bytes = std::is_trivially_copyable_v<F> && alignof(F) <= alignof(std::max_align_t);

/* Have start(fn, args, size) spawn it. */
template <class F, class Start> int launch(F &&f, Start start) {
    using body = std::decay_t<F>;
    if constexpr (is_bytes<body>) {
        body bytes(std::forward<F>(f));
        return start(run_bytes<body>, &bytes, sizeof bytes);
    } else {
        body *box = new (std::nothrow) body(std::forward<F>(f));
        if (box == nullptr) return start(nullptr, nullptr, 0);
        int rc = start(run_box<body>, &box, sizeof box);
        if (rc != 0) delete box;
        return rc;
    }
}

template <class F> cc_branch branch_of(F &f) {
    return {run_bytes<F>, &f, 0};
}

} /* namespace priv */

/* Spawn a child that calls f(); site: CC_SITE("name"), shown in reports.
 *   Returns    as cc_nursery_spawn; f has been moved from although it failed
 *   Throws     what copying or moving f throws; then nothing was spawned
 *   Call from  as cc_nursery_spawn */
template <class F> int spawn(cc_nursery *n, F &&f, const cc_site *site = nullptr) {
    return priv::launch(std::forward<F>(f), [n, site](int (*fn)(void *), const void *args, size_t size) {
        return fn == nullptr ? -ENOMEM : cc_nursery_spawn(n, fn, args, size, site);
    });
}

/* Spawn a child that calls f() and has r, a ccrt::result<T> or CC_RESULT(T), keep what it returns; T can be made
 * from nothing, and assigned.
 *   Returns    as spawn; a failure is also the result's status, with a value of T()
 *   Throws     as spawn; then the result must not be awaited */
template <class R, class F> int async(cc_nursery *n, R &r, F &&f, const cc_site *site = nullptr) {
    using value_type = decltype(r.cc_value);
    using body_type = std::decay_t<F>;
    static_assert(std::is_invocable_r_v<value_type, body_type &>, "ccrt: the function does not return such a result");
    r.cc_value = value_type();
    auto task = [value = &r.cc_value, body = body_type(std::forward<F>(f))]() mutable { *value = body(); };
    return priv::launch(std::move(task), [n, site, &r](int (*fn)(void *), const void *args, size_t size) {
        return fn == nullptr ? cc_priv_result_fail(&r.cc_h, -ENOMEM) : cc_priv_async(n, &r.cc_h, fn, args, size, site);
    });
}

/* The index of the branch that won, and what it returned; or a negative errno, twice. */
class winner {
  public:
    int index;
    int result;
};

/* cc_all(), cc_race(), cc_any() of lambdas, which live until the call returns. */
template <class... F> int all(F... f) {
    static_assert(sizeof...(F) > 0, "ccrt: all of nothing");
    cc_branch b[] = {priv::branch_of(f)...};
    return cc_all(b, sizeof...(F));
}

template <class... F> winner race(F... f) {
    static_assert(sizeof...(F) > 0, "ccrt: a race of nothing");
    cc_branch b[] = {priv::branch_of(f)...};
    int index = cc_race(b, sizeof...(F));
    return {index, index < 0 ? index : b[index].result};
}

template <class... F> winner any(F... f) {
    static_assert(sizeof...(F) > 0, "ccrt: any of nothing");
    cc_branch b[] = {priv::branch_of(f)...};
    int index = cc_any(b, sizeof...(F));
    return {index, index < 0 ? index : b[index].result};
}

} /* namespace ccrt */

#endif /* C++17 */

#endif /* CCRT_LAMBDA_H */
