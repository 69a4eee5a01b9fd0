/* SPDX-License-Identifier: MIT */
/* Guide, chapter 2: typed tasks, nurseries, results. */
#include <ccrt.h>
#include <stdio.h>

CC_TASK(count_vowels, (const char *, word), (int *, count)) {
    for (; *word != '\0'; word++)
        for (const char *v = "aeiou"; *v != '\0'; v++) *count += *word == *v;
    return 0;
}

CC_ASYNC(double, mean, (const int *, v), (int, n)) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += v[i];
    return sum / n;
}

static int vowels(void) {
    int here = 0, there = 0;
    CC_NURSERY(n) {
        cc_spawn(n, count_vowels, "structured", &here);
        cc_spawn(n, count_vowels, "concurrency", &there);
    } /* both have returned */
    return here + there;
}

static void means(void) {
    static const int low[] = {1, 2, 3}, high[] = {10, 20, 30, 40};
    CC_RESULT(double) a, b; /* outside the braces: they outlive the nursery */
    CC_NURSERY(n) {
        cc_async(n, a, mean, low, 3);
        cc_async(n, b, mean, high, 4);
        printf("%.1f %.1f\n", cc_await(a), cc_await(b));
    }
    printf("%s\n", cc_result_status(a) == 0 && cc_result_status(b) == 0 ? "both ran" : "?");
}

CC_TASK(step, (int, number)) {
    return number == 2 ? -EIO : 0;
}

static int steps(void) {
    int rc = 0;
    CC_NURSERY(n) {
        for (int i = 1; i <= 3; i++) cc_spawn(n, step, i);
        rc = cc_nursery_wait(n);
    }
    return rc;
}

CC_MAIN(argc, argv) {
    printf("%d vowels\n", vowels());
    means();
    printf("steps: %s\n", cc_strerror(steps()));
    printf("called: %.1f\n", mean((int[]){4, 5}, 2)); /* still a plain function */
    return 0;
}
