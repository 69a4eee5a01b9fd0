/* SPDX-License-Identifier: MIT */
/* A table of paths, by hash, with the time when a file or directory was last seen there, so that who opens the same
 * files again and again need not look each time at what they are (fdio.c).
 *
 * A cache line has eight entries, and a path belongs to one line; what finds no room takes an older one's. An entry is
 * one word, 40 bits of the hash and 24 of the time in quarters of a second: any thread reads and writes it without a
 * lock, and who is too late loses a note. Two paths that are taken for each other, one in 10^11, do what a path does
 * that was replaced meanwhile: see there. After 52 days an old entry would be new again for a second.
 *
 * Prev: plat/sock.c  Next: plat/fdio.c */
#include "seen.h"

#include "../base/atomic.h"

enum { LINES = 512, WAYS = CC__CACHE_LINE / 8, STAMP_BITS = 24, STAMP_SHIFT = 28, FRESH = 4 };

static const uint64_t STAMP_MASK = (UINT64_C(1) << STAMP_BITS) - 1;

static _Alignas(CC__CACHE_LINE) _Atomic uint64_t seen[LINES][WAYS]; /* W, R: any thread */

uint64_t cc__seen_key(const char *path) {
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *path != 0; path++) h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return h ^ h >> 32; /* the low bits, which choose the line, know the least of it */
}

static uint64_t stamp_of(int64_t now_ns) {
    return ((uint64_t)now_ns >> STAMP_SHIFT) & STAMP_MASK;
}
static uint64_t tag_of(uint64_t key) {
    return key >> STAMP_BITS | 1; /* never 0, as in entries that nobody wrote */
}
static bool is_fresh(uint64_t entry, int64_t now_ns) {
    return ((stamp_of(now_ns) - entry) & STAMP_MASK) < FRESH;
}

bool cc__seen(uint64_t key, int64_t now_ns) {
    _Atomic uint64_t *line = seen[key % LINES];
    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = cc__load_relaxed(&line[i]);
        if (entry >> STAMP_BITS == tag_of(key)) return is_fresh(entry, now_ns);
    }
    return false;
}

void cc__seen_note(uint64_t key, int64_t now_ns) {
    _Atomic uint64_t *line = seen[key % LINES];
    int at = (int)(key / LINES % WAYS);
    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = cc__load_relaxed(&line[i]);
        bool same = entry >> STAMP_BITS == tag_of(key);
        if (same || !is_fresh(entry, now_ns)) at = i;
        if (same) break;
    }
    cc__store_relaxed(&line[at], tag_of(key) << STAMP_BITS | stamp_of(now_ns));
}
