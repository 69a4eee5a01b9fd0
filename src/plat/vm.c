/* SPDX-License-Identifier: MIT */
/* Virtual memory.
 *
 * Guards. A guard made by mprotect() is a mapping of its own, so a process can have about 32,000
 * (vm.max_map_count is 65,530). MADV_GUARD_INSTALL marks entries of the page table instead: a million
 * guards are one mapping. process_madvise() takes many ranges in one system call; on kernels that
 * refuse it for guards each range gets a madvise() of its own.
 *
 * Huge pages are transparent ones, as advised; where the system gives them only from a pool that somebody has to fill
 * (hugetlbfs), there are none.
 *
 * Rejected: PROT_NONE reservations that are opened when used (a mapping split each); huge pages unless they are asked
 * for (stacks would have no guards, or be 2 MiB resident each).
 *
 * Prev: plat/topology.c  Next: plat/block.c */
#include "vm.h"

#include "../base/assert.h"
#include "../base/atomic.h"
#include "file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if CCRT_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

/* Not in the C library's headers yet. */
enum { VM_MADV_POPULATE_WRITE = 23, VM_MADV_GUARD_INSTALL = 102, VM_MADV_GUARD_REMOVE = 103, VM_PIDFD_SELF = -10000 };
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { ADVISE_BATCH = 64 }; /* ranges in one process_madvise() */

/* What the kernel gives. W, R: any thread; every thread would find the same, so relaxed is enough. */
enum { GUARD_UNKNOWN, GUARD_LIGHT_BATCH, GUARD_LIGHT_SINGLE, GUARD_MPROTECT };
static _Atomic int guard_way;

/* One system call for many ranges: returns how many of them, from the first on, were advised. */
static size_t advise_batch(char *at, size_t bytes, size_t stride, size_t count, int advice) {
    struct iovec range[ADVISE_BATCH];
    if (count > ADVISE_BATCH) count = ADVISE_BATCH;
    for (size_t i = 0; i < count; i++) range[i] = (struct iovec){at + i * stride, bytes};
    long rc = syscall(SYS_process_madvise, VM_PIDFD_SELF, range, count, advice, 0);
    return rc <= 0 ? 0 : (size_t)rc / bytes;
}

size_t cc__vm_page_bytes(void) {
    static _Atomic size_t cached;
    size_t bytes = cc__load_relaxed(&cached);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PAGESIZE);
        cc__store_relaxed(&cached, bytes);
    }
    return bytes;
}

int cc__vm_map(void **out, size_t bytes) {
    int saved = errno;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int rc = at == MAP_FAILED ? -ENOMEM : 0; /* EAGAIN (locked memory) and ENFILE mean the same to us */
    if (rc == 0) {
        madvise(at, bytes, MADV_NOHUGEPAGE); /* fails where the kernel has none: as good */
        *out = at;
    }
    errno = saved;
    return rc;
}

