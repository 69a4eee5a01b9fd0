/* SPDX-License-Identifier: MIT */
/* Goal: addresses as text (src/io/address.c): what is one and what is not, and that each can be printed and read again;
 * whatever bytes are given, the parser says yes or no.
 * Method: tables; then random texts, half of them made of pieces of addresses, in memory of exactly their length, so
 * that AddressSanitizer sees a read past the end. What is accepted is printed, parsed again and compared.
 */
#include "test.h"

#include "base/rng.h"
#include "io/io.h"

#include <netinet/in.h>

static void good(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int family;
        uint16_t port;
    } known[] = {
        {"127.0.0.1:80", AF_INET, 80},       {"[::1]:65535", AF_INET6, 65535}, {"[::ffff:1.2.3.4]:0", AF_INET6, 0},
        {"unix:/run/x", AF_UNIX, 0},         {"unix:@x", AF_UNIX, 0},          {"example.org:443", AF_UNSPEC, 443},
        {"under_score-1:1", AF_UNSPEC, 1},   {":8080", AF_UNSPEC, 8080},       {"[fe80::1%lo]:80", AF_INET6, 80},
        {"[fe80::1%54321]:80", AF_INET6, 80}};
    for (size_t i = 0; i < TEST_COUNT_OF(known); i++) {
        struct cc__address a;
        char out[128];
        assert_int_equal(cc__address_parse(&a, known[i].text), 0);
        assert_int_equal(a.family, known[i].family);
        if (a.family != AF_UNIX) assert_int_equal(a.port, known[i].port);
        if (a.family == AF_UNSPEC) continue;
        assert_int_equal(cc__address_print(&a.at, out, sizeof out), 0);
        assert_string_equal(out, known[i].text);
        assert_int_equal(cc__address_print(&a.at, out, strlen(out)), -ENOBUFS);
    }
}

static void bad(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "not an address",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:x",
                                        "127.0.0.1:-1",
                                        "127.0.0.1: 80",
                                        "[::1]",
                                        "[::1",
                                        "[::1]80",
                                        "[::1]:",
                                        "[127.0.0.1]:80",
                                        "[]:80",
                                        "[%lo]:80",
                                        "[fe80::1%]:80",
                                        "::1:80",
                                        "unix:",
                                        "unix:@",
                                        "a b:80",
                                        "a/b:80",
                                        ":",
                                        ":+1"};
    struct cc__address a;
    for (size_t i = 0; i < TEST_COUNT_OF(texts); i++) assert_int_equal(cc__address_parse(&a, texts[i]), -EINVAL);
    assert_int_equal(cc__address_parse(&a, NULL), -EINVAL);
    assert_int_equal(cc__address_parse(&a, "[fe80::1%no-such-zone]:80"), -ENODEV);
    assert_int_equal(cc__address_parse(&a, "[fe80::1%a name that is longer than any of them]:80"), -ENODEV);
    char path[200] = "unix:/";
    memset(path + 6, 'x', 150);
    assert_int_equal(cc__address_parse(&a, path), -ENAMETOOLONG);
    char host[400];
    memset(host, 'h', sizeof host);
    memcpy(host + 390, ":80", 4);
    assert_int_equal(cc__address_parse(&a, host), -EINVAL);
    struct cc__sockaddr other = {.len = sizeof(sa_family_t), .any.sa_family = AF_UNSPEC};
    assert_int_equal(cc__address_print(&other, path, sizeof path), -EAFNOSUPPORT);
}

static size_t make_text(struct cc__rng *r, char *out, size_t size) {
    static const char *const pieces[] = {"unix:",     "@",  "/",   "[",   "]", ":", "::",    "1",
                                         "127.0.0.1", "80", "::1", "a.b", "%", " ", "65536", "localhost"};
    size_t len = 0, target = cc__rng_next(r) % size;
    bool pieced = cc__rng_next(r) % 2 == 0;
    while (len < target) {
        const char *piece = pieces[cc__rng_next(r) % TEST_COUNT_OF(pieces)];
        char any[2] = {(char)(1 + cc__rng_next(r) % 255), 0};
        if (!pieced) piece = any;
        size_t n = strlen(piece);
        if (len + n >= size) break;
        memcpy(out + len, piece, n);
        len += n;
    }
    out[len] = 0;
    return len;
}

static void any_bytes(void **state) {
    (void)state;
    struct cc__rng r;
    cc__rng_seed(&r, test_seed());
    unsigned accepted = 0;
    for (size_t i = 0; i < test_scaled(200000); i++) {
        char text[300], printed[128];
        struct cc__address a, again;
        size_t len = make_text(&r, text, i % 4 == 0 ? sizeof text : 40);
        char *exact = malloc(len + 1);
        memcpy(exact, text, len + 1);
        int rc = cc__address_parse(&a, exact);
        free(exact);
        assert_true(rc == 0 || rc == -EINVAL || rc == -ENAMETOOLONG || rc == -ENODEV);
        if (rc != 0 || a.family == AF_UNSPEC) continue;
        accepted++;
        assert_int_equal(cc__address_print(&a.at, printed, sizeof printed), 0);
        assert_int_equal(cc__address_parse(&again, printed), 0);
        assert_int_equal(a.at.len, again.at.len);
        assert_memory_equal(&a.at.storage, &again.at.storage, a.at.len);
    }
    assert_true(accepted > 100 || test_scaled(200000) < 200000);
}

/* Families take turns, and each keeps its order. */
static void interleaved(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } known[] = {{"", ""},
                 {"a", "a"},
                 {"ab", "ab"},
                 {"A", "A"},
                 {"ABab", "AaBb"},
                 {"abAB", "aAbB"},
                 {"ABCDa", "AaBCD"},
                 {"aABCD", "aABCD"},
                 {"abcdA", "aAbcd"},
                 {"AbCdEf", "AbCdEf"},
                 {"ABCDEFGHabcdefgh", "AaBbCcDdEeFfGgHh"}};
    for (size_t i = 0; i < TEST_COUNT_OF(known); i++) {
        struct cc__sockaddr all[CC__ADDRESSES_MAX];
        char got[CC__ADDRESSES_MAX + 1] = "";
        int n = (int)strlen(known[i].before);
        for (int k = 0; k < n; k++) { /* a capital is of IPv6 */
            char c = known[i].before[k];
            all[k] = (struct cc__sockaddr){.len = (socklen_t)c, .any.sa_family = c < 'a' ? AF_INET6 : AF_INET};
        }
        cc__address_interleave(all, n);
        for (int k = 0; k < n; k++) got[k] = (char)all[k].len;
        assert_string_equal(got, known[i].after);
    }
}

TEST_MAIN(cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(interleaved), cmocka_unit_test(any_bytes))
