/* SPDX-License-Identifier: MIT */
/* Addresses as text, both ways.
 *
 * Prev: io/stream.c  Next: io/resolve.c */
#include "../base/text.h"
#include "io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

enum { NO_ADDRESS = -1 }; /* the kernel gave none, as for a socket that has none of its own */

/* Digits only, up to 65535. */
static bool parse_port(const char *text, uint16_t *out) {
    unsigned n = 0;
    if (*text == 0) return false;
    for (; *text != 0; text++) {
        if (*text < '0' || *text > '9') return false;
        n = n * 10 + (unsigned)(*text - '0');
        if (n > UINT16_MAX) return false;
    }
    *out = (uint16_t)n;
    return true;
}

/* Letters, digits, dots, hyphens and underscores: what a name in DNS is made of. */
static bool is_name(const char *text) {
    for (; *text != 0; text++) {
        bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        if (!letter && !(*text >= '0' && *text <= '9') && *text != '.' && *text != '-' && *text != '_') return false;
    }
    return true;
}

static int parse_unix(struct cc__address *out, const char *path) {
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&out->at.storage;
    size_t len = strlen(path);
    if (len == 0 || (path[0] == '@' && len == 1)) return -EINVAL;
    if (len >= sizeof un->sun_path) return -ENAMETOOLONG;
    out->family = un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, len + 1);
    out->at.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    if (path[0] == '@') {
        un->sun_path[0] = 0; /* abstract: its length counts, and no 0 ends it */
        out->at.len--;
    }
    return 0;
}

/* A number, or a name to be looked up, in out->host. */
static int parse_host(struct cc__address *out, bool brackets) {
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&out->at.storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&out->at.storage;
    struct in_addr v4;
    if (brackets) {
        struct in6_addr v6;
        char *zone = strchr(out->host, '%');
        if (zone != NULL) *zone++ = 0;
        if (inet_pton(AF_INET6, out->host, &v6) != 1 || (zone != NULL && *zone == 0)) return -EINVAL;
        *in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(out->port), .sin6_addr = v6};
        if (zone != NULL && (in6->sin6_scope_id = cc__sock_zone(zone)) == 0) return -ENODEV;
        out->family = AF_INET6;
        out->at.len = sizeof *in6;
    } else if (inet_pton(AF_INET, out->host, &v4) == 1) {
        *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(out->port), .sin_addr = v4};
        out->family = AF_INET;
        out->at.len = sizeof *in;
    } else if (!is_name(out->host)) {
        return -EINVAL;
    }
    return 0;
}

int cc__address_parse(struct cc__address *out, const char *text) {
    memset(out, 0, sizeof *out);
    out->family = AF_UNSPEC;
    if (text == NULL) return -EINVAL;
    if (strncmp(text, "unix:", 5) == 0) return parse_unix(out, text + 5);
    bool brackets = text[0] == '[';
    const char *begin = text + brackets, *end = strrchr(text, brackets ? ']' : ':');
    if (end == NULL || end < begin || (brackets && end[1] != ':')) return -EINVAL;
    size_t len = (size_t)(end - begin);
    if (len >= sizeof out->host || !parse_port(end + 1 + brackets, &out->port)) return -EINVAL;
    memcpy(out->host, begin, len);
    return parse_host(out, brackets);
}

static void print_port(struct cc__text *t, uint16_t port) {
    cc__text_str(t, ":");
    cc__text_dec(t, ntohs(port));
}

static void print_zone(struct cc__text *t, unsigned zone) {
    char name[IF_NAMESIZE];
    if (zone == 0) return;
    cc__sock_zone_name(zone, name);
    cc__text_str(t, "%");
    cc__text_str(t, name);
}

static void print_unix(struct cc__text *t, const struct cc__sockaddr *a) {
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&a->storage;
    size_t len = a->len < offsetof(struct sockaddr_un, sun_path) ? 0 : a->len - offsetof(struct sockaddr_un, sun_path);
    char path[sizeof un->sun_path + 1] = {0};
    memcpy(path, un->sun_path, len < sizeof un->sun_path ? len : sizeof un->sun_path);
    if (len > 0 && path[0] == 0) path[0] = '@';
    cc__text_str(t, "unix:");
    cc__text_str(t, path); /* of one that has no name: nothing */
}

int cc__address_print(const struct cc__sockaddr *a, char *out, size_t size) {
    char line[160], host[INET6_ADDRSTRLEN];
    struct cc__text t = cc__text_on(line, sizeof line - 1);
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&a->storage;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&a->storage;
    switch (a->len < sizeof a->any.sa_family ? NO_ADDRESS : a->any.sa_family) {
    case NO_ADDRESS: break;
    case AF_INET:
        cc__text_str(&t, inet_ntop(AF_INET, &in->sin_addr, host, sizeof host));
        print_port(&t, in->sin_port);
        break;
    case AF_INET6:
        cc__text_str(&t, "[");
        cc__text_str(&t, inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host));
        print_zone(&t, in6->sin6_scope_id);
        cc__text_str(&t, "]");
        print_port(&t, in6->sin6_port);
        break;
    case AF_UNIX: print_unix(&t, a); break;
    default: return -EAFNOSUPPORT;
    }
    line[t.len] = 0;
    if (t.len + 1 > size) return -ENOBUFS;
    memcpy(out, line, t.len + 1);
    return 0;
}

bool cc__address_any(const struct cc__address *a, struct cc__sockaddr *six, struct cc__sockaddr *four) {
    if (a->family != AF_UNSPEC || a->host[0] != 0) return false;
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port), .sin6_addr = in6addr_any};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(a->port), .sin_addr.s_addr = htonl(INADDR_ANY)};
    *six = *four = (struct cc__sockaddr){0};
    memcpy(&six->storage, &in6, six->len = sizeof in6);
    memcpy(&four->storage, &in, four->len = sizeof in);
    return true;
}

void cc__address_plain(struct cc__sockaddr *a) {
    struct sockaddr_in6 in6;
    if (a->len < sizeof in6 || a->any.sa_family != AF_INET6) return;
    memcpy(&in6, &a->storage, sizeof in6);
    if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) return;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = in6.sin6_port};
    memcpy(&in.sin_addr, &in6.sin6_addr.s6_addr[12], sizeof in.sin_addr);
    memcpy(&a->storage, &in, a->len = sizeof in);
}

void cc__address_interleave(struct cc__sockaddr *all, int n) {
    struct cc__sockaddr was[CC__ADDRESSES_MAX];
    int next[2] = {0, 0}; /* of the first one's family, and of others */
    memcpy(was, all, (size_t)n * sizeof was[0]);
    for (int i = 0; i < n; i++) {
        int at[2];
        for (int k = 0; k < 2; k++) {
            at[k] = next[k];
            while (at[k] < n && (was[at[k]].any.sa_family != was[0].any.sa_family) != (k == 1)) at[k]++;
        }
        int k = at[i % 2] < n ? i % 2 : 1 - i % 2;
        all[i] = was[at[k]];
        next[k] = at[k] + 1;
    }
}
