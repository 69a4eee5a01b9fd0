/* SPDX-License-Identifier: MIT */
/* A merge sort by forks: halves are sorted by whoever takes them, and merged; a merge is split, too.
 *
 * To split a merge, the longer run is cut in the middle, the other where the element there belongs: what is below goes
 * before what is above, so the two parts are merged apart. Equal elements stay in order: those of the first run go
 * first, which the cut respects.
 *
 * Prev: job/loop.c  Next: future/future.c */
#define CC_PRIV_FORK_CALLS 1 /* where ThreadSanitizer is told of it (trace/edges.h); a fork here is large */
#include <ccrt/async.h>
#include <ccrt/parallel.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SORT_ALONE = 4096, MERGE_ALONE = 8192, INSERTION = 16 };

typedef int (*compare)(const void *a, const void *b);

struct kind {
    size_t size;
    compare cmp;
};

/* How many of a sorted run go before x; those that equal it do if `equal`. */
static size_t below(const struct kind *k, const char *run, size_t n, const char *x, bool equal) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = k->cmp(run + mid * k->size, x);
        if (c < 0 || (equal && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void merge_alone(const struct kind *k, const char *a, size_t an, const char *b, size_t bn, char *to) {
    size_t size = k->size;
    while (an > 0 && bn > 0) {
        bool first = k->cmp(a, b) <= 0;
        memcpy(to, first ? a : b, size);
        to += size;
        a += first ? size : 0;
        b += first ? 0 : size;
        an -= first;
        bn -= !first;
    }
    if (an > 0) memcpy(to, a, an * size);
    if (bn > 0 && to != b) memcpy(to, b, bn * size); /* it may be in place */
}

typedef const struct kind *kind_ptr;
typedef const char *run_ptr;

CC_TASK(merge, (kind_ptr, k), (run_ptr, a), (size_t, an), (run_ptr, b), (size_t, bn), (char *, to)) {
    if (an + bn <= MERGE_ALONE) {
        merge_alone(k, a, an, b, bn, to);
        return 0;
    }
    size_t ac, bc;
    if (an >= bn) {
        ac = an / 2;
        bc = below(k, b, bn, a + ac * k->size, false);
    } else {
        bc = bn / 2;
        ac = below(k, a, an, b + bc * k->size, true);
    }
    CC_FORKED(merge, upper);
    cc_fork(upper, merge, k, a + ac * k->size, an - ac, b + bc * k->size, bn - bc, to + (ac + bc) * k->size);
    (void)merge(k, a, ac, b, bc, to);
    return cc_join(upper, merge);
}

/* Sort in place, with as much room beside it. */
static void sort_alone(const struct kind *k, char *at, char *room, size_t n) {
    size_t size = k->size;
    if (n > INSERTION) {
        size_t half = n / 2;
        sort_alone(k, at, room, half);
        sort_alone(k, at + half * size, room + half * size, n - half);
        if (k->cmp(at + (half - 1) * size, at + half * size) <= 0) return;
        memcpy(room, at, half * size);
        merge_alone(k, room, half, at + half * size, n - half, at); /* what is written was read before */
        return;
    }
    for (size_t i = 1; i < n; i++) {
        size_t to = below(k, at, i, at + i * size, true);
        if (to == i) continue;
        memcpy(room, at + i * size, size);
        memmove(at + (to + 1) * size, at + to * size, (i - to) * size);
        memcpy(at + to * size, room, size);
    }
}

/* Sort `at`; the result is there, or in `room` if `over`. */
CC_TASK(sort, (kind_ptr, k), (char *, at), (char *, room), (size_t, n), (int, over)) {
    size_t size = k->size;
    if (n <= SORT_ALONE) {
        sort_alone(k, at, room, n);
        if (over) memcpy(room, at, n * size);
        return 0;
    }
    size_t half = n / 2;
    CC_FORKED(sort, upper);
    cc_fork(upper, sort, k, at + half * size, room + half * size, n - half, !over);
    (void)sort(k, at, room, half, !over);
    (void)cc_join(upper, sort);
    char *from = over ? at : room, *to = over ? room : at;
    return merge(k, from, half, from + half * size, n - half, to);
}

/* Room for n elements, aligned as any type of that size can be, up to a page: it is compared where it is. */
static char *room_new(size_t n, size_t size) {
    enum { PAGE = 4096 };
    size_t align = size & (~size + 1);
    if (n > SIZE_MAX / size) return NULL;
    if (align <= _Alignof(max_align_t)) return malloc(n * size);
    return aligned_alloc(align < PAGE ? align : PAGE, n * size);
}

int cc_parallel_sort(void *base, size_t n, size_t size, compare cmp) {
    if (cmp == NULL || size == 0 || (base == NULL && n > 0)) return -EINVAL;
    if (n < 2) return 0;
    char *room = room_new(n, size);
    if (room == NULL) return -ENOMEM;
    struct kind k = {size, cmp};
    (void)sort(&k, base, room, n, 0);
    free(room);
    return 0;
}
