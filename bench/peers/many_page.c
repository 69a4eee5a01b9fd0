/* SPDX-License-Identifier: MIT */
/* many, the limit: a fiber needs at least one fresh page; this touches a million of them and nothing
 * else. No huge pages: stacks lie apart, so they cannot be had there either. */
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

enum { PAGES = 1000000 };

int main(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bench_check(at != MAP_FAILED, "cannot map a million pages");
    madvise(at, PAGES * page, MADV_NOHUGEPAGE);

    double start = bench_now_ns();
    for (size_t i = 0; i < PAGES; i++) *(volatile char *)(at + i * page) = 1;
    bench_report("create", (bench_now_ns() - start) / PAGES, "ns");
    return 0;
}
