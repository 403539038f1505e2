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
 * not overlap; debug builds of the library assert this, except for constant
 * sizes that the caller's compiler expands. Any thread may call them; the
 * caller protects the destination against other threads. With n 0 the pointers
 * may be NULL.
 */
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/** The use of the CPU cache; values for hone_memcpy(). */
enum hone_copy_policy {
	/** KEEP below hone_copy_threshold(), STREAM from there on */
	HONE_COPY_AUTO = 0,
	/** normal stores: the destination stays in the cache, for use soon */
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
 * hone_copy_fence() before the copy too, in addition to the usual fence. Since
 * 0.1.
 */
HONE_INLINE void hone_memcpy(void *dst, const void *src, size_t n, int policy);

/**
 * Set bytes to zero.
 *
 * :param dst:    the first byte to clear.
 * :param n:      bytes, 0 to SIZE_MAX / 2.
 * :param policy: as for hone_memcpy(); STREAM_PROTECT does what STREAM does.
 *
 * Ordered as hone_memcpy() is. Since 0.1.
 */
HONE_API void hone_memset_zero(void *dst, size_t n, int policy);

/**
 * End a batch of calls with HONE_COPY_NO_FENCE. From then on a release store by
 * this thread publishes what they wrote, as it publishes any store.
 *
 * The fence also orders earlier stores before later streamed bytes. It does not
 * replace any other fence: on a CPU without out-of-order streaming it only
 * orders the compiler. Since 0.1.
 */
HONE_API void hone_copy_fence(void);

/**
 * Get the size from which HONE_COPY_AUTO streams.
 *
 * :return: bytes. Default: the trait HONE_CPU_TRAIT_STREAM_MIN; if it is
 *          unknown, twice the level 2 cache, at least 16 MiB.
 *
 * Since 0.1.
 */
HONE_API size_t hone_copy_threshold(void);

/**
 * Set the size from which HONE_COPY_AUTO streams, for the whole process.
 *
 * :param bytes: the size. 0: the default; SIZE_MAX: never stream. Copies below
 *               4 KiB are never streamed.
 *
 * Calls that are running in other threads finish with the old size. Since 0.1.
 */
HONE_API void hone_copy_set_threshold(size_t bytes);

/** Measurements of hone_copy_calibrate(); times are medians in nanoseconds. */
struct hone_copy_calibration {
	/** bytes: the size from which streaming was faster; SIZE_MAX: none */
	size_t threshold;
	/** number of sizes that were measured */
	size_t n_sizes;
	/** bytes of each */
	size_t size[16];
	/** copy with KEEP, then read the destination once */
	double keep_ns[16];
	/** copy with STREAM, then read the destination once */
	double stream_ns[16];
	/** bytes: the smallest and the largest copy with HONE_COPY_KEEP that is
	 * made by rep movsb from now on, as the traits of hone/cpu.h; none is
	 * if the largest is 0 or below the smallest */
	size_t rep_movsb_min, rep_movsb_max;
	/** number of sizes of hot copies that were measured; 0: the library has
	 * no rep movsb here, and the traits are unchanged */
	size_t n_hot;
	/** bytes of each */
	size_t hot_size[16];
	/** hot copy with KEEP by the library's loop */
	double loop_ns[16];
	/** hot copy with KEEP by rep movsb */
	double rep_movsb_ns[16];
	/** in how many of 9 comparisons rep movsb took over 5 % less time */
	unsigned n_clear[16];
	/** the trait HONE_CPU_TRAIT_STORE_BYTES from now on. 64: the variant
	 * "avx512" makes kept copies of over 256 bytes by vectors of 64 bytes,
	 * not of 32 */
	size_t store_bytes;
	/** number of sizes at which both vectors were measured; 0: there is no
	 * choice here, and the trait is unchanged */
	size_t n_vector;
	/** bytes of each */
	size_t vector_size[8];
	/** hot copy with KEEP by vectors of 32 bytes, and by those of 64 */
	double vector32_ns[8], vector64_ns[8];
	/** in how many of 9 comparisons each took over 5 % less time */
	unsigned n_clear32[8], n_clear64[8];
	/** for later releases; set to zero */
	size_t reserved[4];
};

/**
 * Measure what is faster on this machine, and choose it: the vectors of
 * HONE_COPY_KEEP, the sizes that it copies by rep movsb, and the size from
 * which HONE_COPY_AUTO streams.
 *
 * :param result: set to the measurements; or NULL.
 * :return: 0 on success;
 *          -ENOMEM if there is no memory; threshold, traits and result are
 *          unchanged.
 *
 * Hot copies of 512 bytes to 16 KiB with four alignments decide about the
 * vectors. At a size, vectors of one width are clearly faster if they take over
 * 5 % less time in at least 7 of 9 comparisons. The width that is clearly
 * faster at more sizes is stored in the trait HONE_CPU_TRAIT_STORE_BYTES, as 32
 * or 64. If both are at as many, the trait is unchanged. The vectors are
 * measured where the variant of hone/copy.h is "avx512".
 *
 * Hot copies of 4 KiB to 16 MiB decide about rep movsb. Its range is two or
 * more adjacent sizes at each of which it takes over 5 % less time than the
 * library's loop, by the medians and in at least 7 of 9 comparisons. Of several
 * such ranges, the one with the largest sum of savings is chosen. The range is
 * stored in the traits HONE_CPU_TRAIT_REP_MOVSB_MIN and
 * HONE_CPU_TRAIT_REP_MOVSB_MAX. It is not measured on a CPU whose trait ERMS is
 * 0, under a limit without any variant but "generic", on CPUs other than
 * x86-64, and in a build with MemorySanitizer. Copies of 64 KiB to 32 MiB in
 * memory that is in no CPU cache, each followed by one reading of the
 * destination, decide about the threshold.
 *
 * Takes well under a second, and 128 MiB of memory during the call. CPU caches
 * above half of that are not emptied between two copies. Call it under the load
 * that the machine will have, since other load changes the result. Other
 * threads may copy meanwhile: their kept copies follow what is being measured,
 * and are right either way. A child that another thread forks meanwhile keeps
 * the traits of that moment. Call it in one thread at a time, since the last
 * call to end sets the threshold and the traits. hone_copy_save() saves both
 * for the next start. Since 0.1.
 */
HONE_API int hone_copy_calibrate(struct hone_copy_calibration *result);

/** Bytes of memory that are enough for every line of hone_copy_save(). */
#define HONE_COPY_SAVED_SIZE 256

/**
 * Write what this process has chosen as one line of text, so that a program
 * measures once and applies the line at each start: the threshold of
 * HONE_COPY_AUTO, the range of rep movsb, and the trait that chooses the
 * vectors. The line names the CPU.
 *
 * :param text: set to the line, a line feed and a zero byte.
 * :param size: bytes of memory at text.
 * :return: bytes of the line with its line feed, without the zero byte;
 *          -ENOBUFS if size is too small; text is unchanged.
 *
 * Any thread may call it. The values are read one after the other: if another
 * thread sets them meanwhile, the line may mix old values with new ones. The
 * line does not say what hone_cpu_limit() allowed when it was measured. Without
 * the trait ERMS the line has no range. Since 0.1.
 */
HONE_API int hone_copy_save(char *text, size_t size);

/**
 * Choose what a line of hone_copy_save() says: set the threshold of
 * HONE_COPY_AUTO, and the traits HONE_CPU_TRAIT_REP_MOVSB_MIN,
 * HONE_CPU_TRAIT_REP_MOVSB_MAX and HONE_CPU_TRAIT_STORE_BYTES.
 *
 * :param text:   the line, from any source; may be NULL if length is 0. No zero
 *                byte has to follow it, and its line feed may be missing.
 * :param length: bytes of text.
 * :return: 0 on success;
 *          -EINVAL if text is anything but one line of this release's format;
 *          -ENODEV if the line is of another CPU: of another vendor, family or
 *          model on x86-64, elsewhere of another architecture;
 *          -ENODEV if the line has a range of rep movsb, and the trait ERMS of
 *          this CPU is 0.
 *
 * After an error nothing is changed. Any thread may call it. Calls that are
 * running in other threads finish with the old values, with the new ones, or
 * with some of both, and copy correctly with any. Since 0.1.
 */
HONE_API int hone_copy_apply(const char *text, size_t length);

/**
 * Copy whole 64-byte blocks between aligned addresses, with HONE_COPY_KEEP.
 *
 * :param dst:    aligned to 64 bytes.
 * :param src:    aligned to 64 bytes.
 * :param blocks: number of blocks of 64 bytes, 0 to SIZE_MAX / 128.
 *
 * For tables that consist of cache lines, such as scripts in shared memory.
 * Otherwise as hone_memcpy(). Since 0.1.
 */
HONE_INLINE void hone_copy_blocks(void *dst, const void *src, size_t blocks);

/**
 * Copy an array of pointers, with HONE_COPY_KEEP.
 *
 * :param dst: aligned as a pointer.
 * :param src: aligned as a pointer.
 * :param n:   number of pointers, at most SIZE_MAX / 2 bytes of them.
 *
 * For the short groups that pools and rings move. Otherwise as hone_memcpy().
 * Since 0.1.
 */
HONE_INLINE void hone_copy_pointers(void **dst, void *const *src, size_t n);

HONE_END_DECLS

#include <hone/detail/copy.h>
#endif
