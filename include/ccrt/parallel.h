/* SPDX-License-Identifier: MIT */
/* Parallel loops. A body gets a range and reads as an ordinary loop:
 *
 *     CC_RANGE(scale, (float *, a), (float, k)) { for (size_t i = lo; i < hi; i++) a[i] *= k; }
 *     cc_parallel_for(0, n, 0, scale, a, 2.0f);
 *
 *     CC_REDUCE(double, total, (const float *, a)) {
 *         double s = 0;
 *         for (size_t i = lo; i < hi; i++) s += a[i];
 *         return s;
 *     }
 *     double sum = cc_parallel_reduce(0, n, 0, 0.0, plus, total, a);
 *
 * Grain: a body is called with at most so many indices at once. 0: chosen for the loop. A loop is split only as others
 * ask for a part of it. CC_STATIC: as many parts as there are workers, or indices if those are fewer, at once; they are
 * equal but for one index. Bodies may block; they run under the scopes that are in force at the loop. What they get by
 * cc_frame_alloc() is theirs until they return (job.h). An empty or reversed range calls no body. */
#ifndef CCRT_PARALLEL_H
#define CCRT_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "async.h"
#include "fork.h"

CC_BEGIN_DECLS

/* For a grain: see above. */
#define CC_STATIC SIZE_MAX

CC_API int cc_priv_parallel_for(size_t lo, size_t hi, size_t grain, int (*body)(size_t lo, size_t hi, void *args),
                                void *args);
CC_API size_t cc_priv_reduce_parts(size_t lo, size_t hi, size_t grain);
/* Whose a part of a loop is: so many workers from that one on; see src/job/loop.c. */
typedef struct cc_priv_crew {
    uint32_t priv_first, priv_count;
} cc_priv_crew;
CC_API cc_priv_crew cc_priv_crew_here(void);
/* Whether the worker that runs here is of the upper half of *own, which becomes its half; *other: the other one. */
CC_API int cc_priv_crew_is_upper(cc_priv_crew *own, cc_priv_crew *other);

/* Sort n elements of size bytes, as qsort() does: in parallel, and equal ones stay in order.
 *   Returns    0; -ENOMEM, -EINVAL: nothing was changed
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point */
CC_API int cc_parallel_sort(void *base, size_t n, size_t size, int (*cmp)(const void *a, const void *b));

CC_END_DECLS

/* NOLINTBEGIN(bugprone-macro-parentheses): types, names and declarations stand where no parentheses may */

/* CC_RANGE(name, parameters...) { ... }: a body; lo and hi are there. CC_RANGE_TRY: one that returns 0, or a negative
 * code that ends the loop: parts that have not begun are left out. */
#define CC_RANGE(...) CC_PRIV_CAT(CC_PRIV_RANGE_, CC_PRIV_SOME(__VA_ARGS__))(void, CC_PRIV_RANGE_VOID, __VA_ARGS__)
#define CC_RANGE_TRY(...) CC_PRIV_CAT(CC_PRIV_RANGE_, CC_PRIV_SOME(__VA_ARGS__))(int, CC_PRIV_RANGE_INT, __VA_ARGS__)
#define CC_PRIV_RANGE_VOID(call) return call, 0
#define CC_PRIV_RANGE_INT(call) return call
#define CC_PRIV_RANGE_0(R, RET, name)                                                                                  \
    CC_PRIV_RANGE(R, RET, name, char cc_none;, (size_t lo, size_t hi), (cc_lo, cc_hi), cc_v->cc_none = 0;              \
                  , (size_t cc_lo, size_t cc_hi, size_t cc_grain))
#define CC_PRIV_RANGE_MANY(R, RET, name, ...) CC_PRIV_TOO_MANY(R, name)
#define CC_PRIV_RANGE_N(R, RET, name, ...)                                                                             \
    CC_PRIV_RANGE(R, RET, name, CC_PRIV_EACH(CC_PRIV_FIELD, __VA_ARGS__),                                              \
                  (size_t lo, size_t hi, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),                                    \
                  (cc_lo, cc_hi, CC_PRIV_LIST(CC_PRIV_ARG, __VA_ARGS__)), CC_PRIV_EACH(CC_PRIV_SET, __VA_ARGS__),      \
                  (size_t cc_lo, size_t cc_hi, size_t cc_grain, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)))
