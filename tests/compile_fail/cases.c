/* SPDX-License-Identifier: MIT */
/* Goal: a wrong use of the typed macros is found by the compiler, and what it says is understood.
 * Method: check.sh compiles this once a case, as C11 or as C++17, with -Werror and no other warnings than those that
 * are always on; case 0 has the same calls done right. What must be said, as a regular expression:
 *
 * spawning
 * case 1 (all): too few arguments|no matching function
 * case 2 (all): too many arguments|no matching function
 * case 3 (all): pointer|conver
 * case 4 (all): pointer|conver
 * case 5 (all): not_a_task_cc_go
 * case 6 (all): too few arguments|no matching function
 * case 7 (all): too many arguments|no matching function
 * case 8 (all): pointer|conver
 *
 * results
 * case 10 (all): too few arguments|no matching function
 * case 11 (all): too many arguments|no matching function
 * case 12 (all): pointer|conver
 * case 13 (all): pointer|conver
 * case 14 (all): too few arguments|no matching function
 * case 15 (all): pointer|conver
 * case 16 (all): cc_h
 * case 17 (all): pointer|conver
 * case 18 (all): unused
 * case 19 (all): unused
 *
 * definitions
 * case 20 (all): many has more than 8 parameters; pass a struct
 * case 21 (all): many has more than 8 parameters; pass a struct
 * case 22 (all): too many arguments|no matching function
 * case 23 (c++): parameters of tasks are copied byte by byte
 * case 24 (all): must_return|void|return
 *
 * branches
 * case 30 (c): too few arguments
 * case 31 (c): pointer
 * case 32 (c): a_result_cc_pack
 *
 * lambdas
 * case 40 (c++): a task returns an int or nothing
 * case 41 (c++): a task is called without arguments
 * case 42 (c++): the function does not return such a result
 * case 43 (c++): deleted
 * case 44 (c++): no matching function|cannot convert|no known conversion
 *
 * channels
 * case 50 (all): pointer|conver
 * case 51 (all): pointer|conver|cannot initialize
 * case 52 (all): pointer|incompatible operand types
 * case 53 (all): pointer|incompatible operand types
 * case 54 (all): pointer|incompatible operand types
 * case 55 (all): pointer|conver
 * case 56 (all): pointer|incompatible operand types
 * case 57 (all): pointer|incompatible operand types
 * case 58 (all): incompatible|conver|invalid initialization
 * case 59 (c++): elements of channels are copied byte by byte
 * case 60 (c++): elements of channels are copied byte by byte
 * case 61 (all): pointer|incompatible operand types
 * special kinds of channels
 * case 80 (all): pointer|conver|incompatible operand types
 * case 81 (all): pointer|conver
 * case 82 (all): pointer|conver|incompatible operand types
 * case 83 (c++): values are copied byte by byte
 */
#include <ccrt.h>

#ifdef __cplusplus
#include <memory>
#include <string>
#endif

#ifndef CASE
#error compile with -DCASE=N
#endif

CC_TASK(plain) {
    return 0;
}
CC_TASK(greet, (const char *, who), (int *, count)) {
    return who != NULL ? ++*count : 0;
}
CC_TASK(eight, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h)) {
    return a + b + c + d + e + f + g + h;
}
CC_ASYNC(long, a_result, (int, x)) {
    return x;
}
CC_ASYNC(const char *, text) {
    return "text";
}

#if CASE == 0
CC_ASYNC(int, eight_too, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h)) {
    return a + b + c + d + e + f + g + h;
}
#elif CASE == 20
CC_TASK(many, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h), (int, i)) {
    return 0;
}
#elif CASE == 21
CC_ASYNC(int, many, (int, a), (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h), (int, i),
         (int, j)) {
    return 0;
}
#elif CASE == 23
CC_TASK(takes_string, (std::string, s)) {
    return s.empty();
}
#elif CASE == 24
static void must_return(void);
CC_TASK(must_return) {
    return 0;
}
#endif

typedef CC_RESULT(long) long_result;
typedef CC_RESULT(const char *) text_result;

void spawning(cc_nursery *n, int *count, long *value);
void spawning(cc_nursery *n, int *count, long *value) {
    (void)value;
    cc_spawn(n, plain);
    cc_spawn(n, greet, "x", count);
    cc_spawn(n, eight, 1, 2, 3, 4, 5, 6, 7, 8);
#if CASE == 1
    cc_spawn(n, greet, "x");
#elif CASE == 2
    cc_spawn(n, greet, "x", count, 1);
#elif CASE == 3
    cc_spawn(n, greet, 5, count);
#elif CASE == 4
    cc_spawn(n, greet, "x", value);
#elif CASE == 5
    cc_spawn(n, not_a_task, 1);
#elif CASE == 6
    cc_spawn(n, greet);
#elif CASE == 7
    cc_spawn(n, plain, 1);
#elif CASE == 8
    cc_spawn(count, plain);
#elif CASE == 22
    cc_spawn(n, eight, 1, 2, 3, 4, 5, 6, 7, 8, 9);
#endif
}

