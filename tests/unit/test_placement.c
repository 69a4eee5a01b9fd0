/* SPDX-License-Identifier: MIT */
/* Goal: each strategy seats workers as it says, on machines of all kinds: which cpu, which tier, whom they rob first.
 * Method: topologies written by hand (so that it runs without hwloc), and those that hwloc makes of its own synthetic
 *   input: two sockets of 8 cores with SMT, sockets of two nodes, hybrid cores, some cpus taken away.
 * Needs: hwloc
 */
#include "test.h"

#include "sched/placement.h"
#include "sched/sched.h"

#include <ccrt.h>

#if CCRT_HAVE_HWLOC
#include <hwloc.h>
#endif

static struct cc__placement *plan(const struct cc__topology *t, int strategy, unsigned workers) {
    struct cc__placement *p;
    assert_int_equal(cc__placement_plan(&p, t, strategy, workers), 0);
    assert_int_equal(p->workers, workers);
    assert_int_equal(p->room, cc__placement_room(t, strategy));
    return p;
}

/* Seats are on these cpus, in this order. */
static void sits_on(const struct cc__placement *p, const unsigned *cpus, unsigned n) {
    for (unsigned i = 0; i < n; i++) assert_int_equal(p->seat[i].cpu, cpus[i]);
}

/* Every worker is in the list of every node once, ring by ring, as near as the ring says. */
static void victims_are_right(const struct cc__placement *p, const struct cc__topology *t) {
    for (unsigned w = 0; w < p->workers; w++) {
        const struct cc__seat *me = &p->seat[w];
        const struct cc__victims *v = &p->victims[me->node];
        bool seen[CC__WORKERS_MAX] = {false};
        assert_int_equal(v->end[CC__RINGS - 1], p->workers);
        for (unsigned i = 0; i < p->workers; i++) {
            const struct cc__seat *other = &p->seat[v->worker[i]];
            assert_false(seen[v->worker[i]]);
            seen[v->worker[i]] = true;
            unsigned ring = i < v->end[0] ? 0 : i < v->end[1] ? 1 : 2;
            assert_int_equal(ring == 0, other->node == me->node);
            if (ring == 1) assert_int_equal(other->package, me->package);
            if (ring == 2) assert_int_not_equal(other->package, me->package);
        }
    }
    assert_true(p->nodes <= t->nodes);
}

/* ---- by hand ---- */

/* One package of two cores with two threads each, which the system numbers as Linux does on x86: 0 and 2 are of one
 * core, 1 and 3 of the other. */
static struct cc__cpu four[] = {{0, 0, 0, 0, 0, 0}, {2, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0}, {3, 1, 1, 0, 0, 0}};
static const struct cc__topology small = {.cpu = four, .count = 4, .cores = 2, .kinds = 1, .nodes = 1, .packages = 1};

static void each_strategy_has_its_order(void **state) {
    (void)state;
    struct cc__placement *p = plan(&small, CC_PIN_LINEAR, 4);
    sits_on(p, (const unsigned[]){0, 1, 2, 3}, 4);
    assert_int_equal(p->tiers, 1);
    assert_false(p->spills || p->binds);
    assert_null(p->victims); /* one node */
    cc__placement_end(p);

    p = plan(&small, CC_PIN_AVOID_SMT, 2);
    sits_on(p, (const unsigned[]){0, 1}, 2);
    assert_int_equal(p->room, 2);
    assert_int_equal(p->tiers, 1);
    cc__placement_end(p);

    p = plan(&small, CC_PIN_TIERED, 4);
    sits_on(p, (const unsigned[]){0, 1, 2, 3}, 4);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(p->seat[i].tier, i / 2);
    assert_int_equal(p->tiers, 2);
    assert_true(p->spills);
    cc__placement_end(p);
    cc__placement_end(NULL);
}

static void fewer_and_more_workers_than_cpus(void **state) {
    (void)state;
    struct cc__placement *p = plan(&small, CC_PIN_TIERED, 1);
    assert_int_equal(p->tiers, 1);
    cc__placement_end(p);
    p = plan(&small, CC_PIN_AVOID_SMT, 5); /* from the first on again */
    sits_on(p, (const unsigned[]){0, 1, 0, 1, 0}, 5);
    cc__placement_end(p);
    p = plan(&small, CC_PIN_TIERED, 7); /* and who comes second to a cpu is of a tier behind all */
    const unsigned tiers[] = {0, 0, 1, 1, 2, 2, 3};
    for (unsigned i = 0; i < 7; i++) assert_int_equal(p->seat[i].tier, tiers[i]);
    cc__placement_end(p);
}

