/* SPDX-License-Identifier: MIT */
/* What people read: names of places in memory, the story of one execution, and the string that repeats it.
 *
 * Executions are told only when they are replayed, so that the search does not pay for it: when a bug is
 * found, its choices become a replay string, and that is run once more with mc.tracing set.
 *
 * A replay string has a letter a step, the thread that went on (a is T0; i is setup or check), then a colon
 * and a code where the operation's result was not the ordinary one, or a number where the same thread went
 * on that often: "a3b:1a" is three steps of T0, one of T1 that did not see the newest store, one of T0.
 * "sc-" in front says that it is of a search under sequential consistency.
 *
 * Names of globals come from the program's own symbol table; lines of source from addr2line, if there is
 * one. */
#include "internal.h"

#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 20000, TEXT = 160, NAMES = 8, NAME = 80 };

struct line {
    unsigned step; /* 0: not an operation */
    unsigned tid;
    const void *pc;
    char text[TEXT];
};

static struct line *lines;
static unsigned count;

/* ---- names ---- */

static struct {
    const char *file; /* the program, mapped */
    const Elf64_Sym *symbol;
    const char *strings;
    size_t n;
    bool tried;
} elf;

static void elf_open(void) {
    elf.tried = true;
    int fd = open(mc__image_path(), O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return;
    elf.file = at;
    const Elf64_Ehdr *head = at;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(const void *)(elf.file + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB) continue;
        elf.symbol = (const Elf64_Sym *)(const void *)(elf.file + section[i].sh_offset);
        elf.n = section[i].sh_size / sizeof *elf.symbol;
        elf.strings = elf.file + section[section[i].sh_link].sh_offset;
    }
}

static bool symbol_describe(uintptr_t addr, char *text, size_t size) {
    if (!elf.tried) elf_open();
    uintptr_t offset = addr - mc__image_base();
    for (size_t i = 0; i < elf.n; i++) {
        const Elf64_Sym *s = &elf.symbol[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || offset < s->st_value || offset >= s->st_value + s->st_size)
            continue;
        const char *name = elf.strings + s->st_name;
        size_t inside = offset - s->st_value;
        if (inside == 0)
            snprintf(text, size, "%s", name);
        else
            snprintf(text, size, "%s+%zu", name, inside);
        return true;
    }
    return false;
}

/* The last few results stay valid. */
static char *buffer(void) {
    static char buffers[NAMES][NAME];
    static unsigned next;
    return buffers[next++ % NAMES];
}

const char *mc__trace_name(uintptr_t addr) {
    char *text = buffer();
    if (mc__arena_describe(addr, text, NAME) || mc__stack_describe(addr, text, NAME) ||
        symbol_describe(addr, text, NAME))
        return text;
    snprintf(text, NAME, "%#zx", (size_t)addr);
    return text;
}

const char *mc__trace_value(mc__word value, unsigned size) {
    if (!mc.tracing) return "";
    char *text = buffer();
    uint64_t low = (uint64_t)value, high = (uint64_t)(value >> 64);
    unsigned bits = size >= 8 ? 64 : size * 8;
    int64_t negative = (int64_t)(low << (64 - bits)) >> (64 - bits); /* of its size */
    if (high != 0)
        snprintf(text, NAME, "%#llx:%016llx", (unsigned long long)high, (unsigned long long)low);
    else if (negative < 0 && negative > -1000)
        snprintf(text, NAME, "%lld", (long long)negative);
    else if (low < 100000)
        snprintf(text, NAME, "%llu", (unsigned long long)low);
    else if (size != 8 || !(mc__arena_describe(low, text, NAME) || symbol_describe(low, text, NAME)))
        snprintf(text, NAME, "%#llx", (unsigned long long)low);
    return text;
}

const char *mc__trace_order(unsigned order) {
    static const char *const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return order < 6 ? names[order] : "?";
}

/* ---- the story ---- */

static struct line *line_add(unsigned step, const void *pc) {
    if (count == LINES) return NULL;
    struct line *l = &lines[count++];
    *l = (struct line){.step = step, .tid = mc.self, .pc = pc};
    return l;
}

void mc__trace(const void *pc, const char *format, ...) {
    struct line *l = mc.tracing ? line_add(0, pc) : NULL;
    if (l == NULL) return;
    va_list args;
    va_start(args, format);
    int n = snprintf(l->text, sizeof l->text, "  ");
    vsnprintf(l->text + n, sizeof l->text - (size_t)n, format, args);
    va_end(args);
}

void mc__trace_step(const struct mc__op *op, const char *format, ...) {
    struct line *l = mc.tracing ? line_add(mc.depth, op->pc) : NULL;
    if (l == NULL) return;
    char what[40], detail[64];
    bool ordered = op->kind->object == MC__ATOMIC && op->kind->sc == MC__SC_NONE;
    const char *order = ordered || op->kind == &mc__fence ? mc__trace_order(op->order) : "";
    snprintf(what, sizeof what, "%s %s", op->kind->name, order);
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    snprintf(l->text, sizeof l->text, "%-15s %-18.40s %s", what, op->addr != 0 ? mc__trace_name(op->addr) : "", detail);
}

void mc__trace_begin(void) {
    if (lines == NULL) lines = malloc(LINES * sizeof *lines);
    if (lines == NULL) mc__die("out of memory for a trace");
    count = 0;
    mc.tracing = true;
}

