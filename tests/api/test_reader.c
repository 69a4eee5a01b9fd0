/* SPDX-License-Identifier: MIT */
/* Goal: readers and writers with a buffer (ccrt/reader.h): lines and pieces however the bytes arrive, of any length up
 * to the buffer's; limits; the end without a newline; errors.
 * Method: a writer sends random lines in random pieces through a pipe; a reader with a small buffer gets them one by
 * one. Then the cases at the edges, one by one.
 */
#include "runtimes.h"

static void *pipe_with(int fd[2], const char *text) {
    test_must(cc_pipe(fd) == 0);
    test_must(cc_write(fd[1], text, strlen(text)) == (ssize_t)strlen(text) && cc_close(fd[1]) == 0);
    return NULL;
}

static void *edges(void *arg) {
    int fd[2];
    char room[8], buf[20], *at;
    size_t len;
    cc_reader r;
    pipe_with(fd, "one\n\n1234567\nrest");
    cc_reader_init(&r, fd[0], room, sizeof room);
    test_must(cc_reader_line(&r, &at, &len) == 1 && len == 3 && strcmp(at, "one") == 0);
    test_must(cc_reader_line(&r, &at, &len) == 1 && len == 0 && *at == 0);
    test_must(cc_reader_line(&r, &at, &len) == 1 && len == 7 && strcmp(at, "1234567") == 0);
    test_must(cc_reader_line(&r, &at, &len) == 1 && len == 4 && memcmp(at, "rest", 4) == 0); /* no newline */
    test_must(cc_reader_line(&r, &at, &len) == 0 && cc_reader_line(&r, &at, &len) == 0);
    test_must(cc_close(fd[0]) == 0);
    pipe_with(fd, "12345678\n");
    cc_reader_init(&r, fd[0], room, sizeof room);
    test_must(cc_reader_line(&r, &at, &len) == -EMSGSIZE);
    test_must(cc_reader_exactly(&r, buf, 9) == 9 && memcmp(buf, "12345678\n", 9) == 0); /* it is still there */
    test_must(cc_reader_exactly(&r, buf, 1) == 0 && cc_close(fd[0]) == 0);
    pipe_with(fd, "a;bc;def");
    cc_reader_init(&r, fd[0], room, sizeof room);
    test_must(cc_reader_until(&r, ';', &at, &len) == 1 && len == 2 && memcmp(at, "a;", 2) == 0);
    cc_reader_limit(&r, 4);
    test_must(cc_reader_until(&r, ';', &at, &len) == 1 && len == 3);
    test_must(cc_reader_until(&r, ';', &at, &len) == 1 && len == 1 && *at == 'd');
    test_must(cc_reader_until(&r, ';', &at, &len) == 0 && cc_close(fd[0]) == 0);
    cc_reader_init(&r, -1, room, sizeof room);
    test_must(cc_reader_line(&r, &at, &len) == -EBADF && cc_reader_exactly(&r, buf, 1) == -EBADF);
    cc_writer w;
    cc_writer_init(&w, -1, room, sizeof room);
    test_must(cc_writer_write(&w, "x", 1) == 1 && cc_writer_flush(&w) == -EBADF && cc_writer_flush(&w) == 0);
    test_must(cc_writer_write(&w, "123456789", 9) == -EBADF);
    return arg;
}
static void at_the_edges(void **state) {
    (void)state;
    test_on_workers(1, edges, NULL);
    edges(NULL);
}

