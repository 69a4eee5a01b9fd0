/* SPDX-License-Identifier: MIT */
/* Typed tasks: functions with up to 8 parameters that can be called, spawned and awaited.
 *
 *     CC_TASK(greet, (const char *, who), (int *, count)) { ...; return 0; }     an int function
 *     CC_ASYNC(long, square, (int, x)) { return (long)x * x; }                   any result
 *
 *     CC_RESULT(long) f;                            in a frame that outlives the nursery's braces
 *     CC_NURSERY(n) {
 *         cc_spawn(n, greet, "world", &count);      0, or why not
 *         cc_async(n, f, square, 7);
 *         long x = cc_await(f);
 *     }
 *
 * Arguments are copied at the spawn and checked as in a call. A parameter type with a comma or a declarator needs a
 * typedef. */
#ifndef CCRT_ASYNC_H
#define CCRT_ASYNC_H

#include "fork.h"
#include "scope.h"

CC_BEGIN_DECLS

/* Where a result will be. The fields are private. */
typedef struct cc_future_result {
    uint32_t priv_lock[2];
    void *priv_waiters[2];
    int priv_done;
    int priv_status;
} cc_priv_result;

CC_API int cc_priv_async(cc_nursery *n, cc_priv_result *f, int (*fn)(void *args), const void *args, size_t size,
                         const cc_site *site);
CC_API int cc_priv_result_fail(cc_priv_result *f, int rc); /* nothing was spawned; returns rc */
CC_API void cc_priv_await(cc_priv_result *f);
CC_API int cc_priv_await_cancellable(cc_priv_result *f);
CC_API int cc_priv_result_status(cc_priv_result *f);

/* An expression whose value must be looked at. */
CC_NODISCARD static inline int cc_priv_look_at(int rc) {
    return rc;
}

CC_END_DECLS

/* ---- lists of parameters ---- */

/* Of a name and parameters: 0 for the name alone, N with up to 8 parameters, MANY with more (up to 16). */
#define CC_PRIV_SOME(...)                                                                                              \
    CC_PRIV_SOME_(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, N, N, N, N, N, N, N, N, 0, )
#define CC_PRIV_SOME_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, some, ...) some
#define CC_PRIV_COUNT(...) CC_PRIV_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, )
#define CC_PRIV_COUNT_(a, b, c, d, e, f, g, h, count, ...) count

/* m(x) for each x; CC_PRIV_LIST puts commas in between. */
#define CC_PRIV_EACH(m, ...) CC_PRIV_CAT(CC_PRIV_EACH, CC_PRIV_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define CC_PRIV_EACH1(m, a) m(a)
#define CC_PRIV_EACH2(m, a, b) m(a) m(b)
#define CC_PRIV_EACH3(m, a, b, c) m(a) m(b) m(c)
#define CC_PRIV_EACH4(m, a, b, c, d) m(a) m(b) m(c) m(d)
#define CC_PRIV_EACH5(m, a, b, c, d, e) m(a) m(b) m(c) m(d) m(e)
#define CC_PRIV_EACH6(m, a, b, c, d, e, f) m(a) m(b) m(c) m(d) m(e) m(f)
#define CC_PRIV_EACH7(m, a, b, c, d, e, f, g) m(a) m(b) m(c) m(d) m(e) m(f) m(g)
#define CC_PRIV_EACH8(m, a, b, c, d, e, f, g, h) m(a) m(b) m(c) m(d) m(e) m(f) m(g) m(h)
#define CC_PRIV_LIST(m, ...) CC_PRIV_CAT(CC_PRIV_LIST, CC_PRIV_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define CC_PRIV_LIST1(m, a) m(a)
#define CC_PRIV_LIST2(m, a, b) m(a), m(b)
#define CC_PRIV_LIST3(m, a, b, c) m(a), m(b), m(c)
#define CC_PRIV_LIST4(m, a, b, c, d) m(a), m(b), m(c), m(d)
#define CC_PRIV_LIST5(m, a, b, c, d, e) m(a), m(b), m(c), m(d), m(e)
#define CC_PRIV_LIST6(m, a, b, c, d, e, f) m(a), m(b), m(c), m(d), m(e), m(f)
#define CC_PRIV_LIST7(m, a, b, c, d, e, f, g) m(a), m(b), m(c), m(d), m(e), m(f), m(g)
#define CC_PRIV_LIST8(m, a, b, c, d, e, f, g, h) m(a), m(b), m(c), m(d), m(e), m(f), m(g), m(h)

