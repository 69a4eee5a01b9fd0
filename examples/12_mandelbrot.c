/* SPDX-License-Identifier: MIT */
/* The Mandelbrot set by a parallel loop over rows, to a grey image: mandelbrot.pgm, or the file that is named. */
#include <ccrt.h>
#include <fcntl.h>
#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 480, MOST = 255 };

static unsigned char image[HEIGHT][WIDTH];

/* How soon a point leaves: white at once, black never. */
static unsigned char shade(double cx, double cy) {
    double x = 0, y = 0;
    int steps = 0;
    for (; steps < MOST && x * x + y * y < 4; steps++) {
        double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    return (unsigned char)(MOST - steps);
}

/* Rows differ a lot in what they cost, and nobody needs to know: who is done takes some from others. */
CC_RANGE(draw, (double, scale)) {
    for (size_t row = lo; row < hi; row++)
        for (size_t column = 0; column < WIDTH; column++)
            image[row][column] = shade(scale * ((double)column - 0.7 * WIDTH), scale * ((double)row - 0.5 * HEIGHT));
}

static int save(const char *path) {
    cc_autoclose int fd = cc_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) return fd;
    char header[32];
    int length = snprintf(header, sizeof header, "P5\n%d %d\n%d\n", WIDTH, HEIGHT, MOST);
    ssize_t rc = cc_write(fd, header, (size_t)length);
    if (rc >= 0) rc = cc_write(fd, image, sizeof image);
    return rc < 0 ? (int)rc : 0;
}

CC_MAIN(argc, argv) {
    const char *path = argc > 1 ? argv[1] : "mandelbrot.pgm";
    cc_parallel_for(0, HEIGHT, 0, draw, 2.4 / HEIGHT);
    int rc = save(path);
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", path, cc_strerror(rc));
        return 1;
    }
    printf("%s: %d x %d\n", path, WIDTH, HEIGHT);
    printf("a corner: %d, the middle: %d\n", image[0][0], image[HEIGHT / 2][WIDTH / 2]);
    return 0;
}
