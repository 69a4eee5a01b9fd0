/* SPDX-License-Identifier: MIT */
/* Goal: memory is zeroed, committed on touch or before it, given back when asked, and what of it is
 * resident is told; errno is left alone.
 * Method: contents and residence are looked at page by page, as rows of letters ('#' resident). System
 * calls are wrapped, to count them and to refuse what a kernel may refuse. Guards: test_vm_guard.c.
 * Link: -Wl,--wrap=mmap,--wrap=munmap,--wrap=madvise,--wrap=mincore,--wrap=syscall
 */
#include "test.h"

#include "plat/vm.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGES_MAX = 700 };
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

/* ---- system calls that can be told what to do ---- */

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_mincore(void *at, size_t bytes, unsigned char *vec);
int __wrap_mincore(void *at, size_t bytes, unsigned char *vec);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static struct {
    bool mmap_fails, munmap_fails, mincore_fails;
    bool no_batch;      /* a kernel without process_madvise() */
    size_t batch_takes; /* ranges that one call does before it stops short; 0: all */
    size_t batch_total; /* ranges that all calls do before the next is refused; 0: all */
} told;

static struct { size_t batches, ranges, no_huge; } seen;

static void be_told_nothing(void) {
    memset(&told, 0, sizeof told);
    memset(&seen, 0, sizeof seen);
}

static int refuse(int error) {
    errno = error;
    return -1;
}

void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset) {
    if (told.mmap_fails) return refuse(ENOMEM), MAP_FAILED;
    return __real_mmap(at, bytes, prot, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t bytes) {
    return told.munmap_fails ? refuse(ENOMEM) : __real_munmap(at, bytes);
}

int __wrap_mincore(void *at, size_t bytes, unsigned char *vec) {
    return told.mincore_fails ? refuse(EAGAIN) : __real_mincore(at, bytes, vec);
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
    if (advice == MADV_NOHUGEPAGE) seen.no_huge++;
    return __real_madvise(at, bytes, advice);
}

static long batch(int pidfd, const void *range, size_t count, int advice, int flags) {
    seen.batches++;
    if (told.no_batch) return refuse(EINVAL);
    if (told.batch_takes != 0 && told.batch_takes < count) count = told.batch_takes;
    if (told.batch_total != 0 && told.batch_total - seen.ranges < count) count = told.batch_total - seen.ranges;
    if (count == 0) return refuse(ENOMEM);
    seen.ranges += count;
    return __real_syscall(SYS_process_madvise, pidfd, range, count, advice, flags);
}

/* The two calls that go this way; their arguments are read as they were passed. */
long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    if (number != SYS_process_madvise) {
        void *only = va_arg(list, void *);
        va_end(list);
        return __real_syscall(number, only);
    }
    int pidfd = va_arg(list, int);
    const void *range = va_arg(list, const void *);
    size_t count = va_arg(list, size_t);
    int advice = va_arg(list, int);
    int flags = va_arg(list, int);
    va_end(list);
    return batch(pidfd, range, count, advice, flags);
}

/* ---- pages ---- */

static size_t page;

static char *map(size_t pages) {
    void *at = NULL;
    page = cc__vm_page_bytes();
    assert_int_equal(cc__vm_map(&at, pages * page), 0);
    return at;
}

/* `want` a number of times over. */
static const char *times(size_t n, const char *want) {
    static char row[PAGES_MAX + 1];
    size_t len = strlen(want);
    for (size_t i = 0; i < n; i++) memcpy(row + i * len, want, len);
    row[n * len] = 0;
    return row;
}

/* ---- map, unmap, discard ---- */

static void page_size_is_the_systems(void **state) {
    (void)state;
    assert_int_equal(cc__vm_page_bytes(), sysconf(_SC_PAGESIZE));
    assert_int_equal(cc__vm_page_bytes(), sysconf(_SC_PAGESIZE)); /* and is kept */
}

