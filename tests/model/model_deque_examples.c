/* SPDX-License-Identifier: MIT */
/* Goal: a worked example: the Chase-Lev deque hands every item to exactly one taker, and needs each of its
 * fences.
 * Method: the C11 form of Le, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak
 * memory models", PPoPP 2013) with a fixed ring. The owner pushes and takes; thieves steal. An item has a
 * payload written before it is pushed, and a plain count of how often it was taken: taken twice is an
 * assertion and a data race. Twins without one of the fences must fail. One thief with one steal cannot see
 * that the fence in take is missing: that needs two steals.
 */
#include "base/atomic.h"

#include "ccmc.h"

enum { RING = 4, ITEMS = 3 };

static enum twin { SOUND, NO_TAKE_FENCE, NO_STEAL_FENCE, NO_PUSH_RELEASE, NO_TAKE_CAS } twin;

struct item {
    int payload, taken;
};

static struct deque {
    _Atomic size_t top;    /* W: thieves, and the owner for the last item.  R: all */
    _Atomic size_t bottom; /* W: owner.  R: thieves */
    _Atomic(struct item *) slot[RING];
} deque;

static struct item items[ITEMS];
static int pushed;

/* ---- the deque ---- */

static void deque_push(struct item *item) {
    size_t b = cc__load_relaxed(&deque.bottom);
    cc__store_relaxed(&deque.slot[b % RING], item);
    if (twin != NO_PUSH_RELEASE) cc__fence_release();
    cc__store_relaxed(&deque.bottom, b + 1);
}

/* The last item is whose compare-and-swap of top succeeds. */
static bool deque_win(size_t top) {
    return atomic_compare_exchange_strong_explicit(&deque.top, &top, top + 1, memory_order_seq_cst,
                                                   memory_order_relaxed);
}

static struct item *deque_take(void) {
    size_t b = cc__load_relaxed(&deque.bottom) - 1;
    cc__store_relaxed(&deque.bottom, b);
    /* Without it: the owner's store of bottom is still on its way, it sees an old top and takes what a thief,
     * who sees the old bottom, takes too. */
    if (twin != NO_TAKE_FENCE) cc__fence_full();
    size_t t = cc__load_relaxed(&deque.top);
    struct item *item = NULL;
    if (t < b) return cc__load_relaxed(&deque.slot[b % RING]);
    if (t == b) {
        item = cc__load_relaxed(&deque.slot[b % RING]);
        if (twin != NO_TAKE_CAS && !deque_win(t)) item = NULL;
    }
    cc__store_relaxed(&deque.bottom, b + 1);
    return item;
}

static struct item *deque_steal(void) {
    size_t t = cc__load_acquire(&deque.top);
    if (twin != NO_STEAL_FENCE) cc__fence_full();
    size_t b = cc__load_acquire(&deque.bottom);
    if (t >= b) return NULL;
    struct item *item = cc__load_relaxed(&deque.slot[t % RING]);
    return deque_win(t) ? item : NULL;
}

/* ---- owner and thieves ---- */

static void push(int i) {
    items[i].payload = 7 + i;
    pushed++;
    deque_push(&items[i]);
}

static void use(struct item *item) {
    if (item == NULL) return;
    mc_assert(item->payload == 7 + (int)(item - items));
    mc_assert(item->taken == 0);
    item->taken++;
}

static void owner_of_two(void) {
    push(0);
    push(1);
    use(deque_take());
    use(deque_take());
}

static void owner_of_three(void) {
    push(0);
    push(1);
    use(deque_take());
    push(2);
    use(deque_take());
    use(deque_take());
}

static void thief(void) {
    use(deque_steal());
}

static void thief_twice(void) {
    use(deque_steal());
    use(deque_steal());
}

/* ---- scenarios ---- */

static void begin(enum twin broken) {
    twin = broken;
    cc__store_relaxed(&deque.top, 1);
    cc__store_relaxed(&deque.bottom, 1);
}
static void sound(void) {
    begin(SOUND);
}
static void no_take_fence(void) {
    begin(NO_TAKE_FENCE);
}
static void no_steal_fence(void) {
    begin(NO_STEAL_FENCE);
}
static void no_push_release(void) {
    begin(NO_PUSH_RELEASE);
}
static void no_take_cas(void) {
    begin(NO_TAKE_CAS);
}

static void each_taken_once(void) {
    for (struct item *item = deque_take(); item != NULL; item = deque_take()) use(item);
    for (int i = 0; i < pushed; i++) mc_assert(items[i].taken == 1);
}

const struct mc_scenario mc_scenarios[] = {
    {"2 items, a thief", sound, {owner_of_two, thief}, each_taken_once},
    {"2 items, a thief with 2 steals", sound, {owner_of_two, thief_twice}, each_taken_once},
    {"2 items, 2 thieves", sound, {owner_of_two, thief, thief}, each_taken_once},
    {"3 items, a thief with 2 steals", sound, {owner_of_three, thief_twice}, each_taken_once},
    {"3 items, 2 thieves", sound, {owner_of_three, thief, thief}, each_taken_once},
    {"2 items, 2 thieves with 2 steals",
     sound,
     {owner_of_two, thief_twice, thief_twice},
     each_taken_once,
     .full = true},
    {"3 items, 2 thieves with 2 steals",
     sound,
     {owner_of_three, thief_twice, thief_twice},
     each_taken_once,
     .full = true},

    {"no fence in take", no_take_fence, {owner_of_two, thief_twice}, each_taken_once, MC_RACE | MC_ASSERT},
    {"no fence in steal", no_steal_fence, {owner_of_two, thief_twice}, each_taken_once, MC_RACE | MC_ASSERT},
    {"no release in push", no_push_release, {owner_of_two, thief}, each_taken_once, MC_RACE | MC_ASSERT},
    {"last item taken without compare-and-swap",
     no_take_cas,
     {owner_of_two, thief},
     each_taken_once,
     MC_RACE | MC_ASSERT},
    {"no fence in take, one steal: cannot be seen", no_take_fence, {owner_of_two, thief}, each_taken_once},
    {0},
};