/* What a worker gets of it. */
static void a_worker_is_seated(void **state) {
    (void)state;
    static struct cc__cpu two[] = {{5, 0, 0, 0, 0, 0}, {6, 1, 0, 0, 1, 1}};
    const struct cc__topology t = {
        .cpu = two, .count = 2, .cores = 2, .kinds = 1, .nodes = 2, .packages = 2, .real = true};
    static struct cc__worker w;
    struct cc__placement *p = plan(&t, CC_PIN_TIERED, 2);
    victims_are_right(p, &t);
    w.id = 1;
    w.stacks.home = cc__stack_home(0, true);
    cc__placement_seat(p, &w);
    assert_int_equal(w.bound, 7);
    assert_true(w.spills);
    assert_ptr_equal(w.victims, &p->victims[1]);
    assert_int_equal(w.stacks.home, cc__stack_home(2, true));
    cc__placement_end(p);
    p = plan(&small, CC_PIN_LINEAR, 2); /* not this machine: nobody is bound; one node: no order */
    w = (struct cc__worker){.id = 1};
    cc__placement_seat(p, &w);
    assert_int_equal(w.bound, 0);
    assert_null(w.victims);
    assert_int_equal(w.stacks.home, 0);
    assert_false(w.spills);
    cc__placement_end(p);
}

/* ---- by hwloc ---- */

#if CCRT_HAVE_HWLOC

static hwloc_topology_t synthetic(const char *text) {
    hwloc_topology_t h;
    assert_int_equal(hwloc_topology_init(&h), 0);
    assert_int_equal(hwloc_topology_set_synthetic(h, text), 0);
    assert_int_equal(hwloc_topology_load(h), 0);
    return h;
}

static struct cc__topology take(hwloc_topology_t h) {
    struct cc__topology t;
    assert_int_equal(cc__topology_from(&t, h), 0);
    assert_false(t.real);
    hwloc_topology_destroy(h);
    return t;
}

static void lesson_47_two_sockets_of_eight_cores_with_smt(void **state) {
    (void)state;
    struct cc__topology t = take(synthetic("pack:2 [numa] core:8 pu:2"));
    assert_int_equal(t.count, 32);
    assert_int_equal(t.cores, 16);
    assert_int_equal(t.nodes, 2);
    assert_int_equal(t.packages, 2);
    assert_int_equal(t.kinds, 1);
    assert_int_equal(cc__placement_room(&t, CC_PIN_LINEAR), 32);
    assert_int_equal(cc__placement_room(&t, CC_PIN_AVOID_SMT), 16);

    struct cc__placement *p = plan(&t, CC_PIN_TIERED, 32);
    assert_int_equal(p->tiers, 2);
    assert_int_equal(p->nodes, 2);
    for (unsigned i = 0; i < 32; i++) { /* hwloc numbers the two of a core one after the other */
        assert_int_equal(p->seat[i].tier, i / 16);
        assert_int_equal(p->seat[i].cpu, i < 16 ? 2 * i : 2 * (i - 16) + 1);
        assert_int_equal(p->seat[i].node, i % 16 / 8);
    }
    victims_are_right(p, &t);
    assert_int_equal(p->victims[1].end[0], 16); /* of the same socket, siblings too */
    assert_int_equal(p->victims[1].worker[0], 8);
    cc__placement_end(p);

    p = plan(&t, CC_PIN_AVOID_SMT, 16);
    for (unsigned i = 0; i < 16; i++) assert_int_equal(p->seat[i].cpu, 2 * i);
    victims_are_right(p, &t);
    cc__placement_end(p);

    p = plan(&t, CC_PIN_AVOID_SMT, 8); /* few stay on one node, and need no order */
    assert_int_equal(p->nodes, 1);
    assert_null(p->victims);
    cc__placement_end(p);
    cc__topology_end(&t);
}

static void nodes_of_the_same_socket_are_nearer(void **state) {
    (void)state;
    struct cc__topology t = take(synthetic("pack:2 group:2 [numa] core:4 pu:1"));
    assert_int_equal(t.nodes, 4);
    assert_int_equal(t.packages, 2);
    struct cc__placement *p = plan(&t, CC_PIN_LINEAR, 16);
    victims_are_right(p, &t);
    for (unsigned node = 0; node < 4; node++) {
        assert_int_equal(p->victims[node].end[0], 4);
        assert_int_equal(p->victims[node].end[1], 8);
        assert_int_equal(p->victims[node].worker[0], 4 * node);
    }
    cc__placement_end(p);
    cc__topology_end(&t);
}

/* 4 strong cores with two threads each and 4 weak ones with one: of 8 with two, some cpus are taken away, and hwloc is
 * told which kind is which. */
