/* SPDX-License-Identifier: MIT */
/* Modules, and the names of functions by the symbol tables of their files.
 *
 * dladdr() knows exported names only, so static functions would have none, and it takes the loader's outer lock, which
 * is held while a library's constructors run. So the file itself is read: the full table if it was not stripped, else
 * the dynamic one. By pread, not by a mapping, which would fault where the file was cut meanwhile; and with no memory
 * but a buffer of our own.
 *
 * Prev: plat/peek.c  Next: plat/cpu.c */
#include "module.h"

#include "../base/base.h"
#include "peek.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

struct search {
    uintptr_t pc;
    struct cc__module *out;
    int at; /* how many were looked at */
};

static int look_at(struct dl_phdr_info *info, size_t bytes, void *arg) {
    (void)bytes;
    struct search *s = arg;
    bool here = false;
    const void *unwind = NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && s->pc - from < p->p_memsz) here = true;
        if (p->p_type == PT_GNU_EH_FRAME) unwind = (const void *)from;
    }
    if (here)
        *s->out = (struct cc__module){
            .base = info->dlpi_addr, .unwind = unwind, .path = info->dlpi_name, .program = s->at == 0};
    s->at++;
    return here;
}

bool cc__module_of(uintptr_t pc, struct cc__module *out) {
    struct search s = {.pc = pc, .out = out};
    return dl_iterate_phdr(look_at, &s) != 0;
}

/* ---- names ---- */

/* A file's table of symbols, and its names. */
struct table {
    int fd;
    ElfW(Off) symbols, names;
    size_t count;
};

static bool read_at(int fd, void *to, size_t n, ElfW(Off) at) {
    return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

static bool table_find(struct table *t) {
    ElfW(Ehdr) head;
    bool found = false, full = false;
    if (!read_at(t->fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    for (unsigned i = 0; i < head.e_shnum && !full; i++) {
        ElfW(Shdr) s, names;
        if (!read_at(t->fd, &s, sizeof s, head.e_shoff + (ElfW(Off))i * sizeof s)) return false;
        if ((s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) || s.sh_link >= head.e_shnum) continue;
        if (!read_at(t->fd, &names, sizeof names, head.e_shoff + (ElfW(Off))s.sh_link * sizeof names)) return false;
        t->symbols = s.sh_offset;
        t->names = names.sh_offset;
        t->count = s.sh_size / sizeof(ElfW(Sym));
        full = s.sh_type == SHT_SYMTAB;
        found = true;
    }
    return found;
}

/* The function that holds an address of the file; where none says so, the nearest before it that does not say how long
 * it is. */
static bool table_search(const struct table *t, uintptr_t addr, ElfW(Sym) * best) {
    static ElfW(Sym) part[1024];
    bool found = false;
    for (size_t at = 0; at < t->count; at += CC__COUNT_OF(part)) {
        size_t n = t->count - at < CC__COUNT_OF(part) ? t->count - at : CC__COUNT_OF(part);
        if (!read_at(t->fd, part, n * sizeof part[0], t->symbols + at * sizeof part[0])) return found;
        for (size_t i = 0; i < n; i++) {
            const ElfW(Sym) *s = &part[i];
            unsigned type = s->st_info & 15u;
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF || s->st_value > addr) continue;
            if (s->st_size != 0 && addr - s->st_value >= s->st_size) continue;
            if (found && s->st_value <= best->st_value) continue;
            *best = *s;
            found = true;
        }
    }
    return found;
}

static void name_function(const char *path, uintptr_t addr, struct cc__spot *out) {
    struct table t = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    ElfW(Sym) symbol;
    if (t.fd < 0) return;
    if (table_find(&t) && table_search(&t, addr, &symbol)) {
        ssize_t n = pread(t.fd, out->function, sizeof out->function - 1, (off_t)(t.names + symbol.st_name));
        out->function[n < 0 ? 0 : n] = 0;
        out->offset = addr - symbol.st_value;
    }
    close(t.fd);
}

void cc__spot_of(uintptr_t pc, struct cc__spot *out) {
    static char path[4096];
    struct cc__module m;
    int saved = errno;
    *out = (struct cc__spot){.offset = pc};
    if (!cc__module_of(pc, &m)) return;
    out->offset = pc - m.base;
    if (m.program) {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        path[n < 0 ? 0 : n] = 0;
    } else if (!cc__peek_text(path, sizeof path, m.path)) {
        return;
    }
    const char *slash = strrchr(path, '/');
    size_t n = strnlen(slash != NULL ? slash + 1 : path, sizeof out->file - 1);
    memcpy(out->file, slash != NULL ? slash + 1 : path, n);
    name_function(m.program ? "/proc/self/exe" : path, pc - m.base, out);
    errno = saved;
}
