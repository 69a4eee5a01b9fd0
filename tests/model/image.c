/* SPDX-License-Identifier: MIT */
/* The program's globals and thread-locals: the same at the start of each execution, and thread-locals apart
 * for each thread of the scenario.
 *
 * The checker is a shared library, the program an executable that has the scenario, the library's sources
 * and nothing else. So the executable's writable data (what is left of it after relocation) is all that an
 * execution may change besides stacks and heap: it is saved when a search begins and put back before each
 * execution. A static that caches something on first use is then cached on first use in every execution.
 *
 * For snapshots the data is looked at in chunks: the checker is told of each write, and a chunk that nobody wrote to is
 * as it was. What is changed all the same, by assembly say, is found by comparing: in the first executions of a search,
 * which are run from the beginning, and such chunks count as written to from then on. One that shows up later would
 * make snapshots wrong, and ends the search with an error.
 *
 * Its thread-locals are one block at a known place of the one real thread, whatever they are read by,
 * inline assembly included; each thread of the scenario has a copy that is exchanged with that block when
 * another goes on, and so with errno. No list of variables to keep. That different threads' variables are
 * at one address here is no race. */
#include "internal.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK = 64, LEARNING = 8 }; /* bytes; executions */

static struct {
    uintptr_t base;
    char *data; /* writable data of the program */
    size_t data_bytes;
    char *saved;
    char *locals; /* thread-locals of the program on this thread */
    size_t locals_bytes;
    char *local[MC__ALL + 1]; /* a copy for each thread, and how they began */
    int error[MC__ALL];       /* errno of each */
    unsigned owner;           /* whose thread-locals are in place */
    unsigned resets;          /* of this search */
    bool taped;               /* since the last of them */
    bool *changed;            /* which chunks of the data are, or may be: */
    bool *unseen;             /* those that something changes without notice */
    uint32_t *list, n;        /* those that are, in order */
    char path[1024];
} image;

/* The first object is the program. */
static int look(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    uintptr_t begin = 0, end = 0, relro = 0;
    image.base = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W) != 0 && end == 0) begin = at, end = at + p->p_memsz;
        if (p->p_type == PT_GNU_RELRO) relro = at + p->p_memsz;
        if (p->p_type == PT_TLS) image.locals = info->dlpi_tls_data, image.locals_bytes = p->p_memsz;
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    relro = (relro + page - 1) & ~(page - 1);
    if (relro > begin) begin = relro;
    image.data = (char *)begin;
    image.data_bytes = end > begin ? end - begin : 0;
    return 1;
}

static char *allocate(size_t bytes) {
    char *at = malloc(bytes + 1);
    if (at == NULL) mc__die("out of memory for %zu bytes of data", bytes);
    return at;
}

static size_t chunks(void) {
    return (image.data_bytes + CHUNK - 1) / CHUNK;
}

static size_t chunk_bytes(size_t c) {
    return c * CHUNK + CHUNK <= image.data_bytes ? (size_t)CHUNK : image.data_bytes - c * CHUNK;
}

void mc__image_take(void) {
    if (image.saved == NULL) {
        dl_iterate_phdr(look, NULL);
        image.saved = allocate(image.data_bytes);
        image.changed = calloc(chunks() + 1, sizeof *image.changed);
        image.unseen = calloc(chunks() + 1, sizeof *image.unseen);
        image.list = calloc(chunks() + 1, sizeof *image.list);
        if (image.changed == NULL || image.unseen == NULL || image.list == NULL) mc__die("out of memory");
        for (unsigned i = 0; i <= MC__ALL; i++) image.local[i] = allocate(image.locals_bytes);
    }
    memcpy(image.saved, image.data, image.data_bytes);
    memcpy(image.local[MC__ALL], image.locals, image.locals_bytes);
    image.owner = MC__MAIN;
    image.resets = 0;
}

static void mark(size_t c) {
    if (image.changed[c]) return;
    image.changed[c] = true;
    image.list[image.n++] = (uint32_t)c;
}

void mc__image_wrote(uintptr_t addr, size_t bytes) {
    size_t offset = addr - (uintptr_t)image.data;
    if (offset >= image.data_bytes || bytes == 0) return;
    for (size_t c = offset / CHUNK; c <= (offset + bytes - 1) / CHUNK && c < chunks(); c++) mark(c);
}

bool mc__image_known(void) {
    return image.resets > LEARNING;
}

