/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_COPY_H
#define HONE_COPY_H
/**
 * memcpy that knows whether the data should stay in cache.
 *
 * A copy that stores normally leaves its destination in cache, which is right
 * when it is read soon. A copy that streams writes past the cache: faster for
 * large blocks and kind to what is resident, but the first read of the
 * destination then goes to memory. docs/design/copy.md of the sources has the
 * measurements that say where the line runs.
 *
 * Every function here takes any size and alignment. Source and destination
 * must not overlap; debug builds of the library assert that, but for sizes
 * that were constants of the caller's own. Any thread may call any of them;
 * what is written is the caller's to protect. With n 0 the pointers may be
 * NULL.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** What becomes of the caches. The values are flags of hone_memcpy(). */
enum hone_copy_policy {
	/** KEEP below hone_copy_threshold(), STREAM from there on */
	HONE_COPY_AUTO = 0,
	/** store: the destination is about to be used and stays in cache */
	HONE_COPY_KEEP = 1,
	/** write past the cache, but store less than 4 KiB, where that loses */
	HONE_COPY_STREAM = 2,
	/** as STREAM, and leave as little of the source in cache as the CPU can
	 */
	HONE_COPY_STREAM_PROTECT = 3,
	/** may be added: leave out the fence; end with hone_copy_fence() */
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
 * This thread itself always reads what it wrote. For others a release store
 * by this thread publishes the copy, as it does any store; after a call with
 * HONE_COPY_NO_FENCE only if hone_copy_fence() comes between. What is streamed
 * may be seen before what this thread stored earlier, though: where that
 * matters, as to the writer of a sequence lock, call hone_copy_fence() before
 * the copy too, beside the fence that is due there anyway. Since 0.1.
 */
HONE_INLINE void hone_memcpy(void *dst, const void *src, size_t n, int policy);

/**
 * Clear bytes.
 *
 * :param dst:    the first byte to clear.
 * :param n:      bytes, 0 to SIZE_MAX / 2.
 * :param policy: as for hone_memcpy(); STREAM_PROTECT does what STREAM does.
 *
 * Ordered as hone_memcpy() is. Since 0.1.
 */
HONE_API void hone_memset_zero(void *dst, size_t n, int policy);

/**
 * End a batch of calls that were made with HONE_COPY_NO_FENCE: from here on
 * what they wrote is ordered as any store is, so that a release store by this
 * thread publishes it.
 *
 * It also keeps what is streamed later behind what was stored before. It
 * replaces no other fence: where no variant streams out of order it holds the
 * compiler alone. Since 0.1.
 */
HONE_API void hone_copy_fence(void);

/**
 * Size from which HONE_COPY_AUTO streams.
 *
 * :return: bytes. Until it is set: twice the level 2 cache, at least 16 MiB.
 *
 * Since 0.1.
 */
HONE_API size_t hone_copy_threshold(void);

/**
 * Set the size from which HONE_COPY_AUTO streams, for the whole process.
 *
 * :param bytes: 0 goes back to the default; SIZE_MAX never streams. Less than
 *               4 KiB is stored whatever this says.
 *
 * Calls running in other threads finish by the old one. Since 0.1.
 */
HONE_API void hone_copy_set_threshold(size_t bytes);

/** What hone_copy_calibrate() measured; times are medians in nanoseconds. */
struct hone_copy_calibration {
	/** bytes: the size from which streaming won, SIZE_MAX if it never did
	 */
	size_t threshold;
	/** sizes that were tried */
	size_t n_sizes;
	/** bytes of each */
	size_t size[16];
	/** copy with KEEP, then read the destination once */
	double keep_ns[16];
	/** copy with STREAM, then read the destination once */
	double stream_ns[16];
};

/**
 * Measure from which size on streaming wins on this machine, when the
 * destination is read once right after the copy, and set the threshold to it.
 *
 * :param result: set to what was measured; NULL if nobody asks.
 * :return: 0, or -ENOMEM, which leaves the threshold and result as they were.
 *
 * Takes well under a second and 128 MiB of memory while it runs; caches larger
 * than half of that are not emptied between two copies. Call it where the
 * machine is as it will be, and in one thread at a time: other load shifts the
 * line, and the last to end sets the threshold. Since 0.1.
 */
HONE_API int hone_copy_calibrate(struct hone_copy_calibration *result);

/**
 * Copy whole 64-byte blocks between aligned addresses, kept in cache.
 *
 * :param dst:    aligned to 64 bytes.
 * :param src:    aligned to 64 bytes.
 * :param blocks: how many blocks of 64 bytes, 0 to SIZE_MAX / 128.
 *
 * For tables that are made of cache lines, such as scripts in shared memory.
 * Otherwise as hone_memcpy() with HONE_COPY_KEEP. Since 0.1.
 */
HONE_INLINE void hone_copy_blocks(void *dst, const void *src, size_t blocks);

/**
 * Copy an array of pointers.
 *
 * :param dst: aligned as a pointer is.
 * :param src: aligned as a pointer is.
 * :param n:   how many pointers, SIZE_MAX / 2 bytes of them at most.
 *
 * For the short groups that pools and rings move. Otherwise as hone_memcpy()
 * with HONE_COPY_KEEP. Since 0.1.
 */
HONE_INLINE void hone_copy_pointers(void **dst, void *const *src, size_t n);

HONE_END_DECLS

#include <hone/detail/copy.h>
#endif
