/* SPDX-License-Identifier: MIT */
/* Shared bitsets of any size: an array of 64-bit words, one read-modify-write a change.
 *
 * Prev: base/rng.h */
#include "bits.h"

void cc__bits_init(struct cc__bits *b, _Atomic uint64_t *words, size_t count) {
    cc__store_relaxed(&b->count, count);
    b->word = words;
    for (size_t w = 0; w < cc__bits_words(count); w++) cc__store_relaxed(&words[w], 0);
}

void cc__bits_grow(struct cc__bits *b, size_t count) {
    cc__store_relaxed(&b->count, count);
}

static size_t count_of(const struct cc__bits *b) {
    return cc__load_relaxed(&b->count);
}

static uint64_t bit(size_t i) {
    return (uint64_t)1 << (i % 64);
}

bool cc__bits_set(struct cc__bits *b, size_t i) {
    CC_ASSERT(i < count_of(b));
    /* [BT1] release: what the setter wrote before is seen by the thread whose clear finds the bit. */
    return (cc__or_acq_rel(&b->word[i / 64], bit(i)) & bit(i)) != 0;
}

bool cc__bits_clear(struct cc__bits *b, size_t i) {
    CC_ASSERT(i < count_of(b));
    /* [BT1] acquire: pairs with the release in cc__bits_set(); a true result licenses to act on it. */
    return (cc__and_acq_rel(&b->word[i / 64], ~bit(i)) & bit(i)) != 0;
}

bool cc__bits_test(const struct cc__bits *b, size_t i) {
    CC_ASSERT(i < count_of(b));
    return (cc__load_relaxed(&b->word[i / 64]) & bit(i)) != 0;
}

size_t cc__bits_find(const struct cc__bits *b, size_t from) {
    size_t words = cc__bits_words(count_of(b));
    if (words == 0) return CC__BITS_NONE;
    CC_ASSERT(from < count_of(b));
    size_t w = from / 64;
    uint64_t mask = ~(uint64_t)0 << (from % 64);
    /* One word more than there are: the first one is looked at twice, its upper part, then all of it. */
    for (size_t n = 0; n <= words; n++) {
        uint64_t set = cc__load_relaxed(&b->word[w]) & mask;
        if (set != 0) return w * 64 + (size_t)__builtin_ctzll(set);
        mask = ~(uint64_t)0;
        w = w + 1 == words ? 0 : w + 1;
    }
    return CC__BITS_NONE;
}

size_t cc__bits_count(const struct cc__bits *b) {
    size_t n = 0;
    for (size_t w = 0; w < cc__bits_words(count_of(b)); w++)
        n += (size_t)__builtin_popcountll(cc__load_relaxed(&b->word[w]));
    return n;
}
