/* SPDX-License-Identifier: MIT */
/* Goal: text built by hand is right, stays inside its buffer, and is printed whole.
 * Method: numbers against snprintf(), edge values and random ones; every buffer size around the length
 * of a text, with bytes behind it that must not change; printing through a write() that is interrupted,
 * short, or fails.
 * Link: -Wl,--wrap=write
 */
#include "test.h"

#include "base/rng.h"
#include "base/text.h"

#include <inttypes.h>

/* ---- a write() that can be told what to do ---- */

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

enum write_way { WRITE_REAL, WRITE_SHORT, WRITE_INTERRUPTED, WRITE_FAILS, WRITE_NOTHING };
static enum write_way write_way;
static char written[256];
static size_t written_len, write_calls;

ssize_t __wrap_write(int fd, const void *buf, size_t n) {
    if (write_way == WRITE_REAL || fd != STDERR_FILENO) return __real_write(fd, buf, n);
    write_calls++;
    if (write_way == WRITE_INTERRUPTED && write_calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    if (write_way == WRITE_FAILS && write_calls > 1) {
        errno = EIO;
        return -1;
    }
    if (write_way == WRITE_NOTHING && write_calls > 1) return 0;
    if (n > 5) n = 5;
    if (written_len + n > sizeof written) n = sizeof written - written_len;
    memcpy(written + written_len, buf, n);
    written_len += n;
    return (ssize_t)n;
}

static void print_by(enum write_way way, const char *text) {
    char buf[64];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__text_str(&t, text);
    written_len = write_calls = 0;
    errno = 77;
    write_way = way;
    cc__text_print(&t);
    write_way = WRITE_REAL;
    assert_int_equal(errno, 77);
}

/* ---- tests ---- */

static void strings_follow_each_other(void **state) {
    (void)state;
    char buf[32];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    assert_int_equal(t.len, 0);
    cc__text_str(&t, "");
    assert_int_equal(t.len, 0);
    cc__text_str(&t, "ab");
    cc__text_str(&t, "c");
    cc__text_dec(&t, 42);
    cc__text_hex(&t, 0x2a);
    assert_int_equal(t.len, 9);
    assert_memory_equal(buf, "abc420x2a", 9);
}

static void number_is(uint64_t n) {
    char buf[64], want[64];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__text_dec(&t, n);
    assert_int_equal(snprintf(want, sizeof want, "%" PRIu64, n), t.len);
    assert_memory_equal(buf, want, t.len);

    t = cc__text_on(buf, sizeof buf);
    cc__text_hex(&t, (uintptr_t)n);
    assert_int_equal(snprintf(want, sizeof want, "0x%" PRIxPTR, (uintptr_t)n), t.len);
    assert_memory_equal(buf, want, t.len);
}

static void numbers_are_right(void **state) {
    (void)state;
    struct cc__rng rng;
    cc__rng_seed(&rng, test_seed());
    number_is(0);
    number_is(UINT64_MAX);
    for (uint64_t p = 1; p <= UINT64_MAX / 10; p *= 10) number_is(p), number_is(p - 1);
    for (unsigned bit = 0; bit < 64; bit++) number_is(UINT64_C(1) << bit), number_is((UINT64_C(1) << bit) - 1);
    for (size_t i = 0; i < test_scaled(2000); i++) number_is(cc__rng_next(&rng) >> (cc__rng_next(&rng) % 64));
}

static void build_all(struct cc__text *t) {
    cc__text_str(t, "task ");
    cc__text_dec(t, 1234567890);
    cc__text_str(t, " at ");
    cc__text_hex(t, 0xdeadbeef);
    cc__text_str(t, "!");
}

static void what_does_not_fit_is_cut(void **state) {
    (void)state;
    const char whole[] = "task 1234567890 at 0xdeadbeef!";
    for (size_t size = 0; size <= sizeof whole + 2; size++) {
        char buf[sizeof whole + 16];
        memset(buf, '#', sizeof buf);
        struct cc__text t = cc__text_on(buf, size);
        build_all(&t);
        size_t want = size < strlen(whole) ? size : strlen(whole);
        assert_int_equal(t.len, want);
        assert_int_equal(strncmp(buf, whole, want), 0);
        for (size_t i = want; i < sizeof buf; i++) assert_int_equal(buf[i], '#');
    }
}

static void print_in_child(void *arg) {
    char buf[64];
    struct cc__text t = cc__text_on(buf, sizeof buf);
    cc__text_str(&t, arg);
    cc__text_print(&t);
}

static void print_goes_to_stderr(void **state) {
    (void)state;
    char err[64];
    assert_int_equal(test_in_child(print_in_child, (void *)(uintptr_t) "one line\n", err, sizeof err), 0);
    assert_string_equal(err, "one line\n");
    assert_int_equal(test_in_child(print_in_child, (void *)(uintptr_t) "", err, sizeof err), 0);
    assert_string_equal(err, "");
}

static void print_goes_on_after_short_writes(void **state) {
    (void)state;
    print_by(WRITE_SHORT, "0123456789abcdef");
    assert_int_equal(write_calls, 4);
    assert_int_equal(written_len, 16);
    assert_memory_equal(written, "0123456789abcdef", 16);
}

static void print_goes_on_after_interrupts(void **state) {
    (void)state;
    print_by(WRITE_INTERRUPTED, "0123456789abcdef");
    assert_int_equal(write_calls, 8);
    assert_int_equal(written_len, 16);
    assert_memory_equal(written, "0123456789abcdef", 16);
}

static void print_gives_up_on_errors(void **state) {
    (void)state;
    print_by(WRITE_FAILS, "0123456789abcdef");
    assert_int_equal(write_calls, 2);
    assert_int_equal(written_len, 5);
    print_by(WRITE_NOTHING, "0123456789abcdef");
    assert_int_equal(write_calls, 2);
    assert_int_equal(written_len, 5);
}

TEST_MAIN(cmocka_unit_test(strings_follow_each_other), cmocka_unit_test(numbers_are_right),
          cmocka_unit_test(what_does_not_fit_is_cut), cmocka_unit_test(print_goes_to_stderr),
          cmocka_unit_test(print_goes_on_after_short_writes), cmocka_unit_test(print_goes_on_after_interrupts),
          cmocka_unit_test(print_gives_up_on_errors))
