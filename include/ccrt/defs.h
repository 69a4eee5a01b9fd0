/* SPDX-License-Identifier: MIT */
/* What every public header needs: linkage, visibility, attributes. */
#ifndef CCRT_DEFS_H
#define CCRT_DEFS_H

#include <stddef.h>

#ifdef __cplusplus
#define CC_BEGIN_DECLS extern "C" {
#define CC_END_DECLS }
#else
#define CC_BEGIN_DECLS
#define CC_END_DECLS
#endif

#if defined(__GNUC__)
#define CC_API __attribute__((visibility("default")))
#define CC_NODISCARD __attribute__((warn_unused_result))
#else
#define CC_API
#define CC_NODISCARD
#endif

/* The struct of that type whose member ptr points to. */
#define CC_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Of typed calls: ptr, which must be a pointer to that type; and a value of the type of something's elements, in the
 * caller's frame. */
#define CC_PRIV_SAME(type_ptr, ptr) (1 ? (ptr) : (type_ptr))
#ifndef __cplusplus
#define CC_PRIV_ELEM(c, ...) ((__typeof__(*(c).type)[1]){__VA_ARGS__})
#else
namespace ccrt {
namespace priv {
/* T, where it is not to be deduced: then braces will do for a value of it. */
template <class T> struct cc_elem_of {
    static_assert(__is_trivially_copyable(T), "ccrt: values are copied byte by byte");
    typedef T type;
};
} /* namespace priv */
} /* namespace ccrt */
#endif

#endif /* CCRT_DEFS_H */
