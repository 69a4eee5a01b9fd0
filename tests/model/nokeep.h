/* SPDX-License-Identifier: MIT */
/* Workers that keep no locks: what models of workers have in place of src/task/lock.c, which model_keep.c
 * checks. To be included once. */
#ifndef CCMC_NOKEEP_H
#define CCMC_NOKEEP_H

#include "task/keep.h"

struct cc__keeper *cc__keeper_begin(void) {
    return NULL;
}
void cc__keeper_end(struct cc__keeper *k) {
    (void)k;
}

#endif /* CCMC_NOKEEP_H */
