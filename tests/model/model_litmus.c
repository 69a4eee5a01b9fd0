/* SPDX-License-Identifier: MIT */
/* Goal: the checker's memory is C11's: each classical litmus test has all the outcomes that RC11 allows and
 * no other.
 * Method: every test lists its outcomes in full; one more or one less is a failure. Names are those of the
 * literature (Alglave, Maranget: "Herding cats"; Batty et al.: "Mathematizing C++ concurrency"). Threads
 * store 1 or 2 to x, y, z, all 0 at first; an outcome is what the loads saw, then the final values where
 * they matter.
 *
 * LB is the one test whose weak outcome C11 allows and the checker does not produce: see memory.c. */
#include "ccmc.h"

#include <stdatomic.h>

static _Atomic int x, y, z;
static int r[4];

#define LOAD(a, order) atomic_load_explicit(&(a), memory_order_##order)
#define STORE(a, v, order) atomic_store_explicit(&(a), v, memory_order_##order)
#define XCHG(a, v, order) atomic_exchange_explicit(&(a), v, memory_order_##order)
#define ADD(a, v, order) atomic_fetch_add_explicit(&(a), v, memory_order_##order)
#define FENCE(order) atomic_thread_fence(memory_order_##order)
#define NOTHING ((void)0)

static void one_result(void) {
    mc_outcome("%d", r[0]);
}
static void two_results(void) {
    mc_outcome("%d,%d", r[0], r[1]);
}
static void three_results(void) {
    mc_outcome("%d,%d,%d", r[0], r[1], r[2]);
}
static void four_results(void) {
    mc_outcome("%d,%d,%d,%d", r[0], r[1], r[2], r[3]);
}
static void result_and_x(void) {
    mc_outcome("%d,x=%d", r[0], LOAD(x, relaxed));
}
static void result_and_y(void) {
    mc_outcome("%d,y=%d", r[0], LOAD(y, relaxed));
}
static void final_x(void) {
    mc_outcome("x=%d", LOAD(x, relaxed));
}
static void final_x_and_y(void) {
    mc_outcome("x=%d,y=%d", LOAD(x, relaxed), LOAD(y, relaxed));
}

/* ---- SB, store buffering: each thread stores, then loads what the other stores ---- */

#define SB(name, store, load, fence_a, fence_b)                                                                        \
    static void name##_a(void) {                                                                                       \
        STORE(x, 1, store);                                                                                            \
        fence_a;                                                                                                       \
        r[0] = LOAD(y, load);                                                                                          \
    }                                                                                                                  \
    static void name##_b(void) {                                                                                       \
        STORE(y, 1, store);                                                                                            \
        fence_b;                                                                                                       \
        r[1] = LOAD(x, load);                                                                                          \
    }
SB(sb_relaxed, relaxed, relaxed, NOTHING, NOTHING)
SB(sb_rel_acq, release, acquire, NOTHING, NOTHING)
SB(sb_sc, seq_cst, seq_cst, NOTHING, NOTHING)
SB(sb_sc_store, seq_cst, acquire, NOTHING, NOTHING)
SB(sb_fences, relaxed, relaxed, FENCE(seq_cst), FENCE(seq_cst))
SB(sb_one_fence, relaxed, relaxed, FENCE(seq_cst), NOTHING)
SB(sb_weak_fences, relaxed, relaxed, FENCE(acq_rel), FENCE(acq_rel))

static void sb_xchg_a(void) {
    XCHG(x, 1, acq_rel);
    r[0] = LOAD(y, acquire);
}
static void sb_xchg_b(void) {
    XCHG(y, 1, acq_rel);
    r[1] = LOAD(x, acquire);
}

/* ---- MP, message passing: y says that x is there ---- */

#define MP(name, store, load, fence_a, fence_b)                                                                        \
    static void name##_a(void) {                                                                                       \
        STORE(x, 1, relaxed);                                                                                          \
        fence_a;                                                                                                       \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_b(void) {                                                                                       \
        r[0] = LOAD(y, load);                                                                                          \
        fence_b;                                                                                                       \
        r[1] = LOAD(x, relaxed);                                                                                       \
    }
