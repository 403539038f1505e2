/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_DETAIL_TSAN_H
#define HONE_DETAIL_TSAN_H
/*
 * For programs with ThreadSanitizer. The tool does not watch a library that was
 * built without it, and would report races between threads that the library
 * orders. So the headers annotate this order, before and after each call that
 * goes out of line. The library and its own tests define HONE_NO_TSAN: the tool
 * then checks the order itself.
 */
#include <hone/api.h>

#if defined(__SANITIZE_THREAD__)
#define HONE_DETAIL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HONE_DETAIL_TSAN 1
#endif
#endif
#if !defined(HONE_DETAIL_TSAN) || defined(HONE_NO_TSAN)
#undef HONE_DETAIL_TSAN
#define HONE_DETAIL_TSAN 0
#endif

#if HONE_DETAIL_TSAN
HONE_BEGIN_DECLS
/* Of the tool: sanitizer/tsan_interface.h, which not every compiler has. */
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
HONE_END_DECLS
#define HONE_DETAIL_ACQUIRE(addr) __tsan_acquire(addr)
#define HONE_DETAIL_RELEASE(addr) __tsan_release(addr)
/* The body of a function that stands for a call that is never inline. */
#define HONE_DETAIL_TSAN_CALL(type, call, released, acquired)                  \
	type result;                                                           \
                                                                               \
	HONE_DETAIL_RELEASE(released);                                         \
	result = call;                                                         \
	HONE_DETAIL_ACQUIRE(acquired);                                         \
	return result
#else
#define HONE_DETAIL_ACQUIRE(addr) ((void)0)
#define HONE_DETAIL_RELEASE(addr) ((void)0)
#endif

#endif
