/* SPDX-License-Identifier: MIT */
/* Goal: shared bitsets (src/base/bits.c): each bit that is set is claimed by exactly one thread, and who
 * claims it sees what the setter wrote before: [BT1].
 * Method: setters that write a plain payload and set a bit, claimers that search, clear and use the
 * payload, which is a data race if [BT1] does not hold. Bits of one word and of two; a bit that is set
 * again; a slot that goes round between two sets. Twins that act on a bit they only looked at must fail.
 * Sources: src/base/bits.c src/base/assert.c src/base/text.c
 * Mutate: src/base/bits.c
 * Survives: cc__bits_set: or_acq_rel -> release: who sets a bit acts on nothing that the bit tells
 * Survives: cc__bits_clear: and_acq_rel -> acquire: who clears a bit tells nothing by it
 */
#include "base/bits.h"

#include "ccmc.h"

enum { BITS = 70, FIRST = 3, SECOND = 5, OTHER_WORD = 66 };

static _Atomic uint64_t words[2], other_words[2];
static struct cc__bits bits, free_slots;
static int payload[BITS], used[BITS];

static void setup(void) {
    cc__bits_init(&bits, words, BITS);
    cc__bits_init(&free_slots, other_words, BITS);
}

/* ---- setters ---- */

static void set(size_t i) {
    payload[i] = 40 + (int)i;
    mc_assert(!cc__bits_set(&bits, i));
}
static void set_first(void) {
    set(FIRST);
}
static void set_second(void) {
    set(SECOND);
}
static void set_other_word(void) {
    set(OTHER_WORD);
}

/* Two that set the same bit: one of them finds it set, unless it was claimed in between. */
static bool was_set[2];
static int claims;

static void set_same_first(void) {
    was_set[0] = cc__bits_set(&bits, FIRST);
}
static void set_same_second(void) {
    was_set[1] = cc__bits_set(&bits, FIRST);
}

/* ---- claimers ---- */

static void use(size_t i) {
    mc_assert(payload[i] == 40 + (int)i);
    mc_assert(used[i] == 0);
    used[i]++;
}

/* One search: whatever is found and claimed is used. */
static void claim_from(size_t from) {
    size_t i = cc__bits_find(&bits, from);
    if (i != CC__BITS_NONE && cc__bits_clear(&bits, i)) use(i);
}
static void claim_once(void) {
    claim_from(0);
}
static void claim_twice(void) {
    claim_from(0);
    claim_from(SECOND);
}
static void claim_from_the_end(void) {
    claim_from(BITS - 1);
}

static void claim_same(void) {
    claims += cc__bits_clear(&bits, FIRST);
}
static void claimed_as_often_as_set(void) {
    claims += cc__bits_clear(&bits, FIRST);
    mc_assert(claims == 2 - was_set[0] - was_set[1]);
}

/* Whether the count is one that the set had at some time. */
static void look(void) {
    size_t n = cc__bits_count(&bits);
    mc_assert(n <= 2);
    if (cc__bits_test(&bits, FIRST)) mc_assert(cc__bits_find(&bits, 0) != CC__BITS_NONE || n <= 2);
}

static void rest_is_there(void) {
    for (size_t i = cc__bits_find(&bits, 0); i != CC__BITS_NONE; i = cc__bits_find(&bits, 0)) {
        mc_assert(cc__bits_clear(&bits, i));
        use(i);
    }
    mc_assert(cc__bits_count(&bits) == 0);
    for (size_t i = 0; i < BITS; i++) mc_assert(used[i] == (payload[i] != 0));
}

/* ---- a slot goes round: full bits one way, free bits the other ---- */

static int slot, sum;

static void setup_slot(void) {
    setup();
    cc__bits_set(&free_slots, FIRST);
}
static void producer(void) {
    for (int n = 1; n <= 2; n++) {
        while (!cc__bits_clear(&free_slots, FIRST)) mc_yield();
        slot = n;
        cc__bits_set(&bits, FIRST);
    }
}
static void consumer(void) {
    for (int n = 1; n <= 2; n++) {
        while (!cc__bits_clear(&bits, FIRST)) mc_yield();
        mc_assert(slot == n);
        sum += slot;
        cc__bits_set(&free_slots, FIRST);
    }
}
static void slot_went_round(void) {
    mc_assert(sum == 3);
}

/* ---- twins ---- */

static void act_on_a_found_bit(void) {
    size_t i = cc__bits_find(&bits, 0);
    if (i != CC__BITS_NONE) use(i);
}
static void act_on_a_tested_bit(void) {
    if (cc__bits_test(&bits, FIRST)) use(FIRST);
}
static void clear_and_do_not_ask(void) {
    cc__bits_clear(&bits, FIRST);
    use(FIRST);
}

const struct mc_scenario mc_scenarios[] = {
    {"a setter, a claimer", setup, {set_first, claim_once}, rest_is_there},
    {"a setter, two claimers", setup, {set_first, claim_once, claim_once}, rest_is_there},
    {"two setters, two claimers", setup, {set_first, set_second, claim_once, claim_once}, rest_is_there},
    {"two setters, two claimers of two", setup, {set_first, set_second, claim_twice, claim_twice}, rest_is_there},
    {"two words, two claimers", setup, {set_first, set_other_word, claim_once, claim_from_the_end}, rest_is_there},
    {"setters, a claimer and one who looks", setup, {set_first, set_second, claim_once, look}, rest_is_there},
    {"two set the same bit", setup, {set_same_first, set_same_second, claim_same}, claimed_as_often_as_set},
    {"a slot goes round", setup_slot, {producer, consumer}, slot_went_round},

    {"acts on a bit that was found", setup, {set_first, act_on_a_found_bit, claim_once}, NULL, MC_RACE},
    {"acts on a bit that was tested", setup, {set_first, act_on_a_tested_bit}, NULL, MC_RACE},
    {"clears a bit and does not ask", setup, {set_first, clear_and_do_not_ask}, NULL, MC_RACE | MC_ASSERT},
    {0},
};
