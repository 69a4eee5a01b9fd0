/* SPDX-License-Identifier: MIT */
/* The heavy fence of src/plat/barrier.c: here one of C11. To be included once. */
#ifndef CCMC_FENCES_H
#define CCMC_FENCES_H

#include "plat/barrier.h"

#include "ccmc.h"

#ifndef FENCES_POSSIBLE
#define FENCES_POSSIBLE true
#endif

bool cc__barrier_possible(void) {
    return FENCES_POSSIBLE;
}
void cc__barrier_all(void) {
    cc__fence_full(); /* [FJ2] [SL1] */
}

#endif /* CCMC_FENCES_H */
