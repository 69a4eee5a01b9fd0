/* SPDX-License-Identifier: MIT */
/* Virtual memory: reserve, discard, guard, and what is resident. */
#ifndef CC__PLAT_VM_H
#define CC__PLAT_VM_H

#include <stdbool.h>
#include <stddef.h>

size_t cc__vm_page_bytes(void);

/* Map zeroed, readable and writable memory that is committed page by page on first touch, in small
 * pages only (no transparent huge pages). bytes is a multiple of the page size.
 *   Returns    0; -ENOMEM */
int cc__vm_map(void **out, size_t bytes);
void cc__vm_unmap(void *at, size_t bytes);

/* The size of a huge page that memory gets if it asks for that; 0: this system gives none. */
size_t cc__vm_huge_bytes(void);
/* As cc__vm_map, on the boundary of a huge page, and in such pages as far as the system has them; bytes is a multiple
 * of cc__vm_huge_bytes(), which is not 0. */
int cc__vm_map_huge(void **out, size_t bytes);

/* Give the pages back to the system; they read as zero afterwards. Guards stay. */
void cc__vm_discard(void *at, size_t bytes);

/* How inaccessible guards are made. LIGHT marks the page table (Linux 6.13) and so does not split
 * the mapping; MPROTECT splits it, and stops with -ENOMEM near vm.max_map_count / 2 of them. */
enum cc__vm_guard { CC__VM_GUARD_LIGHT, CC__VM_GUARD_MPROTECT };

/* Which one this kernel gives; probed once. */
enum cc__vm_guard cc__vm_guard_kind(void);
/* Choose, for tests of the fallback; stays until called again. */
void cc__vm_guard_force(enum cc__vm_guard kind);

/* Make `count` ranges inaccessible, each `bytes` long, the first at `at`, then every `stride` bytes.
 * All of them or none (as far as -ENOMEM can tell: ranges made before a failure are made accessible
 * again).
 *   Returns    0; -ENOMEM out of memory, or (MPROTECT) out of maps */
int cc__vm_guard_install(void *at, size_t bytes, size_t stride, size_t count);

/* Commit `count` ranges before they are touched, in few system calls: cheaper than a fault each. A
 * hint: what the kernel does not do is committed on touch. */
void cc__vm_commit(void *at, size_t bytes, size_t stride, size_t count);

/* The lowest address in [at, at + bytes) whose page is resident, or NULL. */
void *cc__vm_lowest_resident(void *at, size_t bytes);

#endif /* CC__PLAT_VM_H */