int results(cc_nursery *n, long_result *f, text_result *t);
int results(cc_nursery *n, long_result *f, text_result *t) {
    cc_async(n, *f, a_result, 1);
    cc_async(n, *t, text);
    long value = cc_await(*f) + cc_await(*t)[0];
    int rc = cc_await_cancellable(*f, &value);
#if CASE == 0
    CC_RESULT(int) e;
    CC_NURSERY(inner) {
        cc_async(inner, e, eight_too, 1, 2, 3, 4, 5, 6, 7, 8);
        rc += cc_await(e) + cc_nursery_wait_cancellable(inner);
    }
#elif CASE == 10
    cc_async(n, *f, a_result);
#elif CASE == 11
    cc_async(n, *f, a_result, 1, 2);
#elif CASE == 12
    cc_async(n, *f, a_result, "x");
#elif CASE == 13
    cc_async(n, *t, a_result, 1);
#elif CASE == 14
    cc_spawn(n, a_result, 1);
#elif CASE == 15
    rc = cc_await(*t);
#elif CASE == 16
    value = cc_await(value);
#elif CASE == 17
    rc = cc_await_cancellable(*t, &value);
#elif CASE == 18
    cc_await_cancellable(*f, &value);
#elif CASE == 19
    cc_nursery_wait_cancellable(n);
#endif
    return rc + (int)value;
}

typedef CC_CHAN(int) int_chan;
typedef struct {
    int x, y;
} point;
typedef CC_CHAN(point) point_chan;

int channels(int_chan c, point_chan p, int *number, long *value);
int channels(int_chan c, point_chan p, int *number, long *value) {
    point at = {1, 2};
    int rc = cc_send(c, 1) + cc_try_send(c, *number) + cc_recv(c, number) + cc_try_recv(c, number);
    rc += cc_send(p, {3, 4}) + cc_send(p, at) + cc_recv(p, &at) + (int)*value;
    rc += cc_select(CC_RECV(c, number), CC_SEND(c, 1), CC_SEND(p, at), CC_SEND(p, {5, 6}), CC_CLOSED(p), CC_DEFAULT);
    CC_EACH(int, x, c, rc) *number += x;
    CC_SELECT {
        CC_ON_RECV(c, number) rc++;
        CC_ON_SEND(p, &at) rc++;
        CC_ON_ERROR(rc) rc--;
    }
#if CASE == 50
    rc += cc_send(c, number);
#elif CASE == 51
    rc += cc_try_send(c, "text");
#elif CASE == 52
    rc += cc_recv(c, value);
#elif CASE == 53
    rc += cc_try_recv(p, number);
#elif CASE == 54
    rc += cc_select(CC_RECV(c, value), CC_DEFAULT);
#elif CASE == 55
    rc += cc_select(CC_SEND(c, value), CC_DEFAULT);
#elif CASE == 56
    CC_EACH(long, y, c) *value += y;
#elif CASE == 57
    CC_SELECT {
        CC_ON_SEND(p, number) rc++;
    }
#elif CASE == 58
    rc += cc_send(c, at);
#elif CASE == 59
    CC_CHAN(std::string) names;
    rc += cc_send(names, "name");
#elif CASE == 60
    CC_CHAN(std::string) names;
    rc += cc_select(CC_SEND(names, "name"));
#elif CASE == 61
    CC_SELECT {
        CC_ON_RECV(c, &at) rc++;
    }
#endif
    return rc;
}

typedef CC_ONESHOT(point) point_shot;
typedef CC_BROADCAST(int *) pointer_news;
typedef CC_WATCH(point) point_watch;
int kinds(point_shot o, pointer_news b, point_watch w, int *count);
int kinds(point_shot o, pointer_news b, point_watch w, int *count) {
    point p = {1, 2};
    cc_subscriber s;
    uint64_t seen = 0;
    int rc = cc_oneshot_create(o) + cc_oneshot_send(o, {3, 4}) + cc_oneshot_recv(o, &p);
    rc += cc_broadcast_subscribe(b, &s) + cc_broadcast_send(b, count) + cc_broadcast_recv(b, &s, &count);
    rc += cc_watch_create(w, p) + cc_watch_send(w, {5, 6}) + cc_watch_recv(w, &seen, &p);
#if CASE == 80
    rc += cc_oneshot_recv(o, count);
#elif CASE == 81
    rc += cc_broadcast_send(b, &p);
#elif CASE == 82
    rc += cc_watch_recv(w, &seen, count);
#elif CASE == 83
    CC_ONESHOT(std::string) text;
    text.ch = o.ch;
    rc += cc_oneshot_send(text, "x");
#endif
    return rc;
}

#ifdef __cplusplus
int lambdas(cc_nursery *n, int *count, long_result *f) {
    auto p = std::make_unique<int>(*count);
    auto move_only = [p = std::move(p)] { return *p; };
    int rc = ccrt::spawn(n, [] {}) + ccrt::async(n, *f, [] { return 1; });
#if CASE == 40
    rc += ccrt::spawn(n, [] { return std::string(); });
#elif CASE == 41
    rc += ccrt::spawn(n, [](int x) { return x; });
#elif CASE == 42
    rc += ccrt::async(n, *f, [] { return std::string(); });
#elif CASE == 43
    rc += ccrt::spawn(n, move_only);
#elif CASE == 44
    rc += ccrt::spawn(count, [] { return 0; });
#endif
    return rc + ccrt::spawn(n, std::move(move_only));
}
#else
int branches(int *count);
int branches(int *count) {
    cc_branch b[] = {
        CC_BRANCH(plain),
        CC_BRANCH(greet, "z", count),
#if CASE == 30
        CC_BRANCH(greet, "x"),
#elif CASE == 31
        CC_BRANCH(greet, "x", 5),
#elif CASE == 32
        CC_BRANCH(a_result, 1),
#endif
    };
    return cc_all(b, sizeof b / sizeof b[0]);
}
#endif
