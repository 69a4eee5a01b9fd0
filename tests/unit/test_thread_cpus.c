/* SPDX-License-Identifier: MIT */
/* Goal: threads are bound to a cpu, and go to another one, of those they may use and no others; after that they may use
 * what they might before, also what their group is given later.
 * Method: real threads that look at themselves; a machine of eight cpus, and what the kernel remembers of those that a
 * thread may use, by wrapped functions.
 * Link: -Wl,--wrap=pthread_setaffinity_np,--wrap=pthread_getaffinity_np,--wrap=sched_getcpu
 */
#include "test.h"

#include "plat/thread.h"

#include <limits.h>
#include <sched.h>

int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void);
int __real_pthread_getaffinity_np(pthread_t t, size_t size, cpu_set_t *set);
int __wrap_pthread_getaffinity_np(pthread_t t, size_t size, cpu_set_t *set);
int __real_pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t *set);
int __wrap_pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t *set);

struct pinned {
    int cpu, rc, cpus_after, ran_on;
};

static void *pin_and_look(void *arg) {
    struct pinned *p = arg;
    cpu_set_t set;
    p->rc = cc__thread_pin(p->cpu);
    p->ran_on = sched_getcpu();
    CPU_ZERO(&set);
    p->cpus_after = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
    return NULL;
}

/* In a thread, so that the test itself stays free. */
static struct pinned pin_in_thread(int cpu) {
    struct pinned p = {.cpu = cpu};
    cc__thread t;
    assert_int_equal(cc__thread_start(&t, pin_and_look, &p), 0);
    cc__thread_join(&t);
    return p;
}

static void pins_to_a_cpu_of_ours(void **state) {
    (void)state;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) skip(); /* more cpus than fit */
    int tried = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && tried < 4; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &set)) continue;
        struct pinned p = pin_in_thread(cpu);
        assert_int_equal(p.rc, 0);
        assert_int_equal(p.ran_on, cpu);
        assert_int_equal(p.cpus_after, 1);
        tried++;
    }
    assert_true(tried > 0);
}

static void other_cpus_are_refused(void **state) {
    (void)state;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) skip();
    int before = CPU_COUNT(&set);
    const int none[] = {-1, INT_MIN, CPU_SETSIZE, INT_MAX};
    for (size_t i = 0; i < TEST_COUNT_OF(none); i++) {
        struct pinned p = pin_in_thread(none[i]);
        assert_int_equal(p.rc, -EINVAL);
        assert_int_equal(p.cpus_after, before);
    }
    if (CPU_ISSET(CPU_SETSIZE - 1, &set)) skip(); /* this machine has it */
    assert_int_equal(pin_in_thread(CPU_SETSIZE - 1).rc, -EINVAL);
}

/* A thread on a machine of eight cpus, of which its group may use some. */
static struct {
    bool on, refuses;
    unsigned group, told, first; /* sets; the last one: what it was told first */
    int cpu, calls;
} toy;

static unsigned toy_set(const cpu_set_t *set) {
    unsigned bits = 0;
    for (size_t i = 0; i < 8; i++) bits |= (unsigned)(CPU_ISSET(i, set) != 0) << i;
    return bits;
}
int __wrap_sched_getcpu(void) {
    return toy.on ? toy.cpu : __real_sched_getcpu();
}
int __wrap_pthread_getaffinity_np(pthread_t t, size_t size, cpu_set_t *set) {
    if (!toy.on) return __real_pthread_getaffinity_np(t, size, set);
    CPU_ZERO_S(size, set);
    for (size_t i = 0; i < 8; i++)
        if ((toy.group & toy.told) >> i & 1) CPU_SET_S(i, size, set);
    return 0;
}
int __wrap_pthread_setaffinity_np(pthread_t t, size_t size, const cpu_set_t *set) {
    if (!toy.on) return __real_pthread_setaffinity_np(t, size, set);
    if (toy.refuses) return EPERM;
    if ((toy_set(set) & toy.group) == 0) return EINVAL;
    toy.told = toy_set(set);
    if (toy.calls++ == 0) toy.first = toy.told;
    return 0;
}
/* Whether it goes to another one, and what it was told then, and is told at the end. */
static void toy_moves(unsigned group, unsigned told, bool moves, unsigned first, unsigned last) {
    toy.group = group;
    toy.told = told;
    toy.cpu = 1;
    toy.calls = 0;
    toy.on = true;
    bool moved = cc__thread_move();
    toy.on = false;
    assert_int_equal(moved, moves);
    assert_int_equal(toy.told, last);
    if (moves) assert_int_equal(toy.first, first);
}
static void moving_leaves_what_it_may_use(void **state) {
    (void)state;
    toy_moves(0xff, 0xff, true, 0xfd, 0xff);
    toy_moves(0x0f, 0xff, true, 0x0d, 0xff); /* so it may use what its group is given later */
    toy_moves(0x0f, 0x03, true, 0x01, 0x03); /* but not what it was told not to */
    toy_moves(0xff, 0x02, false, 0, 0x02);
    toy_moves(0x02, 0xff, false, 0, 0xff);
    toy.refuses = true;
    toy_moves(0xff, 0xff, false, 0, 0xff);
    toy.refuses = false;
}

/* Whether the system has put it elsewhere, at some time. */
static void *moves_off(void *arg) {
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int k = 0; k < 100 && !*(bool *)arg; k++) {
        int cpu = sched_getcpu();
        *(bool *)arg = cc__thread_move() && sched_getcpu() != cpu;
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
    }
    return NULL;
}
static void moves_to_another_cpu(void **state) {
    (void)state;
    cpu_set_t set;
    bool moved = false;
    cc__thread t;
    if (sched_getaffinity(0, sizeof set, &set) != 0) skip();
    assert_int_equal(cc__thread_start(&t, moves_off, &moved), 0);
    cc__thread_join(&t);
    assert_int_equal(moved, CPU_COUNT(&set) > 1);
}

TEST_MAIN(cmocka_unit_test(pins_to_a_cpu_of_ours), cmocka_unit_test(other_cpus_are_refused),
          cmocka_unit_test(moving_leaves_what_it_may_use), cmocka_unit_test(moves_to_another_cpu))
