/* SPDX-License-Identifier: MIT */
/* The scenario's heap: malloc() and the others, for one execution.
 *
 * Each thread has a region of its own from which it takes blocks one after the other, so that the address
 * of a block depends on what its thread did and on nothing else: allocations of two threads commute, and
 * the search need not try their orders. Memory is never given out twice in one execution: whatever touches
 * a block after free(), however much later, is found. (A bug that needs the allocator to return the same
 * address again is found as the use of the old one.) Blocks are 16 bytes or more apart, and what lies
 * between is nobody's.
 *
 * free() counts as a write to the whole block for race.c, so an access that was made before it by luck only
 * is a race. New memory is filled with a pattern, the same each time. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

enum { REGION_BYTES = 1 << 20, BLOCKS = 2000, GAP = 16, PATTERN = 0xa5 };

struct block {
    uint32_t offset, bytes; /* in its region */
    bool freed;
    uint8_t freed_by;
    const void *pc;
};

static struct region {
    char *base;
    size_t used;
    unsigned n;
    struct block block[BLOCKS];
} regions[MC__ALL];

static char *arena; /* all regions */

void mc__arena_init(void) {
    if (arena != NULL) return;
    size_t bytes = (size_t)MC__ALL * REGION_BYTES;
    arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) mc__die("out of memory for the heap");
    for (unsigned i = 0; i < MC__ALL; i++) regions[i].base = arena + (size_t)i * REGION_BYTES;
}

void mc__arena_reset(void) {
    for (unsigned i = 0; i < MC__ALL; i++) regions[i].n = 0, regions[i].used = 0;
}

bool mc__arena_used(void) {
    bool used = false;
    for (unsigned i = 0; i < MC__ALL; i++) used = used || regions[i].n > 0;
    return used;
}

void mc__arena_tape(struct mc__tape *tape) {
    for (unsigned i = 0; i < MC__ALL; i++) {
        struct region *r = &regions[i];
        mc__tape(tape, &r->n, sizeof r->n);
        mc__tape(tape, &r->used, sizeof r->used);
        mc__tape(tape, r->block, r->n * sizeof r->block[0]);
        mc__tape(tape, r->base, r->used);
    }
}

static struct region *region_of(uintptr_t addr) {
    uintptr_t offset = addr - (uintptr_t)arena;
    return arena != NULL && offset < (uintptr_t)MC__ALL * REGION_BYTES ? &regions[offset / REGION_BYTES] : NULL;
}