MP(mp_relaxed, relaxed, relaxed, NOTHING, NOTHING)
MP(mp_rel_acq, release, acquire, NOTHING, NOTHING)
MP(mp_no_release, relaxed, acquire, NOTHING, NOTHING)
MP(mp_no_acquire, release, relaxed, NOTHING, NOTHING)
MP(mp_fences, relaxed, relaxed, FENCE(release), FENCE(acquire))
MP(mp_fence_acq, relaxed, acquire, FENCE(release), NOTHING)
MP(mp_rel_fence, release, relaxed, NOTHING, FENCE(acquire))
MP(mp_wrong_fences, relaxed, relaxed, FENCE(acquire), FENCE(release))

/* Through a third thread that adds to y: a read-modify-write goes on with the release sequence. */
static void mp_adder(void) {
    ADD(y, 1, relaxed);
}

/* ---- LB, load buffering ---- */

static void lb_a(void) {
    r[0] = LOAD(x, relaxed);
    STORE(y, 1, relaxed);
}
static void lb_b(void) {
    r[1] = LOAD(y, relaxed);
    STORE(x, 1, relaxed);
}

/* ---- IRIW: do two readers agree on the order of independent writes? ---- */

#define IRIW(name, store, load, fence)                                                                                 \
    static void name##_x(void) {                                                                                       \
        STORE(x, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_y(void) {                                                                                       \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_xy(void) {                                                                                      \
        r[0] = LOAD(x, load);                                                                                          \
        fence;                                                                                                         \
        r[1] = LOAD(y, load);                                                                                          \
    }                                                                                                                  \
    static void name##_yx(void) {                                                                                      \
        r[2] = LOAD(y, load);                                                                                          \
        fence;                                                                                                         \
        r[3] = LOAD(x, load);                                                                                          \
    }
IRIW(iriw_rel_acq, release, acquire, NOTHING)
IRIW(iriw_sc, seq_cst, seq_cst, NOTHING)
IRIW(iriw_fences, relaxed, relaxed, FENCE(seq_cst))

#define IRIW_AGREE                                                                                                     \
    "0,0,0,0 0,0,0,1 0,0,1,0 0,0,1,1 0,1,0,0 0,1,0,1 0,1,1,0 0,1,1,1 1,0,0,0 1,0,0,1 1,0,1,1 1,1,0,0 1,1,0,1 1,1,1,0 " \
    "1,1,1,1"
#define IRIW_ALL IRIW_AGREE " 1,0,1,0"

/* ---- 2+2W: two writers of two atomics; who is last on each? ---- */

#define W22(name, order, fence)                                                                                        \
    static void name##_a(void) {                                                                                       \
        STORE(x, 1, order);                                                                                            \
        fence;                                                                                                         \
        STORE(y, 2, order);                                                                                            \
    }                                                                                                                  \
    static void name##_b(void) {                                                                                       \
        STORE(y, 1, order);                                                                                            \
        fence;                                                                                                         \
        STORE(x, 2, order);                                                                                            \
    }
W22(w22_relaxed, relaxed, NOTHING)
W22(w22_release, release, NOTHING)
W22(w22_sc, seq_cst, NOTHING)
W22(w22_fences, relaxed, FENCE(seq_cst))

/* ---- coherence: one atomic ---- */

static void co_writer(void) {
    STORE(x, 1, relaxed);
    STORE(x, 2, relaxed);
}
static void co_reader(void) {
    r[0] = LOAD(x, relaxed);
    r[1] = LOAD(x, relaxed);
}
static void co_reader2(void) {
    r[2] = LOAD(x, relaxed);
    r[3] = LOAD(x, relaxed);
}
static void co_one(void) {
    STORE(x, 1, relaxed);
}
static void co_two(void) {
    STORE(x, 2, relaxed);
}
static void co_read_write(void) {
    r[0] = LOAD(x, relaxed);
    STORE(x, 1, relaxed);
}
static void co_write_read(void) {
    STORE(x, 1, relaxed);
    r[0] = LOAD(x, relaxed);
}
/* No reader may see 1 before 2 while the other sees 2 before 1. */
static void readers_agree(void) {
    bool first = r[0] == 1 && r[1] == 2, second = r[2] == 2 && r[3] == 1;
    bool other = r[0] == 2 && r[1] == 1 && r[2] == 1 && r[3] == 2;
    mc_assert(!(first && second) && !other);
}