/* What was changed since the last reset without notice. */
static void find_unseen(void) {
    for (size_t c = 0; c < chunks(); c++) {
        if (image.changed[c] || memcmp(image.data + c * CHUNK, image.saved + c * CHUNK, chunk_bytes(c)) == 0) continue;
        if (image.taped) mc__die("%s was changed without notice", mc__trace_name((uintptr_t)image.data + c * CHUNK));
        image.unseen[c] = true;
    }
}

static void data_reset(void) {
    if (image.taped || !mc__image_known()) find_unseen();
    memcpy(image.data, image.saved, image.data_bytes);
    while (image.n > 0) image.changed[image.list[--image.n]] = false;
    for (size_t c = 0; c < chunks(); c++)
        if (image.unseen[c]) mark(c);
    image.taped = false;
    image.resets++;
}

static void data_tape(struct mc__tape *tape) {
    uint32_t before = image.n;
    mc__tape(tape, &image.n, sizeof image.n);
    while (before > image.n) { /* written to later */
        size_t c = image.list[--before];
        memcpy(image.data + c * CHUNK, image.saved + c * CHUNK, chunk_bytes(c));
        image.changed[c] = false;
    }
    for (uint32_t i = 0; i < image.n; i++) {
        size_t c = image.list[i];
        mc__tape(tape, image.data + c * CHUNK, chunk_bytes(c));
    }
    image.taped = true;
}

void mc__image_tape(struct mc__tape *tape) {
    data_tape(tape);
    if (!tape->back) image.error[image.owner] = errno;
    mc__tape(tape, image.error, sizeof image.error);
    mc__tape(tape, &image.owner, sizeof image.owner);
    if (tape->back) errno = image.error[image.owner];
    mc__tape(tape, image.locals, image.locals_bytes);
    for (unsigned i = 0; i < MC__ALL; i++) mc__tape(tape, image.local[i], image.locals_bytes);
}

/* What setup() said of statistics is left out of a copy. */
static void leave_out(char *copy, uintptr_t addr, size_t bytes) {
    for (unsigned i = 0; i < mc.told; i++) {
        const struct mc__told *k = &mc.tale[i];
        if (k->constant || k->end <= addr || k->begin >= addr + bytes) continue;
        uintptr_t begin = k->begin > addr ? k->begin : addr, end = k->end < addr + bytes ? k->end : addr + bytes;
        memset(copy + (begin - addr), 0, end - begin);
    }
}

static uint64_t chunk_digest(size_t c) {
    char copy[CHUNK];
    memcpy(copy, image.data + c * CHUNK, chunk_bytes(c));
    leave_out(copy, (uintptr_t)image.data + c * CHUNK, chunk_bytes(c));
    return mc__bytes_digest(copy, chunk_bytes(c));
}

/* Of all that differs from how it began. In any order: that of the first writes says nothing. */
uint64_t mc__image_digest(void) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < image.n; i++) {
        size_t c = image.list[i];
        if (memcmp(image.data + c * CHUNK, image.saved + c * CHUNK, chunk_bytes(c)) == 0) continue;
        sum += mc__mix(chunk_digest(c), c);
    }
    return sum;
}

uint64_t mc__image_locals_digest(unsigned tid) {
    return mc__bytes_digest(tid == image.owner ? image.locals : image.local[tid], image.locals_bytes);
}

void mc__image_reset(void) {
    data_reset();
    memset(image.error, 0, sizeof image.error);
    image.owner = MC__MAIN;
    if (image.locals_bytes == 0) return;
    for (unsigned i = 0; i < MC__ALL; i++) memcpy(image.local[i], image.local[MC__ALL], image.locals_bytes);
    memcpy(image.locals, image.local[MC__ALL], image.locals_bytes);
}

void mc__image_thread(unsigned tid) {
    if (tid == image.owner) return;
    image.error[image.owner] = errno;
    errno = image.error[tid];
    memcpy(image.local[image.owner], image.locals, image.locals_bytes);
    memcpy(image.locals, image.local[tid], image.locals_bytes);
    image.owner = tid;
}

bool mc__image_local(uintptr_t addr) {
    return addr - (uintptr_t)image.locals < image.locals_bytes || addr == (uintptr_t)&errno;
}

const char *mc__image_path(void) {
    ssize_t n = readlink("/proc/self/exe", image.path, sizeof image.path - 1);
    image.path[n < 0 ? 0 : n] = 0;
    return image.path;
}

uintptr_t mc__image_base(void) {
    return image.base;
}
