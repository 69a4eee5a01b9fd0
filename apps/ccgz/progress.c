/* SPDX-License-Identifier: MIT */
/* The bar: drawn by whoever is at work, at most ten times a second and not before half a second has gone by. It is one
 * line of the terminal, and its last column stays free: what goes on in the next line is not erased when it is drawn
 * anew. So of the name there is as much as fits, and in a narrow one there is no bar.
 *
 * Prev: list.c  Next: main.c */
#include "progress.h"

#include <ccrt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH = 20, NAME_LEAST = 8, COLUMNS = 80 };
#define FIRST_NS INT64_C(500000000)
#define EVERY_NS INT64_C(100000000)

void gz_progress_begin(struct gz_progress *p, const char *name, uint64_t total) {
    *p = (struct gz_progress){.name = name, .total = total, .began_ns = cc_now_ns()};
    p->shown_ns = p->began_ns + FIRST_NS - EVERY_NS;
}

/* How many columns there are to draw in. */
static int columns(void) {
    struct winsize size;
    int n = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS;
    return n - 1;
}

/* How many bytes of a name are so many characters of UTF-8, or fewer; *room is what is left then. */
static int fit(const char *name, int *room) {
    int n = 0;
    for (; name[n] != 0; n++) {
        const bool begins = ((unsigned char)name[n] & 0xc0) != 0x80;
        if (begins && *room <= 0) break;
        if (begins) --*room;
    }
    return n;
}

/* What stands behind the name, with a bar or without. */
static int describe(const struct gz_progress *p, double seconds, bool with_bar, char *to, size_t bytes) {
    char bar[WIDTH + 4] = "";
    double rate = (double)p->done / 1e6 / seconds;
    if (p->total == 0) return snprintf(to, bytes, ": %.1f MB, %.0f MB/s", (double)p->done / 1e6, rate);
    double part = p->done < p->total ? (double)p->done / (double)p->total : 1;
    int full = (int)(part * WIDTH);
    if (with_bar) {
        memset(bar, '.', sizeof bar - 1);
        memset(bar, '#', (size_t)full + 1);
        bar[0] = '[';
        bar[WIDTH + 1] = ']';
        bar[WIDTH + 2] = ' ';
        bar[WIDTH + 3] = 0;
    }
    return snprintf(to, bytes, ": %s%3.0f %%, %.0f MB/s, %.0f s left", bar, part * 100, rate,
                    part > 0 ? seconds * (1 - part) / part : 0);
}

static void draw(const struct gz_progress *p, double seconds) {
    char rest[128];
    const int most = columns();
    int used = describe(p, seconds, true, rest, sizeof rest);
    if (most - used < NAME_LEAST) used = describe(p, seconds, false, rest, sizeof rest);
    int room = most > used ? most - used : 0;
    int name = fit(p->name, &room);
    (void)fprintf(stderr, "\r%.*s%.*s\033[K", name, p->name, most, rest);
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
