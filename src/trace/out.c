/* SPDX-License-Identifier: MIT */
/* JSON by hand: a buffer, and what has to be escaped. An error is kept, and what follows is dropped.
 *
 * Prev: trace/out.h  Next: trace/write.c */
#include "out.h"

#include "../base/text.h"
#include "../plat/file.h"

#include <string.h>

static void drain(struct cc__trace_file *out) {
    if (out->rc == 0) out->rc = cc__file_write(out->fd, out->buf, out->len);
    out->at += (int64_t)out->len;
    out->len = 0;
}

static void put_char(struct cc__trace_file *out, char c) {
    if (out->len == sizeof out->buf) drain(out);
    out->buf[out->len++] = c;
}

static void put(struct cc__trace_file *out, const char *s) {
    for (; *s != 0; s++) put_char(out, *s);
}

static void put_dec(struct cc__trace_file *out, uint64_t n) {
    char digits[24];
    struct cc__text text = cc__text_on(digits, sizeof digits - 1);
    cc__text_dec(&text, n);
    digits[text.len] = 0;
    put(out, digits);
}

/* How many bytes the character at s has, 0 if it is not valid UTF-8. */
static int utf8_bytes(const unsigned char *s) {
    static const struct {
        unsigned char lead, lead_end, second, second_end, bytes;
    } form[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < CC__COUNT_OF(form); i++) {
        if (s[0] < form[i].lead || s[0] > form[i].lead_end) continue;
        if (form[i].bytes > 1 && (s[1] < form[i].second || s[1] > form[i].second_end)) return 0;
        for (int k = 2; k < form[i].bytes; k++)
            if (s[k] < 0x80 || s[k] > 0xbf) return 0;
        return form[i].bytes;
    }
    return 0;
}

static void put_escaped(struct cc__trace_file *out, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    while (*s != 0) {
        int n = utf8_bytes(s);
        if (n == 0 || *s < ' ' || *s == 0x7f) {
            put_char(out, '?');
            s++;
            continue;
        }
        if (*s == '"' || *s == '\\') put_char(out, '\\');
        for (; n > 0; n--) put_char(out, (char)*s++);
    }
}

static void key_begin(struct cc__trace_file *out, const char *key) {
    if (!out->bare) put_char(out, ',');
    out->bare = false;
    put_char(out, '"');
    put(out, key);
    put(out, "\":");
}

void cc__out_begin(struct cc__trace_file *out, char phase, uint64_t pid, uint64_t tid) {
    put(out, out->comma ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    put_char(out, phase);
    put_char(out, '"');
    out->comma = true;
    out->bare = false;
    cc__out_number(out, "pid", pid);
    cc__out_number(out, "tid", tid);
}

void cc__out_text(struct cc__trace_file *out, const char *key, const char *value) {
    key_begin(out, key);
    put_char(out, '"');
    put_escaped(out, value);
    put_char(out, '"');
}

void cc__out_number(struct cc__trace_file *out, const char *key, uint64_t value) {
    key_begin(out, key);
    put_dec(out, value);
}

void cc__out_address(struct cc__trace_file *out, const char *key, uintptr_t value) {
    char digits[32];
    struct cc__text text = cc__text_on(digits, sizeof digits - 1);
    cc__text_hex(&text, value);
    digits[text.len] = 0;
    cc__out_text(out, key, digits);
}

void cc__out_place(struct cc__trace_file *out, const char *key, const char *file, int line) {
    key_begin(out, key);
    put_char(out, '"');
    put_escaped(out, file);
    put_char(out, ':');
    put_dec(out, line > 0 ? (uint64_t)line : 0);
    put_char(out, '"');
}

void cc__out_time(struct cc__trace_file *out, const char *key, uint64_t ns) {
    char digits[] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10), 0};
    cc__out_number(out, key, ns / 1000);
    put(out, digits);
}

void cc__out_args(struct cc__trace_file *out) {
    key_begin(out, "args");
    put_char(out, '{');
    out->bare = true;
}

void cc__out_end(struct cc__trace_file *out, bool args) {
    put(out, args ? "}}" : "}");
}

int cc__out_open(struct cc__trace_file *out, const char *path) {
    out->fd = cc__file_create(path);
    if (out->fd < 0) return out->fd;
    out->seeks = cc__file_can_seek(out->fd);
    put(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return out->seeks ? cc__out_flush(out, 0) : 0; /* a file that cannot be written is found now */
}

int cc__out_flush(struct cc__trace_file *out, uint64_t lost) {
    drain(out);
    int64_t here = out->at;
    put(out, "\n],\"otherData\":{\"events lost\":");
    put_dec(out, lost);
    put(out, "}}\n");
    drain(out);
    out->at = here;
    if (out->rc == 0 && out->seeks) out->rc = cc__file_seek(out->fd, here);
    return out->rc;
}

void cc__out_close(struct cc__trace_file *out) {
    if (out->fd >= 0) cc__file_close(out->fd);
    out->fd = -1;
}