size_t cc__vm_huge_bytes(void) {
    static _Atomic size_t cached; /* and 1.  W, R: any thread; all find the same */
    size_t bytes = cc__load_relaxed(&cached);
    if (bytes == 0) {
        char text[64];
        int saved = errno;
        bool given = cc__file_read("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) > 0 &&
                     strstr(text, "[never]") == NULL;
        if (given && cc__file_read("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text) > 0)
            bytes = strtoull(text, NULL, 10);
        if ((bytes & (bytes - 1)) != 0 || bytes <= cc__vm_page_bytes()) bytes = 0; /* no power of two */
        errno = saved;
        cc__store_relaxed(&cached, ++bytes);
    }
    return bytes - 1;
}

int cc__vm_map_huge(void **out, size_t bytes) {
    size_t huge = cc__vm_huge_bytes();
    void *at;
    CC_ASSERT(huge != 0 && bytes % huge == 0);
    int rc = cc__vm_map(&at, bytes + huge);
    if (rc != 0) return rc;
    char *lo = at, *from = (char *)(((uintptr_t)at + huge - 1) & ~(uintptr_t)(huge - 1));
    if (from > lo) cc__vm_unmap(lo, (size_t)(from - lo));
    cc__vm_unmap(from + bytes, (size_t)(lo + huge - from));
    int saved = errno;
    madvise(from, bytes, MADV_HUGEPAGE);
    errno = saved;
    *out = from;
    return 0;
}

void cc__vm_unmap(void *at, size_t bytes) {
    int saved = errno;
    /* Taking a hole out of a larger mapping can itself need one more map. Then the address space is
     * lost, but the memory is given back. */
    if (munmap(at, bytes) != 0) cc__vm_discard(at, bytes);
    errno = saved;
}

void cc__vm_discard(void *at, size_t bytes) {
    int saved = errno;
    madvise(at, bytes, MADV_DONTNEED);
    errno = saved;
}

/* Whether the kernel can no longer write there. Asked of it by a system call that writes to memory: an
 * emulator may accept advice it does not know and do nothing. */
static bool guard_holds(void *at) {
    return syscall(SYS_uname, at) == -1 && errno == EFAULT;
}

static int guard_probe(void) {
    size_t page = cc__vm_page_bytes();
    void *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return GUARD_UNKNOWN; /* no memory now: ask again next time */
    int way = GUARD_MPROTECT;
    if (madvise(at, page, VM_MADV_GUARD_INSTALL) == 0 && guard_holds(at)) {
        char *second = (char *)at + page;
        /* valgrind does not know the call and says so at length. */
        bool batched = !RUNNING_ON_VALGRIND && advise_batch(second, page, page, 1, VM_MADV_GUARD_INSTALL) == 1 &&
                       guard_holds(second);
        way = batched ? GUARD_LIGHT_BATCH : GUARD_LIGHT_SINGLE;
    }
    munmap(at, 2 * page);
    return way;
}

static int guard_find_way(void) {
    int way = cc__load_relaxed(&guard_way);
    if (way == GUARD_UNKNOWN) {
        int saved = errno;
        way = guard_probe();
        errno = saved;
        cc__store_relaxed(&guard_way, way);
    }
    return way;
}

enum cc__vm_guard cc__vm_guard_kind(void) {
    int way = guard_find_way();
    return way == GUARD_LIGHT_BATCH || way == GUARD_LIGHT_SINGLE ? CC__VM_GUARD_LIGHT : CC__VM_GUARD_MPROTECT;
}

void cc__vm_guard_force(enum cc__vm_guard kind) {
    cc__store_relaxed(&guard_way, kind == CC__VM_GUARD_LIGHT ? GUARD_UNKNOWN : GUARD_MPROTECT);
}

static bool guard_one(void *at, size_t bytes, int way) {
    if (way == GUARD_MPROTECT) return mprotect(at, bytes, PROT_NONE) == 0;
    return madvise(at, bytes, VM_MADV_GUARD_INSTALL) == 0;
}

static void guard_undo(void *at, size_t bytes, int way) {
    if (way == GUARD_MPROTECT)
        mprotect(at, bytes, PROT_READ | PROT_WRITE);
    else
        madvise(at, bytes, VM_MADV_GUARD_REMOVE);
}

/* Install as many as succeed, from the first on; returns how many. */
static size_t guard_install(char *at, size_t bytes, size_t stride, size_t count, int way) {
    size_t done = 0;
    while (way == GUARD_LIGHT_BATCH && done < count) {
        size_t n = advise_batch(at + done * stride, bytes, stride, count - done, VM_MADV_GUARD_INSTALL);
        if (n == 0) break; /* what is missing is made one by one */
        done += n;
    }
    while (done < count && guard_one(at + done * stride, bytes, way)) done++;
    return done;
}

int cc__vm_guard_install(void *at, size_t bytes, size_t stride, size_t count) {
    int saved = errno, way = guard_find_way();
    if (way == GUARD_UNKNOWN) return -ENOMEM;
    size_t done = guard_install(at, bytes, stride, count, way);
    if (done < count) {
        /* Also the one that failed: some of its pages may be marked. */
        for (size_t i = 0; i <= done; i++) guard_undo((char *)at + i * stride, bytes, way);
    }
    errno = saved;
    return done == count ? 0 : -ENOMEM;
}

void cc__vm_commit(void *at, size_t bytes, size_t stride, size_t count) {
    if (guard_find_way() != GUARD_LIGHT_BATCH) return;
    int saved = errno;
    for (size_t done = 0, n = 1; done < count && n > 0; done += n)
        n = advise_batch((char *)at + done * stride, bytes, stride, count - done, VM_MADV_POPULATE_WRITE);
    errno = saved;
}

void *cc__vm_lowest_resident(void *at, size_t bytes) {
    enum { PAGES_AT_ONCE = 256 };
    unsigned char resident[PAGES_AT_ONCE];
    size_t page = cc__vm_page_bytes();
    int saved = errno;
    char *found = NULL, *end = (char *)at + bytes;
    for (char *p = at; p < end && found == NULL; p += PAGES_AT_ONCE * page) {
        size_t pages = (size_t)(end - p) / page;
        if (pages > PAGES_AT_ONCE) pages = PAGES_AT_ONCE;
        if (mincore(p, pages * page, resident) != 0) break;
        for (size_t i = 0; i < pages && found == NULL; i++)
            if ((resident[i] & 1) != 0) found = p + i * page;
    }
    errno = saved;
    return found;
}
