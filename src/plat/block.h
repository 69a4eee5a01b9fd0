/* SPDX-License-Identifier: MIT */
/* Memory for objects that must share no cache line with others, and that are made and freed often. */
#ifndef CC__PLAT_BLOCK_H
#define CC__PLAT_BLOCK_H

#include <stddef.h>

/* At a multiple of CC__FALSE_SHARING, not zeroed; NULL: no memory. */
void *cc__block_alloc(size_t bytes);
void cc__block_free(void *block); /* NULL is harmless */

#endif /* CC__PLAT_BLOCK_H */
