/* SPDX-License-Identifier: MIT */
/* Computing on all processors: fork and join, jobs with counters, loops. Part 8 of docs/GUIDE.md. */
#include <ccrt.h>
#include <stdio.h>
#include <stdlib.h>

static void swap(int *a, int *b) {
    int x = *a;
    *a = *b;
    *b = x;
}

CC_TASK(quicksort, (int *, a), (size_t, n)) {
    if (n < 2) return 0;
    int pivot = a[(n - 1) / 2];
    size_t lo = 0, hi = n - 1;
    for (;;) {
        while (a[lo] < pivot) lo++;
        while (a[hi] > pivot) hi--;
        if (lo >= hi) break;
        swap(&a[lo++], &a[hi--]);
    }
    CC_FORKED(quicksort, left);
    cc_fork(left, quicksort, a, hi + 1);
    quicksort(a + hi + 1, n - hi - 1);
    return cc_join(left, quicksort);
}

struct mesh {
    int points, sum;
};

static void load(void *arg) {
    struct mesh *m = arg;
    int *point = cc_frame_alloc((size_t)m->points * sizeof *point); /* freed with the job */
    if (point == NULL) return;
    for (int i = 0; i < m->points; i++) point[i] = i;
    for (int i = 0; i < m->points; i++) m->sum += point[i];
}

static int load_all(struct mesh *mesh, int count) {
    cc_counter loaded = CC_COUNTER_INIT(0);
    int sum = 0;
    for (int i = 0; i < count; i++) {
        mesh[i].points = i;
        if (cc_job_spawn(load, &mesh[i], CC_PRIORITY_NORMAL, &loaded) != 0) load(&mesh[i]);
    }
    cc_counter_wait(&loaded); /* this task waits, its worker goes on with the jobs */
    for (int i = 0; i < count; i++) sum += mesh[i].sum;
    return sum;
}

CC_RANGE(scale, (float *, a), (float, k)) {
    for (size_t i = lo; i < hi; i++) a[i] *= k;
}
CC_REDUCE(double, total, (const float *, a)) {
    double sum = 0;
    for (size_t i = lo; i < hi; i++) sum += (double)a[i];
    return sum;
}
static double plus(double x, double y) {
    return x + y;
}

static double scaled_sum(float *a, size_t n) {
    cc_parallel_for(0, n, 0, scale, a, 0.5f); /* grain 0: chosen for us */
    return cc_parallel_reduce(0, n, 0, 0.0, plus, total, a);
}

enum { N = 100000 };
static int numbers[N];
static struct mesh meshes[100];
static float floats[N];

CC_MAIN(argc, argv) {
    for (int i = 0; i < N; i++) numbers[i] = (int)((long)i * 7919 % N);
    quicksort(numbers, N);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += numbers[i] != i;
    printf("%d out of place\n", wrong);

    printf("%d\n", load_all(meshes, 100));

    for (int i = 0; i < N; i++) floats[i] = 2;
    printf("%.0f\n", scaled_sum(floats, N));
    return 0;
}