/* The last block that begins at or before an address. */
static struct block *block_at(struct region *r, uintptr_t addr) {
    uint32_t offset = (uint32_t)(addr - (uintptr_t)r->base);
    unsigned lo = 0, hi = r->n;
    while (lo < hi) {
        unsigned middle = (lo + hi) / 2;
        if (r->block[middle].offset <= offset)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo > 0 ? &r->block[lo - 1] : NULL;
}

void mc__arena_check(uintptr_t addr, size_t bytes, const void *pc) {
    struct region *r = region_of(addr);
    if (r == NULL) return;
    const struct block *b = block_at(r, addr);
    uint32_t offset = (uint32_t)(addr - (uintptr_t)r->base);
    if (b == NULL || offset + bytes > b->offset + b->bytes)
        mc__fail(MC_USE_AFTER_FREE, pc, "an access of %zu bytes beside a heap block, at %s", bytes,
                 mc__trace_name(addr));
    if (b->freed) {
        mc.bug_pc[1] = b->pc;
        mc.bug_tid[1] = b->freed_by;
        mc__fail(MC_USE_AFTER_FREE, pc, "use after free of %s by T%u", mc__trace_name(addr), mc.self);
    }
}

bool mc__arena_describe(uintptr_t addr, char *text, size_t size) {
    struct region *r = region_of(addr);
    const struct block *b = r != NULL ? block_at(r, addr) : NULL;
    if (b == NULL) return false;
    unsigned tid = (unsigned)(r - regions);
    size_t inside = (size_t)(addr - (uintptr_t)r->base) - b->offset;
    char whose[16] = "setup's";
    if (tid != MC__MAIN) snprintf(whose, sizeof whose, "T%u's", tid);
    snprintf(text, size, "%s block %u+%zu", whose, (unsigned)(b - r->block) + 1, inside);
    return true;
}

/* What is still allocated when all is over. */
void mc__arena_leaks(void) {
    unsigned leaks = 0;
    for (unsigned i = 0; i < MC__ALL; i++) {
        const struct region *r = &regions[i];
        for (unsigned k = 0; k < r->n; k++) {
            if (r->block[k].freed || leaks++ > 0) continue;
            mc__bug(MC_LEAK, r->block[k].pc, "leak of %u bytes that %s allocated", r->block[k].bytes,
                    i == MC__MAIN ? "setup or check" : "a thread");
        }
    }
}

/* ---- what the program calls ---- */

static void *allocate(size_t bytes, size_t align, const void *pc) {
    struct region *r = &regions[mc.self];
    size_t offset = (r->used + GAP + align - 1) & ~(align - 1);
    if (offset + bytes > REGION_BYTES || r->n == BLOCKS) mc__die("T%u allocates too much in one execution", mc.self);
    r->block[r->n++] = (struct block){.offset = (uint32_t)offset, .bytes = (uint32_t)bytes, .pc = pc};
    r->used = offset + (bytes > 0 ? bytes : 1);
    memset(r->base + offset, PATTERN, bytes);
    mc__trace(pc, "malloc %zu bytes: %s", bytes, mc.tracing ? mc__trace_name((uintptr_t)(r->base + offset)) : "");
    return r->base + offset;
}

static void release(void *p, const void *pc) {
    uintptr_t addr = (uintptr_t)p;
    struct region *r = region_of(addr);
    struct block *b = r != NULL ? block_at(r, addr) : NULL;
    if (b == NULL || (char *)p != r->base + b->offset)
        mc__fail(MC_DOUBLE_FREE, pc, "free of %s, which malloc did not return", mc__trace_name(addr));
    if (b->freed) {
        mc.bug_pc[1] = b->pc;
        mc.bug_tid[1] = b->freed_by;
        mc__fail(MC_DOUBLE_FREE, pc, "double free of %s by T%u", mc__trace_name(addr), mc.self);
    }
    mc__trace(pc, "free %s", mc.tracing ? mc__trace_name(addr) : "");
    mc__plain(addr, b->bytes, true, pc);
    b->freed = true;
    b->freed_by = (uint8_t)mc.self;
    b->pc = pc;
}

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the linker's --wrap makes these names */

void *malloc(size_t bytes);
void *calloc(size_t n, size_t bytes);
void *realloc(void *p, size_t bytes);
void free(void *p);
#define PC __builtin_return_address(0)

void *__wrap_malloc(size_t bytes) {
    return mc.running ? allocate(bytes, 16, PC) : malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
    if (!mc.running) return calloc(n, bytes);
    void *p = allocate(n * bytes, 16, PC);
    return memset(p, 0, n * bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    if (!mc.running) mc__die("aligned_alloc() outside an execution");
    return allocate(bytes, align < 16 ? 16 : align, PC);
}

int __wrap_posix_memalign(void **out, size_t align, size_t bytes) {
    *out = __wrap_aligned_alloc(align, bytes);
    return 0;
}

void __wrap_free(void *p) {
    if (p == NULL) return;
    if (mc.running)
        release(p, PC);
    else
        free(p);
}

void *__wrap_realloc(void *p, size_t bytes) {
    if (!mc.running) return realloc(p, bytes);
    void *q = allocate(bytes, 16, PC);
    if (p == NULL) return q;
    const struct region *r = region_of((uintptr_t)p);
    const struct block *b = r != NULL ? block_at(&regions[r - regions], (uintptr_t)p) : NULL;
    size_t keep = b == NULL ? 0 : b->bytes < bytes ? b->bytes : bytes;
    mc__plain((uintptr_t)p, keep, false, PC);
    memcpy(q, p, keep);
    release(p, PC);
    return q;
}

#pragma GCC visibility pop
