/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_API_H
#define HONE_API_H
/**
 * Version, visibility and linkage, for every other header of libhone, and what
 * all functions have in common. The headers are for GCC and Clang, in C99 and
 * C++11.
 *
 * **A function of the caller returns to the library**, unless its comment says
 * that it may leave. A function leaves by a C++ exception, by longjmp(), by
 * pthread_exit(), or if its thread is cancelled in it. If it leaves where it
 * must not, the pool, stream or batch of the call must not be used any more,
 * and what the call holds is lost.
 *
 * **Cancellation.** Only calls that use a descriptor are cancellation points:
 * where their system calls are, and where they wait for io_uring.
 *
 * - With the GNU C library, a cancelled call closes and frees what it holds. A
 *   stream can then be used as after an error.
 * - There is one exception: a thread that is cancelled while open() returns may
 *   lose the descriptor (bug 12683 of the GNU C library). This concerns
 *   hone_read_file(), and hone_read_files() where it makes plain calls. With
 *   HONE_READ_NONBLOCK, open() is not a cancellation point, and nothing is
 *   lost.
 * - musl runs no cleanups of a thread that is cancelled or calls
 *   pthread_exit(): what the call holds is lost. A call of hone_read_files()
 *   with several threads must not be left in this way.
 *
 * **Contracts.** A comment states what a caller must do: ranges, alignment, no
 * overlap, pointers that are not NULL unless NULL has a meaning. If a caller
 * breaks a contract, the result is undefined. The head of each header lists two
 * kinds of exceptions: contracts that a debug build asserts, and contracts that
 * have a result in release builds. The debug build is that of the library, or
 * for inline functions that of the caller.
 *
 * **Members named reserved** let a later release add members. The functions
 * named ..._attr_init() set them to zero, and every function that takes the
 * struct returns -EINVAL if one of them is not zero. In a struct that the
 * library sets, they are zero. So use named initializers or ..._attr_init().
 *
 * **Signals.** A signal handler must call no function that changes a pool,
 * cache, ring, queue or stream which the interrupted thread may be using.
 */

/** Version of the headers; hone_version() returns the library's version. */
#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0
#define HONE_VERSION_STRING "0.1.0"

/* Bodies in the headers are C, with casts and null pointers of C. */
#if defined(__cplusplus)
#define HONE_DETAIL_PRAGMA(text) _Pragma(#text)
#define HONE_DETAIL_IGNORED(warning)                                           \
	HONE_DETAIL_PRAGMA(GCC diagnostic ignored warning)
#define HONE_BEGIN_DECLS                                                       \
	_Pragma("GCC diagnostic push") HONE_DETAIL_IGNORED("-Wold-style-cast") \
		HONE_DETAIL_IGNORED(                                           \
			"-Wzero-as-null-pointer-constant") extern "C"          \
	{
#define HONE_END_DECLS                                                         \
	}                                                                      \
	_Pragma("GCC diagnostic pop")
#else
#define HONE_BEGIN_DECLS
#define HONE_END_DECLS
#endif

/* For members that are accessed atomically: i386 aligns 8 bytes to 4. */
#define HONE_DETAIL_ALIGNED_8 __attribute__((aligned(8)))

/** Marks an exported function of the shared library; hone.c hides it. */
#if !defined(HONE_API)
#define HONE_API __attribute__((visibility("default")))
#endif

/* The caller must look at the result: without it, memory or an error is lost.
 */
#define HONE_DETAIL_RESULT __attribute__((warn_unused_result))

/**
 * Marks a function with a short body that is compiled into its caller.
 *
 * The library also exports one copy of each such function under the same name,
 * for languages without a C compiler (src/inlines.c).
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
 * Any thread may call it.
 */
HONE_API const char *hone_version(void);

HONE_END_DECLS
#endif
