/* SPDX-License-Identifier: MIT */
/* What every public header needs: linkage, visibility, attributes. */
#ifndef CCRT_DEFS_H
#define CCRT_DEFS_H

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

#endif /* CCRT_DEFS_H */
