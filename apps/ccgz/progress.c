/* SPDX-License-Identifier: MIT */
/* The bar: drawn by whoever is at work, at most ten times a second and not before half a second has gone by.
 *
 * Prev: list.c  Next: main.c */
#include "progress.h"

#include <ccrt.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 30 };
#define FIRST_NS INT64_C(500000000)
#define EVERY_NS INT64_C(100000000)

void gz_progress_begin(struct gz_progress *p, const char *name, uint64_t total) {
    *p = (struct gz_progress){.name = name, .total = total, .began_ns = cc_now_ns()};
    p->shown_ns = p->began_ns + FIRST_NS - EVERY_NS;
}

static void draw(const struct gz_progress *p, double seconds) {
    char bar[WIDTH + 1];
    double rate = (double)p->done / 1e6 / seconds;
    if (p->total == 0) {
        (void)fprintf(stderr, "\r%.40s: %.1f MB, %.0f MB/s\033[K", p->name, (double)p->done / 1e6, rate);
        return;
    }
    double part = p->done < p->total ? (double)p->done / (double)p->total : 1;
    int full = (int)(part * WIDTH);
    for (int i = 0; i < WIDTH; i++) bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = 0;
    (void)fprintf(stderr, "\r%.40s: [%s] %3.0f %%, %.0f MB/s, %.0f s left\033[K", p->name, bar, part * 100, rate,
                  part > 0 ? seconds * (1 - part) / part : 0);
}

void gz_progress_add(struct gz_progress *p, uint64_t bytes) {
    if (p == NULL) return;
    p->done += bytes;
    int64_t now = cc_now_ns();
    if (now - p->shown_ns < EVERY_NS) return;
    p->shown_ns = now;
    p->shown = true;
    draw(p, (double)(now - p->began_ns) / 1e9);
    (void)fflush(stderr);
}

void gz_progress_end(struct gz_progress *p) {
    if (p == NULL || !p->shown) return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
}