#define CC_PRIV_RANGE(R, RET, name, FIELDS, PARAMS, ARGS, SETS, GO)                                                    \
    struct name##_cc_args {                                                                                            \
        FIELDS                                                                                                         \
    };                                                                                                                 \
    static R name PARAMS;                                                                                              \
    static int name##_cc_body(size_t cc_lo, size_t cc_hi, void *cc_p) {                                                \
        struct name##_cc_args *cc_a = (struct name##_cc_args *)cc_p;                                                   \
        (void)cc_a;                                                                                                    \
        RET(name ARGS);                                                                                                \
    }                                                                                                                  \
    CC_PRIV_UNUSED static inline int name##_cc_for GO {                                                                \
        struct name##_cc_args cc_s, *cc_v = &cc_s;                                                                     \
        SETS return cc_priv_parallel_for(cc_lo, cc_hi, cc_grain, name##_cc_body, &cc_s);                               \
    }                                                                                                                  \
    static R name PARAMS

/* cc_parallel_for(lo, hi, grain, name, arguments...)
 *   Returns    0; the first negative code of a body, or -ECANCELED or -ETIMEDOUT of the scopes around it: then some
 *              indices were left out
 *   Call from  fiber or thread           Blocks: the caller only; looks for cancellation between two calls of a body */
#define cc_parallel_for(lo, hi, grain, ...)                                                                            \
    CC_PRIV_CAT(CC_PRIV_FOR_, CC_PRIV_SOME(__VA_ARGS__))(lo, hi, grain, __VA_ARGS__)
#define CC_PRIV_FOR_0(lo, hi, grain, fn) fn##_cc_for(lo, hi, grain)
#define CC_PRIV_FOR_N(lo, hi, grain, fn, ...) fn##_cc_for(lo, hi, grain, __VA_ARGS__)
#define CC_PRIV_FOR_MANY(lo, hi, grain, fn, ...) fn##_cc_for(lo, hi, grain, __VA_ARGS__)

/* CC_REDUCE(type, name, parameters...) { ...; return value; }: a body with a value for its range. */
#define CC_REDUCE(R, ...) CC_PRIV_CAT(CC_PRIV_REDUCE_, CC_PRIV_SOME(__VA_ARGS__))(R, __VA_ARGS__)
#define CC_PRIV_REDUCE_0(R, name)                                                                                      \
    CC_PRIV_REDUCE(R, name, char cc_none;, (size_t lo, size_t hi), (cc_lo, cc_hi), cc_v->cc_none = 0;                  \
                   , (size_t cc_lo, size_t cc_hi, size_t cc_grain, R cc_first, R(*cc_combine)(R, R)))
#define CC_PRIV_REDUCE_MANY(R, name, ...) CC_PRIV_TOO_MANY(R, name)
#define CC_PRIV_REDUCE_N(R, name, ...)                                                                                 \
    CC_PRIV_REDUCE(R, name, CC_PRIV_EACH(CC_PRIV_FIELD, __VA_ARGS__),                                                  \
                   (size_t lo, size_t hi, CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)),                                   \
                   (cc_lo, cc_hi, CC_PRIV_LIST(CC_PRIV_ARG, __VA_ARGS__)), CC_PRIV_EACH(CC_PRIV_SET, __VA_ARGS__),     \
                   (size_t cc_lo, size_t cc_hi, size_t cc_grain, R cc_first, R(*cc_combine)(R, R),                     \
                    CC_PRIV_LIST(CC_PRIV_PARAM, __VA_ARGS__)))
