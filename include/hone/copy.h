/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_H
#define HONE_COPY_H
/**
 * Copies that leave the data in the CPU cache, or store past it.
 *
 * A copy with normal stores leaves its destination in the CPU cache. This is
 * best if the destination is read soon. A streamed copy stores past the cache
 * by non-temporal stores. This is faster for large blocks and does not displace
 * other data, but the first read of the destination goes to memory.
 * docs/design/copy.md of the sources has measurements of both.
 *
 * These functions accept any size and alignment. Source and destination must
 * not overlap, but they may be equal: such a copy changes nothing. Any thread
 * may call them; the caller protects the destination against other threads.
 * With n 0 the pointers may be NULL.
 *
 * Debug builds of the library assert that nothing overlaps, except for constant
 * sizes that the caller's compiler expands, and that the policy exists. In
 * release builds these and all other broken contracts are undefined.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** The use of the CPU cache; values for hone_memcpy(). */
enum hone_copy_policy {
	/** KEEP below hone_copy_threshold(), STREAM from there on */
	HONE_COPY_AUTO = 0,
	/** normal stores: the destination stays in the cache, for use soon.
	 * hone_memcpy() calls memcpy() of the C library, except for copies up
	 * to 64 bytes and for sizes at which libhone is known to be faster than
	 * this C library on this CPU: HONE_CPU_TRAIT_COPY_MIN */
	HONE_COPY_KEEP = 1,
	/** non-temporal stores past the cache; normal stores below 4 KiB, where
	 * streaming is slower */
	HONE_COPY_STREAM = 2,
	/** as STREAM, and keep the source out of the cache as far as the CPU
	 * can */
	HONE_COPY_STREAM_PROTECT = 3,
	/** added to a policy: no fence; call hone_copy_fence() at the end */
	HONE_COPY_NO_FENCE = 0x100
};

/**
 * Copy bytes.
 *
 * :param dst:    the first byte to write.
 * :param src:    the first byte to read.
 * :param n:      bytes, 0 to SIZE_MAX / 2.
 * :param policy: one of enum hone_copy_policy, with or without
 *                HONE_COPY_NO_FENCE.
 *
 * This thread always reads what it wrote. A release store by this thread
 * publishes the copy to other threads, as it publishes any store. After a call
 * with HONE_COPY_NO_FENCE, hone_copy_fence() must come before the release
 * store. Other threads may see streamed bytes before earlier stores of this
 * thread. If this matters, as for the writer of a sequence lock, call
 * hone_copy_fence() before the copy too, in addition to the usual fence.
 */
HONE_INLINE void hone_memcpy(void *dst, const void *src, size_t n, int policy);

/**
 * Set bytes to zero.
 *
 * :param dst:    the first byte to clear.
 * :param n:      bytes, 0 to SIZE_MAX / 2.
 * :param policy: as for hone_memcpy(); KEEP is a loop of libhone for each size,
 *                STREAM_PROTECT does what STREAM does.
 *
 * Ordered as hone_memcpy() is.
 */
HONE_API void hone_memset_zero(void *dst, size_t n, int policy);

/**
 * End a batch of calls with HONE_COPY_NO_FENCE. From then on a release store by
 * this thread publishes what they wrote, as it publishes any store.
 *
 * The fence also orders earlier stores before later streamed bytes. It does not
 * replace any other fence: on a CPU that does not reorder streamed stores, it
 * is only a barrier of the compiler.
 */
HONE_API void hone_copy_fence(void);

/**
 * Get the size from which HONE_COPY_AUTO streams.
 *
 * :return: bytes. Default: the trait HONE_CPU_TRAIT_STREAM_MIN; if it is
 *          unknown, 16 MiB.
 */
HONE_API size_t hone_copy_threshold(void);

/**
 * Set the size from which HONE_COPY_AUTO streams, for the whole process.
 *
 * :param bytes: the size. 0: the default; SIZE_MAX: never stream. Copies below
 *               4 KiB are never streamed.
 *
 * Calls that are running in other threads finish with the old size.
 */
HONE_API void hone_copy_set_threshold(size_t bytes);

/**
 * Copy whole 64-byte blocks between aligned addresses, with HONE_COPY_KEEP.
 *
 * :param dst:    aligned to 64 bytes.
 * :param src:    aligned to 64 bytes.
 * :param blocks: number of blocks of 64 bytes, 0 to SIZE_MAX / 128.
 *
 * Use it for tables that consist of cache lines, such as scripts in shared
 * memory. Otherwise as hone_memcpy().
 */
HONE_INLINE void hone_copy_blocks(void *dst, const void *src, size_t blocks);

/**
 * Copy an array of pointers, with HONE_COPY_KEEP.
 *
 * :param dst: aligned as a pointer.
 * :param src: aligned as a pointer.
 * :param n:   number of pointers, at most SIZE_MAX / 2 bytes of them.
 *
 * Use it for short groups, such as those that pools and rings move. Otherwise
 * as hone_memcpy().
 */
HONE_INLINE void hone_copy_pointers(void **dst, void *const *src, size_t n);

HONE_END_DECLS

#include <hone/detail/copy.h>
#endif
