/* SPDX-License-Identifier: MIT */
/* Conjugate gradients by parallel loops and reductions: how far a square membrane sags that is held at its edges. */
#include <ccrt.h>
#include <stdio.h>

enum { SIDE = 127 }; /* points inside, each way; a border of zeros is around them */

typedef double grid[SIDE + 2][SIDE + 2];
typedef double (*rows)[SIDE + 2];

static grid solution, left, direction, product;

/* The matrix: a point four times, less its neighbours. */
CC_RANGE(multiply, (rows, to), (rows, by)) {
    for (size_t i = lo; i < hi; i++)
        for (size_t k = 1; k <= SIDE; k++)
            to[i][k] = 4 * by[i][k] - by[i - 1][k] - by[i + 1][k] - by[i][k - 1] - by[i][k + 1];
}
/* to = a to + b x */
CC_RANGE(add, (rows, to), (double, a), (double, b), (rows, x)) {
    for (size_t i = lo; i < hi; i++)
        for (size_t k = 1; k <= SIDE; k++) to[i][k] = a * to[i][k] + b * x[i][k];
}
CC_REDUCE(double, products, (rows, x), (rows, y)) {
    double sum = 0;
    for (size_t i = lo; i < hi; i++)
        for (size_t k = 1; k <= SIDE; k++) sum += x[i][k] * y[i][k];
    return sum;
}
static double plus(double a, double b) {
    return a + b;
}

/* The same on any number of workers, to the last bit. */
static double dot(rows x, rows y) {
    return cc_parallel_reduce(1, SIDE + 1, 0, 0.0, plus, products, x, y);
}

static int solve(double goal) {
    int steps = 0;
    double now = dot(left, left), before;
    for (; now > goal * goal; steps++) {
        cc_parallel_for(1, SIDE + 1, 0, multiply, product, direction);
        double step = now / dot(direction, product);
        cc_parallel_for(1, SIDE + 1, 0, add, solution, 1.0, step, direction);
        cc_parallel_for(1, SIDE + 1, 0, add, left, 1.0, -step, product);
        before = now;
        now = dot(left, left);
        cc_parallel_for(1, SIDE + 1, 0, add, direction, now / before, 1.0, left);
    }
    return steps;
}

CC_MAIN(argc, argv) {
    double load = 1.0 / (SIDE + 1) / (SIDE + 1);
    for (size_t i = 1; i <= SIDE; i++)
        for (size_t k = 1; k <= SIDE; k++) left[i][k] = direction[i][k] = load;
    int steps = solve(1e-9);
    printf("%d unknowns, %s\n", SIDE * SIDE, steps < SIDE * SIDE / 10 ? "in few steps" : "in too many steps");
    printf("in the middle: %.4f\n", solution[(SIDE + 1) / 2][(SIDE + 1) / 2]);
    return 0;
}