#define CC_PRIV_REDUCE(R, name, FIELDS, PARAMS, ARGS, SETS, GO)                                                        \
    struct name##_cc_args {                                                                                            \
        FIELDS                                                                                                         \
    };                                                                                                                 \
    struct name##_cc_part {                                                                                            \
        cc_priv_fork cc_h;                                                                                             \
        R cc_value;                                                                                                    \
        size_t cc_lo, cc_hi, cc_parts;                                                                                 \
        cc_priv_crew cc_crew;                                                                                          \
        R (*cc_combine)(R, R);                                                                                         \
        struct name##_cc_args *cc_args;                                                                                \
    };                                                                                                                 \
    static R name PARAMS;                                                                                              \
    CC_PRIV_UNUSED static void name##_cc_part_run(cc_priv_fork *cc_f);                                                 \
    CC_PRIV_UNUSED static const cc_priv_forkable name##_cc_forkable = {name##_cc_part_run,                             \
                                                                       {__FILE__, __LINE__, #name}};                   \
    CC_PRIV_UNUSED static R name##_cc_reduce_part(size_t cc_lo, size_t cc_hi, size_t cc_parts, cc_priv_crew cc_crew,   \
                                                  R (*cc_combine)(R, R), struct name##_cc_args *cc_a) {                \
        if (cc_parts == 1) return name ARGS;                                                                           \
        size_t cc_half = cc_parts / 2, cc_more = (cc_hi - cc_lo) % cc_parts;                                           \
        size_t cc_mid = cc_lo + (cc_hi - cc_lo) / cc_parts * cc_half + (cc_more < cc_half ? cc_more : cc_half);        \
        struct name##_cc_part cc_r;                                                                                    \
        cc_r.cc_crew.priv_first = cc_r.cc_crew.priv_count = 0;                                                         \
        int cc_upper = cc_crew.priv_count > 1 && cc_priv_crew_is_upper(&cc_crew, &cc_r.cc_crew);                       \
        cc_r.cc_lo = cc_upper ? cc_lo : cc_mid;                                                                        \
        cc_r.cc_hi = cc_upper ? cc_mid : cc_hi;                                                                        \
        cc_r.cc_parts = cc_upper ? cc_half : cc_parts - cc_half;                                                       \
        cc_r.cc_combine = cc_combine;                                                                                  \
        cc_r.cc_args = cc_a;                                                                                           \
        cc_priv_fork_do(&cc_r.cc_h, &name##_cc_forkable);                                                              \
        R cc_own = name##_cc_reduce_part(cc_upper ? cc_mid : cc_lo, cc_upper ? cc_hi : cc_mid,                         \
                                         cc_parts - cc_r.cc_parts, cc_crew, cc_combine, cc_a);                         \
        if (cc_priv_join_do(&cc_r.cc_h)) name##_cc_part_run(&cc_r.cc_h);                                               \
        return cc_upper ? cc_combine(cc_r.cc_value, cc_own) : cc_combine(cc_own, cc_r.cc_value);                       \
    }                                                                                                                  \
    static void name##_cc_part_run(cc_priv_fork *cc_f) {                                                               \
        struct name##_cc_part *cc_k = (struct name##_cc_part *)(void *)cc_f;                                           \
        cc_k->cc_value = name##_cc_reduce_part(cc_k->cc_lo, cc_k->cc_hi, cc_k->cc_parts, cc_k->cc_crew,                \
                                               cc_k->cc_combine, cc_k->cc_args);                                       \
    }                                                                                                                  \
    CC_PRIV_UNUSED static inline R name##_cc_reduce GO {                                                               \
        struct name##_cc_args cc_s, *cc_v = &cc_s;                                                                     \
        SETS if (cc_lo >= cc_hi) return cc_first;                                                                      \
        return cc_combine(cc_first, name##_cc_reduce_part(cc_lo, cc_hi, cc_priv_reduce_parts(cc_lo, cc_hi, cc_grain),  \
                                                          cc_priv_crew_here(), cc_combine, cc_v));                     \
    }                                                                                                                  \
    static R name PARAMS

/* cc_parallel_reduce(lo, hi, grain, first, combine, name, arguments...): `first` and the values of all parts, combined
 * in the order of their indices. Which parts there are, and how they are grouped, follows from the range and the grain
 * alone: the result is the same however many workers there are, also where combine() rounds; but with CC_STATIC, where
 * their number is that of the parts.
 *   Call from  fiber or thread           Blocks: the caller only; not a cancellation point */
#define cc_parallel_reduce(lo, hi, grain, first, combine, ...)                                                         \
    CC_PRIV_CAT(CC_PRIV_RED_, CC_PRIV_SOME(__VA_ARGS__))(lo, hi, grain, first, combine, __VA_ARGS__)
#define CC_PRIV_RED_0(lo, hi, grain, first, combine, fn) fn##_cc_reduce(lo, hi, grain, first, combine)
#define CC_PRIV_RED_N(lo, hi, grain, first, combine, fn, ...) fn##_cc_reduce(lo, hi, grain, first, combine, __VA_ARGS__)
#define CC_PRIV_RED_MANY(lo, hi, grain, first, combine, fn, ...)                                                       \
    fn##_cc_reduce(lo, hi, grain, first, combine, __VA_ARGS__)

/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* CCRT_PARALLEL_H */
