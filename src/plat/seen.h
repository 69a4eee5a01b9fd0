/* SPDX-License-Identifier: MIT */
/* Paths that a file or a directory was seen at, not long ago. */
#ifndef CC__PLAT_SEEN_H
#define CC__PLAT_SEEN_H

#include <stdbool.h>
#include <stdint.h>

/* What a path is known by. */
uint64_t cc__seen_key(const char *path);

/* Whether it was noted within about the last second; what is noted may be forgotten earlier. */
bool cc__seen(uint64_t key, int64_t now_ns);
void cc__seen_note(uint64_t key, int64_t now_ns);

#endif /* CC__PLAT_SEEN_H */