/* ---- R and S: a store ordered against a load, and a load against a store ---- */

#define RS(name, fence, store, load)                                                                                   \
    static void name##_r_a(void) {                                                                                     \
        STORE(x, 1, store);                                                                                            \
        fence;                                                                                                         \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_r_b(void) {                                                                                     \
        STORE(y, 2, store);                                                                                            \
        fence;                                                                                                         \
        r[0] = LOAD(x, load);                                                                                          \
    }                                                                                                                  \
    static void name##_s_a(void) {                                                                                     \
        STORE(x, 2, relaxed);                                                                                          \
        fence;                                                                                                         \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_s_b(void) {                                                                                     \
        r[0] = LOAD(y, load);                                                                                          \
        fence;                                                                                                         \
        STORE(x, 1, relaxed);                                                                                          \
    }
RS(rs_relaxed, NOTHING, relaxed, relaxed)
RS(rs_rel_acq, NOTHING, release, acquire)
RS(rs_sc, NOTHING, seq_cst, seq_cst)
RS(rs_fences, FENCE(seq_cst), relaxed, relaxed)

/* ---- WRC and ISA2: what one learned of another is passed on ---- */

#define WRC(name, store, load)                                                                                         \
    static void name##_a(void) {                                                                                       \
        STORE(x, 1, relaxed);                                                                                          \
    }                                                                                                                  \
    static void name##_b(void) {                                                                                       \
        r[0] = LOAD(x, load);                                                                                          \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_c(void) {                                                                                       \
        r[1] = LOAD(y, load);                                                                                          \
        r[2] = LOAD(x, relaxed);                                                                                       \
    }                                                                                                                  \
    static void name##_isa2_a(void) {                                                                                  \
        STORE(x, 1, relaxed);                                                                                          \
        STORE(y, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_isa2_b(void) {                                                                                  \
        r[0] = LOAD(y, load);                                                                                          \
        STORE(z, 1, store);                                                                                            \
    }                                                                                                                  \
    static void name##_isa2_c(void) {                                                                                  \
        r[1] = LOAD(z, load);                                                                                          \
        r[2] = LOAD(x, relaxed);                                                                                       \
    }
WRC(wrc_relaxed, relaxed, relaxed)
WRC(wrc_rel_acq, release, acquire)

/* ---- RWC: a reader between writer and reader, all with full fences ---- */

static void rwc_b(void) {
    r[0] = LOAD(x, relaxed);
    FENCE(seq_cst);
    r[1] = LOAD(y, relaxed);
}
static void rwc_c(void) {
    STORE(y, 1, relaxed);
    FENCE(seq_cst);
    r[2] = LOAD(x, relaxed);
}

/* ---- read-modify-writes ---- */

static void add_one(void) {
    ADD(x, 1, relaxed);
}
static void load_then_store(void) {
    STORE(x, LOAD(x, relaxed) + 1, relaxed);
}
static void cas_loop(void) {
    int seen = LOAD(x, relaxed);
    while (!atomic_compare_exchange_weak_explicit(&x, &seen, seen + 1, memory_order_relaxed, memory_order_relaxed)) {
    }
}
/* Of two that swap 0 for their number one succeeds. */
static void cas_a(void) {
    int seen = 0;
    r[0] = atomic_compare_exchange_strong_explicit(&x, &seen, 1, memory_order_relaxed, memory_order_relaxed);
}
static void cas_b(void) {
    int seen = 0;
    r[1] = atomic_compare_exchange_strong_explicit(&x, &seen, 2, memory_order_relaxed, memory_order_relaxed);
}
/* The place before a read-modify-write is taken: a blind store goes before or after both. */
static void xchg_a(void) {
    r[0] = XCHG(x, 1, relaxed);
}
static void xchg_b(void) {
    r[1] = XCHG(x, 2, relaxed);
}

#define THREE "0,0 0,1 1,0"
#define ALL4 "0,0 0,1 1,0 1,1"
#define SEEN3 "0,0,0 0,0,1 0,1,0 0,1,1 1,0,0 1,0,1 1,1,1"

