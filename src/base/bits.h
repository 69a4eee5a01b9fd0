/* SPDX-License-Identifier: MIT */
/* A set of small numbers of any size, shared between threads: set, clear, claim, search.
 *
 * Each bit is a message of its own: the one who sets it publishes what it wrote before, and the one
 * who clears it (and finds it was set) may act on that. Searching only reads, so a found bit must be
 * claimed by cc__bits_clear() before it is acted on.
 *
 * Prev: base/rng.h */
#ifndef CC__BASE_BITS_H
#define CC__BASE_BITS_H

#include "assert.h"
#include "atomic.h"

#define CC__BITS_NONE SIZE_MAX

struct cc__bits {
    _Atomic size_t count;   /* bits are 0 .. count-1.  W: who grows it.  R: any thread */
    _Atomic uint64_t *word; /* W, R: any thread.  [BT1] */
};

/* How many words of memory a set of count bits takes. */
static inline size_t cc__bits_words(size_t count) {
    return (count + 63) / 64;
}

/* An empty set over the caller's memory, cc__bits_words(count) words. */
void cc__bits_init(struct cc__bits *b, _Atomic uint64_t *words, size_t count);

/* More bits from now on, for which there is cleared memory; before any of them is set. */
void cc__bits_grow(struct cc__bits *b, size_t count);

/* Set or clear one bit; returns whether it was set before. */
bool cc__bits_set(struct cc__bits *b, size_t i);
bool cc__bits_clear(struct cc__bits *b, size_t i);
bool cc__bits_test(const struct cc__bits *b, size_t i);

/* The first set bit at or after `from`, going round past the end; CC__BITS_NONE if there is none. */
size_t cc__bits_find(const struct cc__bits *b, size_t from);

/* How many are set; a snapshot. */
size_t cc__bits_count(const struct cc__bits *b);

#endif /* CC__BASE_BITS_H */
