/* SPDX-License-Identifier: MIT */
/* Goal: every return code has its line of text, and no value whatever gives NULL.
 * Method: a list of the codes of its own, compared in number with the table in the source, so that a
 * code added there is added here; then every errno, and values far outside.
 */
#include "test.h"

#include <ccrt/error.h>

#include <limits.h>

static const int codes[] = {
    EPERM,       ENOENT,       ESRCH,      EINTR,           EIO,         ENXIO,           E2BIG,        EBADF,
    ECHILD,      EAGAIN,       ENOMEM,     EACCES,          EFAULT,      EBUSY,           EEXIST,       ENODEV,
    ENOTDIR,     EISDIR,       EINVAL,     ENFILE,          EMFILE,      EFBIG,           ENOSPC,       ESPIPE,
    EROFS,       EPIPE,        EDOM,       ERANGE,          EDEADLK,     ENAMETOOLONG,    ENOSYS,       ENOTEMPTY,
    ELOOP,       EPROTO,       EOVERFLOW,  EILSEQ,          ENOTSOCK,    EDESTADDRREQ,    EMSGSIZE,     EPROTONOSUPPORT,
    ENOTSUP,     EAFNOSUPPORT, EADDRINUSE, EADDRNOTAVAIL,   ENETDOWN,    ENETUNREACH,     ECONNABORTED, ECONNRESET,
    ENOBUFS,     EISCONN,      ENOTCONN,   ESHUTDOWN,       ETIMEDOUT,   ECONNREFUSED,    EHOSTUNREACH, EALREADY,
    EINPROGRESS, ECANCELED,    EOWNERDEAD, ENOEXEC,         EXDEV,       ENOTTY,          ETXTBSY,      EMLINK,
    ENOLCK,      ENODATA,      EBADMSG,    EPROTOTYPE,      ENOPROTOOPT, ESOCKTNOSUPPORT, EPFNOSUPPORT, ENETRESET,
    EHOSTDOWN,   ESTALE,       EDQUOT,     ENOTRECOVERABLE,
};

static const char unknown[] = "unknown error";

static void every_code_has_a_line_of_its_own(void **state) {
    (void)state;
    for (size_t i = 0; i < TEST_COUNT_OF(codes); i++) {
        const char *text = cc_strerror(-codes[i]);
        assert_non_null(text);
        assert_int_not_equal(text[0], 0);
        assert_null(strchr(text, '\n'));
        assert_int_not_equal(strcmp(text, unknown), 0);
        assert_int_not_equal(strcmp(text, "success"), 0);
        for (size_t j = 0; j < i; j++) assert_int_not_equal(strcmp(text, cc_strerror(-codes[j])), 0);
    }
}

/* The words that this library means otherwise than the system. */
static void own_meanings(void **state) {
    (void)state;
    assert_string_equal(cc_strerror(-EPIPE), "closed");
    assert_string_equal(cc_strerror(-ECANCELED), "cancelled");
    assert_string_equal(cc_strerror(-ETIMEDOUT), "timed out");
    assert_string_equal(cc_strerror(-EWOULDBLOCK), cc_strerror(-EAGAIN));
    assert_non_null(strstr(cc_strerror(-ESRCH), "stale"));
    assert_non_null(strstr(cc_strerror(-EPERM), "owner"));
}

/* The table's lines look like `    X(ENAME, "text")`. */
static void list_is_complete(void **state) {
    (void)state;
    char line[512];
    size_t lines = 0;
    FILE *source = fopen(CCRT_SOURCE_DIR "/src/base/error.c", "r");
    if (source == NULL) {
        print_message("the source is not there to compare with\n");
        skip();
    }
    while (fgets(line, sizeof line, source) != NULL) {
        const char *at = line + strspn(line, " ");
        if (strncmp(at, "X(E", 3) == 0) lines++;
    }
    fclose(source);
    assert_int_equal(lines, TEST_COUNT_OF(codes));
}

static void no_error_is_success(void **state) {
    (void)state;
    const int counts[] = {0, 1, EPIPE, 4096, INT_MAX};
    for (size_t i = 0; i < TEST_COUNT_OF(counts); i++) assert_string_equal(cc_strerror(counts[i]), "success");
}

static void other_values_are_unknown(void **state) {
    (void)state;
    const int others[] = {-134, -512, -4095, -4096, -9999, INT_MIN + 1, INT_MIN};
    for (size_t i = 0; i < TEST_COUNT_OF(others); i++) assert_string_equal(cc_strerror(others[i]), unknown);
}

static void no_errno_gives_null(void **state) {
    (void)state;
    for (int e = 1; e <= 133; e++) {
        assert_non_null(cc_strerror(-e));
        assert_int_not_equal(strlen(cc_strerror(-e)), 0);
        assert_ptr_equal(cc_strerror(-e), cc_strerror(-e)); /* a constant, not a buffer */
    }
}

TEST_MAIN(cmocka_unit_test(every_code_has_a_line_of_its_own), cmocka_unit_test(own_meanings),
          cmocka_unit_test(list_is_complete), cmocka_unit_test(no_error_is_success),
          cmocka_unit_test(other_values_are_unknown), cmocka_unit_test(no_errno_gives_null))