const struct mc_scenario mc_scenarios[] = {
    {"SB relaxed", NULL, {sb_relaxed_a, sb_relaxed_b}, two_results, .outcomes = ALL4},
    {"SB release, acquire", NULL, {sb_rel_acq_a, sb_rel_acq_b}, two_results, .outcomes = ALL4},
    {"SB seq_cst", NULL, {sb_sc_a, sb_sc_b}, two_results, .outcomes = "0,1 1,0 1,1"},
    {"SB seq_cst store, acquire load", NULL, {sb_sc_store_a, sb_sc_store_b}, two_results, .outcomes = ALL4},
    {"SB full fences", NULL, {sb_fences_a, sb_fences_b}, two_results, .outcomes = "0,1 1,0 1,1"},
    {"SB one full fence", NULL, {sb_one_fence_a, sb_one_fence_b}, two_results, .outcomes = ALL4},
    {"SB acq_rel fences", NULL, {sb_weak_fences_a, sb_weak_fences_b}, two_results, .outcomes = ALL4},
    {"SB acq_rel exchange (safe on x86 only)", NULL, {sb_xchg_a, sb_xchg_b}, two_results, .outcomes = ALL4},

    {"MP relaxed", NULL, {mp_relaxed_a, mp_relaxed_b}, two_results, .outcomes = ALL4},
    {"MP release, acquire", NULL, {mp_rel_acq_a, mp_rel_acq_b}, two_results, .outcomes = "0,0 0,1 1,1"},
    {"MP relaxed, acquire", NULL, {mp_no_release_a, mp_no_release_b}, two_results, .outcomes = ALL4},
    {"MP release, relaxed", NULL, {mp_no_acquire_a, mp_no_acquire_b}, two_results, .outcomes = ALL4},
    {"MP two fences", NULL, {mp_fences_a, mp_fences_b}, two_results, .outcomes = "0,0 0,1 1,1"},
    {"MP release fence, acquire load", NULL, {mp_fence_acq_a, mp_fence_acq_b}, two_results, .outcomes = "0,0 0,1 1,1"},
    {"MP release store, acquire fence", NULL, {mp_rel_fence_a, mp_rel_fence_b}, two_results, .outcomes = "0,0 0,1 1,1"},
    {"MP fences the wrong way round", NULL, {mp_wrong_fences_a, mp_wrong_fences_b}, two_results, .outcomes = ALL4},
    {"MP release sequence",
     NULL,
     {mp_rel_acq_a, mp_adder, mp_rel_acq_b},
     two_results,
     .outcomes = "0,0 0,1 1,0 1,1 2,1"},
    {"MP release sequence, relaxed head",
     NULL,
     {mp_no_release_a, mp_adder, mp_no_release_b},
     two_results,
     .outcomes = "0,0 0,1 1,0 1,1 2,0 2,1"},

    {"LB relaxed (1,1 is not produced)", NULL, {lb_a, lb_b}, two_results, .outcomes = THREE},

    {"IRIW release, acquire",
     NULL,
     {iriw_rel_acq_x, iriw_rel_acq_y, iriw_rel_acq_xy, iriw_rel_acq_yx},
     four_results,
     .outcomes = IRIW_ALL},
    {"IRIW seq_cst", NULL, {iriw_sc_x, iriw_sc_y, iriw_sc_xy, iriw_sc_yx}, four_results, .outcomes = IRIW_AGREE},
    {"IRIW full fences",
     NULL,
     {iriw_fences_x, iriw_fences_y, iriw_fences_xy, iriw_fences_yx},
     four_results,
     .outcomes = IRIW_AGREE},

    {"2+2W relaxed",
     NULL,
     {w22_relaxed_a, w22_relaxed_b},
     final_x_and_y,
     .outcomes = "x=2,y=2 x=2,y=1 x=1,y=2 x=1,y=1"},
    {"2+2W release",
     NULL,
     {w22_release_a, w22_release_b},
     final_x_and_y,
     .outcomes = "x=2,y=2 x=2,y=1 x=1,y=2 x=1,y=1"},
    {"2+2W seq_cst", NULL, {w22_sc_a, w22_sc_b}, final_x_and_y, .outcomes = "x=2,y=2 x=2,y=1 x=1,y=2"},
    {"2+2W full fences", NULL, {w22_fences_a, w22_fences_b}, final_x_and_y, .outcomes = "x=2,y=2 x=2,y=1 x=1,y=2"},

    {"CoRR", NULL, {co_writer, co_reader}, two_results, .outcomes = "0,0 0,1 0,2 1,1 1,2 2,2"},
    {"CoRR two writers, two readers", NULL, {co_one, co_two, co_reader, co_reader2}, readers_agree, .expect = 0},
    {"CoWW", NULL, {co_writer}, final_x, .outcomes = "x=2"},
    {"CoRW", NULL, {co_read_write, co_two}, result_and_x, .outcomes = "0,x=1 0,x=2 2,x=1"},
    {"CoWR", NULL, {co_write_read, co_two}, result_and_x, .outcomes = "1,x=1 1,x=2 2,x=2"},

    {"R relaxed", NULL, {rs_relaxed_r_a, rs_relaxed_r_b}, result_and_y, .outcomes = "0,y=1 0,y=2 1,y=1 1,y=2"},
    {"R release, acquire", NULL, {rs_rel_acq_r_a, rs_rel_acq_r_b}, result_and_y, .outcomes = "0,y=1 0,y=2 1,y=1 1,y=2"},
    {"R seq_cst", NULL, {rs_sc_r_a, rs_sc_r_b}, result_and_y, .outcomes = "0,y=1 1,y=1 1,y=2"},
    {"R full fences", NULL, {rs_fences_r_a, rs_fences_r_b}, result_and_y, .outcomes = "0,y=1 1,y=1 1,y=2"},

    {"S relaxed", NULL, {rs_relaxed_s_a, rs_relaxed_s_b}, result_and_x, .outcomes = "0,x=1 0,x=2 1,x=1 1,x=2"},
    {"S release, acquire", NULL, {rs_rel_acq_s_a, rs_rel_acq_s_b}, result_and_x, .outcomes = "0,x=1 0,x=2 1,x=1"},
    {"S seq_cst", NULL, {rs_sc_s_a, rs_sc_s_b}, result_and_x, .outcomes = "0,x=1 0,x=2 1,x=1"},
    {"S full fences", NULL, {rs_fences_s_a, rs_fences_s_b}, result_and_x, .outcomes = "0,x=1 0,x=2 1,x=1"},

    {"WRC relaxed", NULL, {wrc_relaxed_a, wrc_relaxed_b, wrc_relaxed_c}, three_results, .outcomes = SEEN3 " 1,1,0"},
    {"WRC release, acquire", NULL, {wrc_rel_acq_a, wrc_rel_acq_b, wrc_rel_acq_c}, three_results, .outcomes = SEEN3},
    {"ISA2 relaxed",
     NULL,
     {wrc_relaxed_isa2_a, wrc_relaxed_isa2_b, wrc_relaxed_isa2_c},
     three_results,
     .outcomes = SEEN3 " 1,1,0"},
    {"ISA2 release, acquire",
     NULL,
     {wrc_rel_acq_isa2_a, wrc_rel_acq_isa2_b, wrc_rel_acq_isa2_c},
     three_results,
     .outcomes = SEEN3},
    {"RWC full fences",
     NULL,
     {co_one, rwc_b, rwc_c},
     three_results,
     .outcomes = "0,0,0 0,0,1 0,1,0 0,1,1 1,0,1 1,1,0 1,1,1"},

    {"three fetch_add", NULL, {add_one, add_one, add_one}, final_x, .outcomes = "x=3"},
    {"three loads and stores",
     NULL,
     {load_then_store, load_then_store, load_then_store},
     final_x,
     .outcomes = "x=1 x=2 x=3"},
    {"three compare-and-swap loops", NULL, {cas_loop, cas_loop, cas_loop}, final_x, .outcomes = "x=3"},
    {"two compare-and-swap loops that fail at will",
     NULL,
     {cas_loop, cas_loop},
     final_x,
     .spurious = 2,
     .outcomes = "x=2"},
    {"one compare-and-swap wins", NULL, {cas_a, cas_b}, two_results, .outcomes = "0,1 1,0"},
    {"exchanges and a store", NULL, {xchg_a, xchg_b, co_one}, two_results, .outcomes = "0,1 1,0 1,1 2,0 2,1"},
    {"one thread alone", NULL, {co_write_read}, one_result, .outcomes = "1"},
    {0},
};
