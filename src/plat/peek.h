/* SPDX-License-Identifier: MIT */
/* Memory of this process that may not be there any more, or change meanwhile: copied by the kernel, which says so
 * instead of faulting. For reports. */
#ifndef CC__PLAT_PEEK_H
#define CC__PLAT_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copy n bytes. False: not all of them can be read. A system call; async-signal-safe; errno stays. */
bool cc__peek(void *to, const void *from, size_t n);

/* Copy a string, cut to size-1 and to what can be printed. False: it cannot be read, and is empty. */
bool cc__peek_text(char *to, size_t size, const char *from);

#endif /* CC__PLAT_PEEK_H */