static void hybrid_cores(void **state) {
    (void)state;
    hwloc_topology_t h = synthetic("pack:1 core:8 pu:2");
    hwloc_bitmap_t all = hwloc_bitmap_alloc(), strong = hwloc_bitmap_alloc(), weak = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(strong, 0, 7);
    for (unsigned cpu = 8; cpu < 16; cpu += 2) hwloc_bitmap_set(weak, cpu);
    hwloc_bitmap_or(all, strong, weak);
    assert_int_equal(hwloc_topology_restrict(h, all, 0), 0);
    assert_int_equal(hwloc_cpukinds_register(h, weak, 0, 0, NULL, 0), 0);
    assert_int_equal(hwloc_cpukinds_register(h, strong, 1, 0, NULL, 0), 0);
    hwloc_bitmap_free(all);
    hwloc_bitmap_free(strong);
    hwloc_bitmap_free(weak);
    struct cc__topology t = take(h);
    assert_int_equal(t.count, 12);
    assert_int_equal(t.cores, 8);
    assert_int_equal(t.kinds, 2);

    struct cc__placement *p = plan(&t, CC_PIN_TIERED, 12);
    sits_on(p, (const unsigned[]){0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7}, 12);
    assert_int_equal(p->tiers, 3); /* strong, weak, the strong ones' siblings */
    for (unsigned i = 0; i < 12; i++) assert_int_equal(p->seat[i].tier, i / 4);
    cc__placement_end(p);
    p = plan(&t, CC_PIN_AVOID_SMT, 8);
    sits_on(p, (const unsigned[]){0, 2, 4, 6, 8, 10, 12, 14}, 8);
    cc__placement_end(p);
    p = plan(&t, CC_PIN_LINEAR, 12);
    sits_on(p, (const unsigned[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}, 12);
    cc__placement_end(p);
    cc__topology_end(&t);
}

/* The first thread of a core is the first that is left; nodes and packages without cpus leave no gap. */
static void cpus_are_taken_away(void **state) {
    (void)state;
    hwloc_topology_t h = synthetic("pack:3 [numa] core:2 pu:2");
    hwloc_bitmap_t left = hwloc_bitmap_alloc();
    hwloc_bitmap_sscanf(left, "0xf0a"); /* 1 and 3 of the first package, none of the second, all of the third */
    assert_int_equal(hwloc_topology_restrict(h, left, 0), 0);
    hwloc_bitmap_free(left);
    struct cc__topology t = take(h);
    assert_int_equal(t.count, 6);
    assert_int_equal(t.cores, 4);
    assert_int_equal(t.nodes, 2);
    assert_int_equal(t.packages, 2);
    struct cc__placement *p = plan(&t, CC_PIN_TIERED, 6);
    sits_on(p, (const unsigned[]){1, 3, 8, 10, 9, 11}, 6);
    victims_are_right(p, &t);
    cc__placement_end(p);
    cc__topology_end(&t);
}

static void this_machine(void **state) {
    (void)state;
    struct cc__topology t;
    int rc = cc__topology_read(&t);
    if (rc == -ENOTSUP) skip();
    assert_int_equal(rc, 0);
    assert_true(t.count > 0 && t.cores > 0 && t.nodes > 0 && t.cores <= t.count);
    for (unsigned i = 0; i < t.count; i++) {
        assert_true(t.cpu[i].core < t.cores && t.cpu[i].node < t.nodes && t.cpu[i].kind < t.kinds);
        assert_true(t.cpu[i].package < t.packages);
    }
    cc__topology_end(&t);
}

#else

static void without_hwloc(void **state) {
    (void)state;
    struct cc__topology t;
    assert_int_equal(cc__topology_read(&t), -ENOTSUP);
    assert_null(t.cpu);
}

#endif

#if CCRT_HAVE_HWLOC
TEST_MAIN(cmocka_unit_test(each_strategy_has_its_order), cmocka_unit_test(fewer_and_more_workers_than_cpus),
          cmocka_unit_test(a_worker_is_seated), cmocka_unit_test(lesson_47_two_sockets_of_eight_cores_with_smt),
          cmocka_unit_test(nodes_of_the_same_socket_are_nearer), cmocka_unit_test(hybrid_cores),
          cmocka_unit_test(cpus_are_taken_away), cmocka_unit_test(this_machine))
#else
TEST_MAIN(cmocka_unit_test(each_strategy_has_its_order), cmocka_unit_test(fewer_and_more_workers_than_cpus),
          cmocka_unit_test(a_worker_is_seated), cmocka_unit_test(without_hwloc))
#endif