static void mapped_memory_is_zero_and_ours(void **state) {
    (void)state;
    be_told_nothing();
    errno = 77;
    char *at = map(4);
    assert_int_equal(errno, 77);
    assert_int_equal((uintptr_t)at % page, 0);
    assert_int_equal(seen.no_huge, 1);
    for (size_t i = 0; i < 4 * page; i++) assert_int_equal(at[i], 0);
    memset(at, 'x', 4 * page);
    errno = 77;
    cc__vm_unmap(at, 4 * page);
    assert_int_equal(errno, 77);
    unsigned char vec[4];
    assert_int_equal(__real_mincore(at, 4 * page, vec), -1); /* nothing is there any more */
    assert_int_equal(errno, ENOMEM);
}

/* Reserved, not committed: more than most machines have. */
static void reserving_costs_nothing(void **state) {
    (void)state;
    size_t bytes = test_scaled(64) << 30;
    void *at;
    assert_int_equal(cc__vm_map(&at, bytes), 0);
    ((char *)at)[0] = 1;
    ((char *)at)[bytes - 1] = 1;
    cc__vm_unmap(at, bytes);
}

static void map_says_when_there_is_no_room(void **state) {
    (void)state;
    int untouched;
    void *at = &untouched;
    errno = 77;
    assert_int_equal(cc__vm_map(&at, (SIZE_MAX / 4) & ~(cc__vm_page_bytes() - 1)), -ENOMEM);
    be_told_nothing();
    told.mmap_fails = true;
    assert_int_equal(cc__vm_map(&at, cc__vm_page_bytes()), -ENOMEM);
    be_told_nothing();
    assert_int_equal(errno, 77);
    assert_ptr_equal(at, &untouched);
}

static void discarded_memory_reads_zero(void **state) {
    (void)state;
    char *at = map(4);
    memset(at, 'x', 4 * page);
    errno = 77;
    cc__vm_discard(at + page, 2 * page);
    assert_int_equal(errno, 77);
    for (size_t i = 0; i < 4 * page; i++) assert_int_equal(at[i], i / page == 0 || i / page == 3 ? 'x' : 0);
    at[page] = 'y';
    assert_int_equal(at[page], 'y');
    cc__vm_unmap(at, 4 * page);
    errno = 77;
    cc__vm_discard(at, page); /* not there: harmless */
    assert_int_equal(errno, 77);
}

/* Which pages of a row are resident, in letters as above. */
static void resident_is(char *at, const char *want) {
    static char row[PAGES_MAX + 1];
    static unsigned char vec[PAGES_MAX];
    size_t n = strlen(want);
    assert_int_equal(__real_mincore(at, n * page, vec), 0);
    for (size_t i = 0; i < n; i++) row[i] = (vec[i] & 1) != 0 ? '#' : '.';
    row[n] = 0;
    assert_string_equal(row, want);
}

static bool have_commit(void) {
    be_told_nothing();
    char *at = map(1);
    cc__vm_commit(at, page, page, 1);
    unsigned char vec = 0;
    assert_int_equal(__real_mincore(at, page, &vec), 0);
    cc__vm_unmap(at, page);
    return (vec & 1) != 0;
}

static void committed_memory_is_resident(void **state) {
    (void)state;
    if (!have_commit()) skip();
    be_told_nothing();
    char *at = map(600);
    errno = 77;
    cc__vm_commit(at + page, page, 4 * page, 150); /* more than fit one call */
    assert_int_equal(errno, 77);
    resident_is(at, times(150, ".#.."));
    for (size_t i = 0; i < 600 * page; i += page / 2) assert_int_equal(at[i], 0);
    assert_int_equal(seen.ranges, 150);
    assert_in_range(seen.batches, 1, 10);
    cc__vm_unmap(at, 600 * page);

    at = map(8);
    at[4 * page] = 'x';
    cc__vm_commit(at, 2 * page, 4 * page, 2);
    resident_is(at, "##..##..");
    assert_int_equal(at[4 * page], 'x'); /* what was there stays */
    cc__vm_commit(at + 2 * page, page, page, 0);
    resident_is(at, "##..##..");
    cc__vm_unmap(at, 8 * page);
}

