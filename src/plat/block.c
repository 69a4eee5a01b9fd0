/* SPDX-License-Identifier: MIT */
/* Aligned blocks by plain malloc(): glibc has small ones at hand for each thread, while aligned_alloc() takes the lock
 * of an arena and splits a larger one, which is most of what a channel costs. The address that malloc() gave stands in
 * front of the block.
 *
 * A pointer into the middle of a block is not enough for valgrind to believe that somebody still has it, so there
 * aligned_alloc() it is.
 *
 * Prev: plat/vm.c  Next: plat/fault.c */
#include "block.h"

#include "../base/base.h"

#include <stdint.h>
#include <stdlib.h>

#if CCRT_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

void *cc__block_alloc(size_t bytes) {
    if (bytes > SIZE_MAX - CC__FALSE_SHARING) return NULL;
    if (RUNNING_ON_VALGRIND) return aligned_alloc(CC__FALSE_SHARING, cc__align_up(bytes, CC__FALSE_SHARING));
    char *whole = malloc(bytes + CC__FALSE_SHARING); /* aligned for any type: so there is room for a pointer */
    if (whole == NULL) return NULL;
    void **block = (void **)cc__align_up((uintptr_t)whole + sizeof whole, CC__FALSE_SHARING);
    block[-1] = whole;
    return block;
}

void cc__block_free(void *block) {
    if (block == NULL || RUNNING_ON_VALGRIND)
        free(block);
    else
        free(((void **)block)[-1]);
}
