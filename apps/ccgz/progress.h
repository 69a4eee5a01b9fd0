/* SPDX-License-Identifier: MIT */
/* A bar on the terminal, for what takes long. */
#ifndef CCGZ_PROGRESS_H
#define CCGZ_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct gz_progress {
    const char *name;
    uint64_t total, done; /* bytes; a total of 0: not known */
    int64_t began_ns, shown_ns;
    bool shown;
};

void gz_progress_begin(struct gz_progress *p, const char *name, uint64_t total);
/* So many bytes more. By one task at a time; NULL does nothing. */
void gz_progress_add(struct gz_progress *p, uint64_t bytes);
void gz_progress_end(struct gz_progress *p);

#endif /* CCGZ_PROGRESS_H */
