/* SPDX-License-Identifier: MIT */
/* A table of paths, by hash, with the time when a file or directory was last seen there, so that who opens the same
 * files again and again need not look each time at what they are (fdio.c).
 *
 * A cache line has eight entries, and a path belongs to one line; what finds no room takes an older one's. An entry is
 * one word, 40 bits of the hash and 24 of the time in quarters of a second: any thread reads and writes it without a
 * lock, and who is too late loses a note. Two paths that are taken for each other, one in 10^11, do what a path does
 * that was replaced meanwhile: see there. After 52 days an old entry would be new again for a second.
 *
 * Who reads files has little else in the caches, so much of what a look costs is to wait for its line.
 *
 * Prev: plat/sock.c  Next: plat/fdio.c */
#include "seen.h"

#include "../base/atomic.h"

#include <string.h>

enum { LINES = 512, WAYS = CC__CACHE_LINE / 8, STAMP_BITS = 24, STAMP_SHIFT = 28, FRESH = 4 };

static const uint64_t STAMP_MASK = (UINT64_C(1) << STAMP_BITS) - 1;

static _Alignas(CC__CACHE_LINE) _Atomic uint64_t seen[LINES][WAYS]; /* W, R: any thread */

static _Atomic uint64_t *line_of(uint64_t key) {
    return seen[key % LINES];
}

/* ---- what a path is known by ---- */

static uint64_t load(const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}
static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 35;
}

/* By words of eight bytes, of which the last overlaps the one before it. */
static uint64_t hash_of(const char *text, size_t n) {
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15), last = 0;
    for (size_t at = 0; at + sizeof last < n; at += sizeof last) h = mix(h, load(text + at));
    if (n >= sizeof last)
        last = load(text + n - sizeof last);
    else
        for (size_t i = 0; i < n; i++) last = last << 8 | (unsigned char)text[i];
    return mix(mix(h, last), n); /* the second spreads what the first has at the top */
}

/* The low bits are which line, the high ones are the tag. */
uint64_t cc__seen_key(const char *path) {
    uint64_t key = hash_of(path, strlen(path));
    cc__prefetch((uintptr_t)line_of(key)); /* it is waited for the less */
    return key;
}

/* ---- entries ---- */

static uint64_t stamp_of(int64_t now_ns) {
    return (uint64_t)now_ns >> STAMP_SHIFT & STAMP_MASK;
}
static uint64_t tag_of(uint64_t key) {
    return key >> STAMP_BITS | 1; /* never 0, as in entries that nobody wrote */
}
static bool is_fresh(uint64_t entry, uint64_t stamp) {
    return ((stamp - entry) & STAMP_MASK) < FRESH;
}

/* Through all of them, since where it is found nobody can predict. */
bool cc__seen(uint64_t key, int64_t now_ns) {
    _Atomic uint64_t *line = line_of(key);
    uint64_t tag = tag_of(key), stamp = stamp_of(now_ns);
    bool found = false;
    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = cc__load_relaxed(&line[i]);
        found |= (entry >> STAMP_BITS == tag) & is_fresh(entry, stamp);
    }
    return found;
}

void cc__seen_note(uint64_t key, int64_t now_ns) {
    _Atomic uint64_t *line = line_of(key);
    uint64_t tag = tag_of(key), stamp = stamp_of(now_ns);
    int at = (int)(key / LINES % WAYS);
    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = cc__load_relaxed(&line[i]);
        bool same = entry >> STAMP_BITS == tag;
        if (same || entry == 0 || !is_fresh(entry, stamp)) at = i;
        if (same) break;
    }
    cc__store_relaxed(&line[at], tag << STAMP_BITS | stamp);
}
