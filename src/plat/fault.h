/* SPDX-License-Identifier: MIT */
/* Memory faults: a look at each before whoever had the signal gets it. */
#ifndef CC__PLAT_FAULT_H
#define CC__PLAT_FAULT_H

/* Called on the thread that faulted, in a signal handler on a stack of its own, with the address that
 * was touched. Returns if the fault is not its business; does not return otherwise. */
typedef void cc__fault_fn(void *addr);

/* Put fn in front of the program's SIGSEGV disposition; what fn lets pass goes on to it.
 *   Returns    0; -EINVAL the system refuses a handler */
int cc__fault_install(cc__fault_fn *fn);

/* Give the calling thread an alternate signal stack, unless it has one, until it ends. Without it an
 * overflow cannot be reported: the handler would have no stack to run on. Repeating it is harmless.
 *   Returns    0; -ENOMEM, -EAGAIN */
int cc__fault_thread_begin(void);

#endif /* CC__PLAT_FAULT_H */
