/* SPDX-License-Identifier: MIT */
/* Small things every file uses: sizes, alignment, likelihood, container_of. */
#ifndef CC__BASE_BASE_H
#define CC__BASE_BASE_H

#include <stddef.h>
#include <stdint.h>

#define CC__LIKELY(x) __builtin_expect(!!(x), 1)
#define CC__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CC__NOINLINE __attribute__((noinline))
#define CC__NORETURN __attribute__((noreturn))
#define CC__COLD __attribute__((cold, noinline))
#define CC__UNUSED __attribute__((unused))

/* Built with ThreadSanitizer: gcc says so by a macro, clang by a feature. */
#if defined(__SANITIZE_THREAD__)
#define CC__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CC__TSAN 1
#endif
#endif
#ifndef CC__TSAN
#define CC__TSAN 0
#endif

/* Few functions are so small and so hot that they are inline: in release builds only, so that the others can be watched
 * at their calls. */
#if (defined(CCRT_ASSERT) && CCRT_ASSERT >= 1) || CC__TSAN
#define CC__INLINE_HOT 0
#else
#define CC__INLINE_HOT 1
#endif
#if CC__INLINE_HOT
#define CC__HOT static inline
#define CC__HOTTEST static inline __attribute__((always_inline)) /* whatever the compiler makes of its size */
#else
#define CC__HOT
#define CC__HOTTEST
#endif

/* A cache line, and the two that an adjacent-line prefetcher pulls together. */
#define CC__CACHE_LINE 64u
#define CC__FALSE_SHARING 128u

#define CC__COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define CC__CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Round up or down to a multiple of a power of two. */
static inline size_t cc__align_up(size_t n, size_t to) {
    return (n + to - 1) & ~(to - 1);
}
static inline size_t cc__align_down(size_t n, size_t to) {
    return n & ~(to - 1);
}

#endif /* CC__BASE_BASE_H */