/* ---- lines of source ---- */

/* Where a program counter is, for each of n: "file:line function", from the innermost inlined function. */
static void places(const void *const *pc, char (*place)[TEXT], unsigned n) {
    size_t size = 1200 + (size_t)n * 24;
    char *command = malloc(size), got[1024];
    if (command == NULL) return;
    int at = snprintf(command, size, "addr2line -e '%s' -a -f -i -s", mc__image_path());
    for (unsigned i = 0; i < n; i++)
        at += snprintf(command + at, size - (size_t)at, " %#zx", (size_t)((uintptr_t)pc[i] - mc__image_base() - 1));
    snprintf(command + at, size - (size_t)at, " 2>/dev/null");
    FILE *f = popen(command, "r");
    free(command);
    if (f == NULL) return;
    unsigned i = 0, row = 0; /* rows of each: address, then function and file:line by turns */
    char function[64] = "";
    while (fgets(got, sizeof got, f) != NULL) {
        got[strcspn(got, "\n")] = 0;
        got[strcspn(got, " ")] = 0; /* (discriminator 2) */
        bool address = strncmp(got, "0x", 2) == 0;
        i += address, row = address ? 0 : row + 1;
        if (i == 0 || i > n) continue;
        if (row == 1) snprintf(function, sizeof function, "%.50s", got);
        if (row == 2) snprintf(place[i - 1], TEXT, "%.60s %.50s", got, function);
        if (row == 4 && strstr(place[i - 1], ".h:") != NULL) /* an inline function: say whose */
            snprintf(place[i - 1] + strlen(place[i - 1]), TEXT - strlen(place[i - 1]), " < %.40s", got);
    }
    pclose(f);
}

static void print_line(const struct line *l, const char *place) {
    char who[16] = "  ";
    if (l->tid != MC__MAIN) snprintf(who, sizeof who, "T%u", l->tid);
    if (l->step != 0)
        printf("  %4u  %s  %-60s %s\n", l->step, who, l->text, place);
    else
        printf("        %s  %-60s %s\n", who, l->text, place);
}

static void print_bug(char (*place)[TEXT]) {
    printf("  %s\n", mc.result.text);
    for (unsigned i = 0; i < 2; i++) {
        if (mc.bug_pc[i] == NULL || (i == 1 && mc.result.bug != MC_RACE && mc.result.bug != MC_USE_AFTER_FREE &&
                                     mc.result.bug != MC_DOUBLE_FREE))
            continue;
        printf("    %s %s\n", i == 0 ? "at" : "and", place[i]);
    }
}

void mc__trace_print(void) {
    const void **pc = malloc((count + 2) * sizeof *pc);
    char(*place)[TEXT] = calloc(count + 2, sizeof *place);
    if (pc == NULL || place == NULL) mc__die("out of memory for a trace");
    for (unsigned i = 0; i < count; i++) pc[i] = lines[i].pc;
    for (unsigned i = 0; i < 2; i++) pc[count + i] = mc.bug_pc[i];
    places(pc, place, count + 2);
    for (unsigned i = 0; i < count; i++) print_line(&lines[i], lines[i].pc != NULL ? place[i] : "");
    if (count == LINES) printf("        ... more than %d lines\n", LINES);
    if (mc.result.bug != 0) print_bug(&place[count]);
    fflush(stdout);
    free(pc);
    free(place);
}

/* ---- replay strings ---- */

char *mc__replay_string(void) {
    size_t size = 16 + (size_t)mc.depth * 8, at = 0;
    char *text = malloc(size);
    if (text == NULL) mc__die("out of memory for a replay string");
    text[0] = 0;
    if (mc.options.sc_only) at += (size_t)snprintf(text, size, "sc-");
    for (unsigned i = 0, same; i < mc.depth; i += same) {
        const struct mc__node *n = &mc.node[i];
        for (same = 1; i + same < mc.depth && n[same].tid == n->tid && n->code == 0 && n[same].code == 0;) same++;
        at += (size_t)snprintf(text + at, size - at, "%c", 'a' + n->tid);
        if (n->code != 0) at += (size_t)snprintf(text + at, size - at, ":%u", (unsigned)n->code);
        if (same > 1) at += (size_t)snprintf(text + at, size - at, "%u", same);
    }
    return text;
}

unsigned mc__replay_parse(const char *text, struct mc__forced *steps, unsigned max, bool *sc_only) {
    unsigned n = 0;
    *sc_only = strncmp(text, "sc-", 3) == 0;
    if (*sc_only) text += 3;
    while (*text != 0) {
        unsigned tid = (unsigned)(*text++ - 'a'), code = 0, same = 1;
        if (tid >= MC__ALL) mc__die("not a replay string: letters from a to i are expected");
        if (*text == ':') {
            code = (unsigned)strtoul(text + 1, (char **)(uintptr_t)&text, 10);
        } else if (*text >= '0' && *text <= '9') {
            same = (unsigned)strtoul(text, (char **)(uintptr_t)&text, 10);
        }
        for (; same > 0 && n < max; same--)
            steps[n++] = (struct mc__forced){.tid = (uint8_t)tid, .code = (uint16_t)code};
    }
    return n;
}