/* Two requests in one piece, each with a length of its own: what is behind a limit is there for the next. */
static void *limits(void *arg) {
    int fd[2];
    char room[32], buf[20], *at;
    size_t len;
    cc_reader r;
    for (size_t size = 8; size <= sizeof room; size += 8) {
        pipe_with(fd, "5\nhello6\nworld!\nrest\nend");
        cc_reader_init(&r, fd[0], room, size);
        test_must(cc_reader_line(&r, &at, &len) == 1 && strcmp(at, "5") == 0);
        cc_reader_limit(&r, 5);
        test_must(cc_reader_line(&r, &at, &len) == 1 && len == 5 && memcmp(at, "hello", 5) == 0);
        test_must(cc_reader_line(&r, &at, &len) == 0 && cc_reader_exactly(&r, buf, 1) == 0);
        cc_reader_limit(&r, UINT64_MAX);
        test_must(cc_reader_line(&r, &at, &len) == 1 && strcmp(at, "6") == 0);
        cc_reader_limit(&r, 6);
        test_must(cc_reader_exactly(&r, buf, sizeof buf) == 6 && memcmp(buf, "world!", 6) == 0);
        test_must(cc_reader_exactly(&r, buf, sizeof buf) == 0 && cc_reader_until(&r, 'e', &at, &len) == 0);
        cc_reader_limit(&r, 1);
        test_must(cc_reader_line(&r, &at, &len) == 1 && len == 0);
        cc_reader_limit(&r, 0);
        test_must(cc_reader_line(&r, &at, &len) == 0);
        cc_reader_limit(&r, 100);
        test_must(cc_reader_line(&r, &at, &len) == 1 && strcmp(at, "rest") == 0);
        test_must(cc_reader_exactly(&r, buf, sizeof buf) == 3 && memcmp(buf, "end", 3) == 0);
        cc_reader_limit(&r, UINT64_MAX);
        test_must(cc_reader_line(&r, &at, &len) == 0 && cc_close(fd[0]) == 0); /* that was the end itself */
    }
    pipe_with(fd, "12345678more\n"); /* the limit is what the buffer holds, and no line is longer than that */
    cc_reader_init(&r, fd[0], room, 8);
    cc_reader_limit(&r, 8);
    test_must(cc_reader_line(&r, &at, &len) == 1 && len == 8 && cc_reader_line(&r, &at, &len) == 0);
    test_must(cc_read(fd[0], buf, sizeof buf) == 5 && memcmp(buf, "more\n", 5) == 0); /* nothing more was read */
    test_must(cc_close(fd[0]) == 0);
    return arg;
}
static void limits_are_moved(void **state) {
    (void)state;
    test_on_workers(1, limits, NULL);
    limits(NULL);
}

enum { LINES = 300, LONGEST = 60 };
static size_t length_of(int line) {
    return (size_t)(line * 7919) % LONGEST;
}
CC_TASK(writes_lines, (int, fd)) {
    char room[50], text[LONGEST + 1];
    cc_writer w;
    cc_writer_init(&w, fd, room, sizeof room);
    for (int i = 0; i < LINES; i++) {
        size_t n = length_of(i);
        memset(text, 'a' + i % 26, n);
        text[n] = '\n';
        size_t cut = test_random() % (n + 1);
        test_must(cc_writer_write(&w, text, cut) == (ssize_t)cut);
        if (test_random() % 4 == 0) test_must(cc_writer_flush(&w) == 0);
        if (test_random() % 8 == 0) cc_yield();
        test_must(cc_writer_write(&w, text + cut, n + 1 - cut) == (ssize_t)(n + 1 - cut));
    }
    test_must(cc_writer_flush(&w) == 0);
    return cc_close(fd);
}
static void *lines(void *arg) {
    int fd[2], n = 0;
    char room[LONGEST + 1], *line;
    size_t len;
    cc_reader r;
    test_must(cc_pipe(fd) == 0);
    CC_NURSERY(all) {
        test_must(cc_spawn(all, writes_lines, fd[1]) == 0);
        cc_reader_init(&r, fd[0], room, sizeof room);
        for (; cc_reader_line(&r, &line, &len) == 1; n++) {
            test_must(len == length_of(n) && line[len] == 0);
            for (size_t i = 0; i < len; i++) test_must(line[i] == 'a' + n % 26);
        }
    }
    test_must(n == LINES && cc_close(fd[0]) == 0);
    return arg;
}
static void in_random_pieces(void **state) {
    (void)state;
    test_on_all(lines);
}

TEST_MAIN(cmocka_unit_test(at_the_edges), cmocka_unit_test(limits_are_moved), cmocka_unit_test(in_random_pieces))
