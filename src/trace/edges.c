/* SPDX-License-Identifier: MIT */
/* Telling ThreadSanitizer. See edges.h.
 *
 * Prev: trace/edges.h  Next: trace/store.c */
#include "edges.h"

/* Of the sanitizer's public interface; the program has them, or not. */
extern __attribute__((weak)) void __tsan_acquire(void *at);
extern __attribute__((weak)) void __tsan_release(void *at);

void cc__edge_release(void *at) {
    __tsan_release(at);
}

void cc__edge_acquire(void *at) {
    __tsan_acquire(at);
}

#if !CC__TSAN
/* As the library is loaded: locks need no runtime. */
__attribute__((constructor)) static void look_for_it(void) {
    if (&__tsan_acquire != NULL && &__tsan_release != NULL) cc__trace_turn_on(CC__EDGES);
}
#endif
