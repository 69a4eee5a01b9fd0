/* SPDX-License-Identifier: MIT */
/* Frames of a game as a graph of jobs. What a job depends on is a counter that it waits for:
 *
 *     input -> move, in slices -> find what is seen -> draw
 *          \-> mix the sound ------------------------/
 *
 * Sound is urgent and goes first; a level that is loaded meanwhile goes last, and no frame waits for it. */
#include <ccrt.h>
#include <stdatomic.h>
#include <stdio.h>

enum { FRAMES = 3, THINGS = 4096, SLICES = 16, PER_SLICE = THINGS / SLICES, CHUNKS = 32 };

static struct thing { int at, speed; } things[THINGS];

static struct frame {
    cc_counter input, moved, mixed, found, drawn;
    int push, seen, loudness, pixels;
    struct slice {
        struct frame *frame;
        struct thing *first;
    } slice[SLICES];
} frame;

static void read_input(void *arg) {
    struct frame *f = arg;
    f->push++;
}

static void move(void *arg) {
    struct slice *s = arg;
    cc_counter_wait(&s->frame->input); /* this job waits; its worker goes on with others */
    for (struct thing *t = s->first; t < s->first + PER_SLICE; t++) t->at += t->speed * s->frame->push;
}

static void mix(void *arg) {
    struct frame *f = arg;
    cc_counter_wait(&f->input);
    f->loudness = 10 * f->push;
}

static void find_seen(void *arg) {
    struct frame *f = arg;
    cc_counter_wait(&f->moved);
    f->seen = 0;
    for (int i = 0; i < THINGS; i++) f->seen += things[i].at % 4 == 0;
}

static void draw(void *arg) {
    struct frame *f = arg;
    cc_counter_wait(&f->found);
    cc_counter_wait(&f->mixed);
    int *line = cc_frame_alloc((size_t)f->seen * sizeof *line); /* gone with the job */
    f->pixels = 0;
    for (int i = 0; line != NULL && i < f->seen; i++) line[i] = i % 10;
    for (int i = 0; line != NULL && i < f->seen; i++) f->pixels += line[i];
}

static void load_chunk(void *arg) {
    cc_sleep_ms(1); /* as if it came from a disk */
    atomic_fetch_add((atomic_int *)arg, 1);
}

/* What others depend on is spawned before them: a counter that nobody was counted in is zero, and keeps nobody. */
static int run_frame(struct frame *f) {
    cc_job moves[SLICES];
    for (int i = 0; i < SLICES; i++) {
        f->slice[i] = (struct slice){f, things + i * PER_SLICE};
        moves[i] = (cc_job){move, &f->slice[i]};
    }
    int rc = cc_job_spawn(read_input, f, CC_PRIORITY_HIGH, &f->input);
    if (rc == 0) rc = cc_job_spawn(mix, f, CC_PRIORITY_HIGH, &f->mixed);
    if (rc == 0) rc = cc_job_spawn_many(moves, SLICES, CC_PRIORITY_NORMAL, &f->moved);
    if (rc == 0) rc = cc_job_spawn(find_seen, f, CC_PRIORITY_NORMAL, &f->found);
    if (rc == 0) rc = cc_job_spawn(draw, f, CC_PRIORITY_NORMAL, &f->drawn);
    cc_counter_wait(&f->input); /* all of them, also where one could not be spawned */
    cc_counter_wait(&f->moved);
    cc_counter_wait(&f->found);
    cc_counter_wait(&f->mixed);
    cc_counter_wait(&f->drawn);
    return rc;
}

CC_MAIN(argc, argv) {
    cc_counter level = CC_COUNTER_INIT(0);
    atomic_int loaded = 0;
    int rc = 0;
    for (int i = 0; i < THINGS; i++) things[i] = (struct thing){i, i % 3};
    for (int i = 0; i < CHUNKS && rc == 0; i++) rc = cc_job_spawn(load_chunk, &loaded, CC_PRIORITY_LOW, &level);
    for (int i = 1; i <= FRAMES && rc == 0; i++) {
        rc = run_frame(&frame);
        printf("frame %d: %d seen, %d pixels, loudness %d\n", i, frame.seen, frame.pixels, frame.loudness);
    }
    cc_counter_wait(&level);
    printf("level: %d chunks\n", atomic_load(&loaded));
    if (rc != 0) fprintf(stderr, "jobs: %s\n", cc_strerror(rc));
    return rc != 0;
}
