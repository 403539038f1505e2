/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_API_H
#define HONE_API_H
/**
 * What every other header of libhone needs: version, visibility, linkage.
 */

/** Version of the headers; hone_version() tells that of the library. */
#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0
#define HONE_VERSION_STRING "0.1.0"

#ifdef __cplusplus
#define HONE_BEGIN_DECLS extern "C" {
#define HONE_END_DECLS }
#else
#define HONE_BEGIN_DECLS
#define HONE_END_DECLS
#endif

/** Marks what the shared library exports. */
#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

/**
 * Marks a short body that is compiled into its caller.
 *
 * The library also exports one copy of each under the same name, for
 * languages that have no C compiler at hand (src/inlines.c).
 */
#ifdef HONE_EMIT_INLINES
#define HONE_INLINE HONE_API
#else
#define HONE_INLINE static inline
#endif

HONE_BEGIN_DECLS

/**
 * Version of the library in use.
 *
 * :return: a string such as "0.1.0"; constant, never freed.
 *
 * Any thread may call it. Since 0.1.
 */
HONE_API const char *hone_version(void);

HONE_END_DECLS
#endif