/* A hint: short or refused, it ends, and the memory is as it was. */
static void commit_may_be_refused(void **state) {
    (void)state;
    bool have = have_commit();
    be_told_nothing();
    char *at = map(100);
    told.no_batch = true;
    errno = 77;
    cc__vm_commit(at, page, page, 100);
    assert_int_equal(errno, 77);
    assert_int_equal(seen.batches, have); /* and is not asked again */
    assert_null(cc__vm_lowest_resident(at, 100 * page));
    if (have) {
        be_told_nothing();
        told.batch_takes = 3;
        told.batch_total = 10;
        cc__vm_commit(at, page, 2 * page, 50);
        assert_int_equal(seen.batches, 5); /* 3 3 3 1, and none */
        resident_is(at, "#.#.#.#.#.#.#.#.#.#........");
    }
    be_told_nothing();
    at[99 * page] = 1;
    cc__vm_unmap(at, 100 * page);
}

/* A kernel too old for it is not asked at all. */
static void commit_is_not_asked_of_old_kernels(void **state) {
    (void)state;
    be_told_nothing();
    cc__vm_guard_force(CC__VM_GUARD_MPROTECT);
    char *at = map(4);
    cc__vm_commit(at, page, page, 4);
    assert_int_equal(seen.batches, 0);
    assert_null(cc__vm_lowest_resident(at, 4 * page));
    cc__vm_unmap(at, 4 * page);
    cc__vm_guard_force(CC__VM_GUARD_LIGHT);
}

static void unmap_gives_the_memory_back_even_so(void **state) {
    (void)state;
    char *at = map(2);
    memset(at, 'x', 2 * page);
    told.munmap_fails = true;
    errno = 77;
    cc__vm_unmap(at, 2 * page);
    told.munmap_fails = false;
    assert_int_equal(errno, 77);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[2 * page - 1], 0);
    cc__vm_unmap(at, 2 * page);
}

/* ---- what is resident ---- */

static void lowest_resident_is_found(void **state) {
    (void)state;
    enum { PAGES = PAGES_MAX };
    const size_t downwards[] = {699, 600, 513, 512, 511, 300, 257, 256, 255, 254, 1, 0};
    be_told_nothing();
    char *at = map(PAGES);
    errno = 77;
    assert_null(cc__vm_lowest_resident(at, PAGES * page));
    for (size_t i = 0; i < TEST_COUNT_OF(downwards); i++) {
        at[downwards[i] * page + i] = 1;
        assert_ptr_equal(cc__vm_lowest_resident(at, PAGES * page), at + downwards[i] * page);
        assert_null(cc__vm_lowest_resident(at, downwards[i] * page)); /* nothing below it */
    }
    assert_ptr_equal(cc__vm_lowest_resident(at + 2 * page, (PAGES - 2) * page), at + 254 * page);
    cc__vm_discard(at, 512 * page);
    assert_ptr_equal(cc__vm_lowest_resident(at, PAGES * page), at + 512 * page);
    cc__vm_discard(at, PAGES * page);
    assert_null(cc__vm_lowest_resident(at, PAGES * page));
    assert_null(cc__vm_lowest_resident(at, 0));
    assert_int_equal(errno, 77);
    cc__vm_unmap(at, PAGES * page);
}

static void nothing_is_resident_where_nobody_can_tell(void **state) {
    (void)state;
    be_told_nothing();
    char *at = map(2);
    at[0] = 1;
    errno = 77;
    assert_ptr_equal(cc__vm_lowest_resident(at, 2 * page), at); /* leaves an answer behind on the stack */
    told.mincore_fails = true;
    assert_null(cc__vm_lowest_resident(at, 2 * page));
    told.mincore_fails = false;
    assert_int_equal(errno, 77);
    cc__vm_unmap(at, 2 * page);
    assert_null(cc__vm_lowest_resident(at, 2 * page));
    assert_int_equal(errno, 77);
}

TEST_MAIN(cmocka_unit_test(page_size_is_the_systems), cmocka_unit_test(mapped_memory_is_zero_and_ours),
          cmocka_unit_test(reserving_costs_nothing), cmocka_unit_test(map_says_when_there_is_no_room),
          cmocka_unit_test(discarded_memory_reads_zero), cmocka_unit_test(committed_memory_is_resident),
          cmocka_unit_test(commit_may_be_refused), cmocka_unit_test(commit_is_not_asked_of_old_kernels),
          cmocka_unit_test(unmap_gives_the_memory_back_even_so), cmocka_unit_test(lowest_resident_is_found),
          cmocka_unit_test(nothing_is_resident_where_nobody_can_tell))
