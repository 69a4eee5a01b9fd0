/* SPDX-License-Identifier: MIT */
/* Quicksort by fork and join, and the library's own sort of records, which keeps equal ones in order. */
#include <ccrt.h>
#include <stdio.h>

enum { COUNT = 1000000, SMALL = 32 };

static void swap(int *a, int *b) {
    int x = *a;
    *a = *b;
    *b = x;
}

static void insertion_sort(int *a, size_t n) {
    for (size_t i = 1; i < n; i++)
        for (size_t at = i; at > 0 && a[at - 1] > a[at]; at--) swap(&a[at - 1], &a[at]);
}

/* How many come first: none of them is above one of the others. */
static size_t split(int *a, size_t n) {
    int pivot = a[(n - 1) / 2];
    size_t lo = 0, hi = n - 1;
    for (;;) {
        while (a[lo] < pivot) lo++;
        while (a[hi] > pivot) hi--;
        if (lo >= hi) return hi + 1;
        swap(&a[lo++], &a[hi--]);
    }
}

CC_TASK(quicksort, (int *, a), (size_t, n)) {
    if (n <= SMALL) {
        insertion_sort(a, n);
        return 0;
    }
    size_t below = split(a, n);
    CC_FORKED(quicksort, lower);
    cc_fork(lower, quicksort, a, below); /* for whoever has nothing to do */
    quicksort(a + below, n - below);
    return cc_join(lower, quicksort); /* nobody had: it is called here */
}

struct person {
    int age, number;
};
static int by_age(const void *a, const void *b) {
    return ((const struct person *)a)->age - ((const struct person *)b)->age;
}

static int numbers[COUNT];
static struct person people[COUNT];

CC_MAIN(argc, argv) {
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) numbers[i] = (int)((int64_t)i * 7919 % COUNT);
    quicksort(numbers, COUNT);
    for (int i = 0; i < COUNT; i++) wrong += numbers[i] != i;
    printf("%d numbers, %d out of place\n", COUNT, wrong);

    for (int i = 0; i < COUNT; i++) people[i] = (struct person){i % 97, i};
    int rc = cc_parallel_sort(people, COUNT, sizeof people[0], by_age);
    if (rc != 0) {
        fprintf(stderr, "sort: %s\n", cc_strerror(rc));
        return 1;
    }
    for (int i = 1; i < COUNT; i++) {
        const struct person *a = &people[i - 1], *b = &people[i];
        wrong += a->age > b->age || (a->age == b->age && a->number > b->number);
    }
    printf("%d people by age, %d out of place\n", COUNT, wrong);
    return 0;
}