/* Of one parameter (type, name): a field, a declaration, the field as an argument, its setting. */
#define CC_PRIV_FIELD(p) CC_PRIV_FIELD_ p
#define CC_PRIV_FIELD_(type, id) type id;
#define CC_PRIV_PARAM(p) CC_PRIV_PARAM_ p
#define CC_PRIV_PARAM_(type, id) type id
#define CC_PRIV_ARG(p) CC_PRIV_ARG_ p
#define CC_PRIV_ARG_(type, id) cc_a->id
#define CC_PRIV_SET(p) CC_PRIV_SET_ p
#define CC_PRIV_SET_(type, id) cc_v->id = id;

#define CC_PRIV_UNUSED __attribute__((unused))

/* What stands for a function with too many parameters, and the check that arguments may be copied byte by byte. */
#ifdef __cplusplus
#define CC_PRIV_ASSERT static_assert
#define CC_PRIV_BYTES(type)                                                                                            \
    static_assert(__is_trivially_copyable(type), "ccrt: parameters of tasks are copied byte by byte; see lambda.h")
#else
#define CC_PRIV_ASSERT _Static_assert
#define CC_PRIV_BYTES(type) (void)0
#endif
#define CC_PRIV_TOO_MANY(R, name)                                                                                      \
    CC_PRIV_ASSERT(0, "ccrt: " #name " has more than 8 parameters; pass a struct");                                    \
    static R name(void)

/* NOLINTBEGIN(bugprone-macro-parentheses): types, names and declarations stand where no parentheses may */

/* ---- int functions ---- */

#define CC_TASK(...) CC_PRIV_CAT(CC_PRIV_TASK_, CC_PRIV_SOME(__VA_ARGS__))(__VA_ARGS__)
#define CC_PRIV_TASK_0(name)                                                                                           \
    CC_PRIV_TASK(name, char cc_none;, (void), (), cc_v->cc_none = 0;                                                   \
                 , (const cc_site *cc_at, cc_nursery *cc_n), (struct name##_cc_forked * cc_k))
#define CC_PRIV_TASK_MANY(name, ...) CC_PRIV_TOO_MANY(int, name)
#define CC_PRIV_TASK_N(name, ...)                                                                                      \
    CC_PRIV_TASK(name, CC_PRIV_EACH(CC_PRIV_FIELD, __VA_ARGS__), (CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),           \
                 (CC_PRIV_LIST(CC_PRIV_ARG, __VA_ARGS__)), CC_PRIV_EACH(CC_PRIV_SET, __VA_ARGS__),                     \
                 (const cc_site *cc_at, cc_nursery *cc_n, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),                   \
                 (struct name##_cc_forked * cc_k, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)))
#define CC_PRIV_TASK(name, FIELDS, PARAMS, ARGS, SETS, GO, FORK)                                                       \
    struct name##_cc_args {                                                                                            \
        FIELDS                                                                                                         \
    };                                                                                                                 \
    static int name PARAMS;                                                                                            \
    static int name##_cc_run(void *cc_p) {                                                                             \
        struct name##_cc_args *cc_a = (struct name##_cc_args *)cc_p;                                                   \
        (void)cc_a;                                                                                                    \
        return name ARGS;                                                                                              \
    }                                                                                                                  \
    CC_PRIV_UNUSED static inline int name##_cc_go GO {                                                                 \
        struct name##_cc_args cc_s, *cc_v = &cc_s;                                                                     \
        CC_PRIV_BYTES(struct name##_cc_args);                                                                          \
        SETS return cc_nursery_spawn(cc_n, name##_cc_run, &cc_s, sizeof cc_s, cc_at);                                  \
    }                                                                                                                  \
    typedef struct name##_cc_args name##_cc_packed;                                                                    \
    CC_PRIV_UNUSED static inline name##_cc_packed name##_cc_pack PARAMS {                                              \
        name##_cc_packed cc_s, *cc_v = &cc_s;                                                                          \
        SETS return cc_s;                                                                                              \
    }                                                                                                                  \
    CC_PRIV_FORKABLE(int, name, ARGS, SETS, FORK)                                                                      \
    static int name PARAMS

/* Spawn a CC_TASK: cc_spawn(n, name, arguments...). Returns as cc_nursery_spawn. */
#define cc_spawn(n, ...) CC_PRIV_CAT(CC_PRIV_GO_, CC_PRIV_SOME(__VA_ARGS__))(n, __VA_ARGS__)
#define CC_PRIV_GO_0(n, f) f##_cc_go(CC_SITE(#f), n)
#define CC_PRIV_GO_N(n, f, ...) f##_cc_go(CC_SITE(#f), n, __VA_ARGS__)
#define CC_PRIV_GO_MANY(n, f, ...) f##_cc_go(CC_SITE(#f), n, __VA_ARGS__)

/* ---- functions with results ---- */

#define CC_RESULT(type)                                                                                                \
    struct {                                                                                                           \
        cc_priv_result cc_h;                                                                                           \
        type cc_value;                                                                                                 \
    }

#ifdef __cplusplus
#define CC_PRIV_ZERO(type, at)                                                                                         \
    do {                                                                                                               \
        typedef type cc_type;                                                                                          \
        *(at) = cc_type();                                                                                             \
    } while (0)
#else
#define CC_PRIV_ZERO(type, at) __builtin_memset((at), 0, sizeof *(at))
#endif

#define CC_ASYNC(R, ...) CC_PRIV_CAT(CC_PRIV_ASYNC_, CC_PRIV_SOME(__VA_ARGS__))(R, __VA_ARGS__)
#define CC_PRIV_ASYNC_0(R, name)                                                                                       \
    CC_PRIV_ASYNC(R, name, , (void), (), , (const cc_site *cc_at, cc_nursery *cc_n, cc_priv_result *cc_f, R *cc_r),    \
                  (struct name##_cc_forked * cc_k))
#define CC_PRIV_ASYNC_MANY(R, name, ...) CC_PRIV_TOO_MANY(R, name)
#define CC_PRIV_ASYNC_N(R, name, ...)                                                                                  \
    CC_PRIV_ASYNC(R, name, CC_PRIV_EACH(CC_PRIV_FIELD, __VA_ARGS__), (CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),       \
                  (CC_PRIV_LIST(CC_PRIV_ARG, __VA_ARGS__)), CC_PRIV_EACH(CC_PRIV_SET, __VA_ARGS__),                    \
                  (const cc_site *cc_at, cc_nursery *cc_n, cc_priv_result *cc_f, R *cc_r,                              \
                   CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),                                                          \
                  (struct name##_cc_forked * cc_k, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)))
#define CC_PRIV_ASYNC(R, name, FIELDS, PARAMS, ARGS, SETS, GO, FORK)                                                   \
    struct name##_cc_args {                                                                                            \
        R *cc_ret;                                                                                                     \
        FIELDS                                                                                                         \
    };                                                                                                                 \
    static R name PARAMS;                                                                                              \
    static int name##_cc_run(void *cc_p) {                                                                             \
        struct name##_cc_args *cc_a = (struct name##_cc_args *)cc_p;                                                   \
        *cc_a->cc_ret = name ARGS;                                                                                     \
        return 0;                                                                                                      \
    }                                                                                                                  \
    CC_PRIV_UNUSED static inline int name##_cc_go GO {                                                                 \
        struct name##_cc_args cc_s, *cc_v = &cc_s;                                                                     \
        cc_v->cc_ret = cc_r;                                                                                           \
        CC_PRIV_ZERO(R, cc_r);                                                                                         \
        CC_PRIV_BYTES(struct name##_cc_args);                                                                          \
        SETS return cc_priv_async(cc_n, cc_f, name##_cc_run, &cc_s, sizeof cc_s, cc_at);                               \
    }                                                                                                                  \
    CC_PRIV_FORKABLE(R, name, ARGS, SETS, FORK)                                                                        \
    static R name PARAMS

/* NOLINTEND(bugprone-macro-parentheses) */

/* Spawn a CC_ASYNC: cc_async(n, result, name, arguments...). Returns as cc_nursery_spawn; a failure is also the
 * result's status, with a zero value. */
#define cc_async(n, result, ...) CC_PRIV_CAT(CC_PRIV_AGO_, CC_PRIV_SOME(__VA_ARGS__))(n, result, __VA_ARGS__)
#define CC_PRIV_AGO_0(n, result, f) f##_cc_go(CC_SITE(#f), n, &(result).cc_h, &(result).cc_value)
#define CC_PRIV_AGO_N(n, result, f, ...) f##_cc_go(CC_SITE(#f), n, &(result).cc_h, &(result).cc_value, __VA_ARGS__)
#define CC_PRIV_AGO_MANY(n, result, f, ...) f##_cc_go(CC_SITE(#f), n, &(result).cc_h, &(result).cc_value, __VA_ARGS__)

/* Wait for the function to return, whatever happens to the caller, and give its value. */
#define cc_await(result) (cc_priv_await(&(result).cc_h), (result).cc_value)
/* The same until the caller is cancelled or out of time: then *value is untouched, and the result, which must still
 * outlive the nursery, may be awaited again.
 *   Returns    0; -ECANCELED; -ETIMEDOUT. To be looked at. */
#define cc_await_cancellable(result, value)                                                                            \
    cc_priv_look_at(__extension__({                                                                                    \
        int cc_code = cc_priv_await_cancellable(&(result).cc_h);                                                       \
        if (cc_code == 0) *(value) = (result).cc_value;                                                                \
        cc_code;                                                                                                       \
    }))
/* 0 if it returned, else what kept it from running. */
#define cc_result_status(result) cc_priv_result_status(&(result).cc_h)

#endif /* CCRT_ASYNC_H */
