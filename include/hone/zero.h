/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_ZERO_H
#define HONE_ZERO_H
/**
 * Zero detection: whether a buffer is all zeros, and where it is not.
 *
 * These functions accept any length and any alignment, and never read outside
 * the buffer. Any thread may call them while no thread writes to the buffer.
 * With len 0, buf may be NULL.
 *
 * Debug builds of the library assert that a block has at least 1 byte. In
 * release builds hone_zero_map() with block 0 returns 0 and sets nothing, and a
 * walk has no extents. Other broken contracts are undefined in both.
 *
 * The inline samples before the vector loop are an idea of QEMU's
 * buffer_is_zero (util/bufferiszero.c, 2024). docs/design/zero.md of the
 * sources describes the algorithm.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hone/api.h>

HONE_BEGIN_DECLS

/**
 * Test whether every byte is zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: true if all bytes are zero, or if the buffer is empty;
 *          false otherwise.
 */
HONE_INLINE bool hone_buffer_is_zero(const void *buf, size_t len);

/**
 * Test whether every byte is zero, without the inline samples: one call, and no
 * branch in the caller. Use it if buffers are nearly always zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: as hone_buffer_is_zero().
 */
HONE_API bool hone_buffer_is_zero_long(const void *buf, size_t len);

/**
 * Find the first byte that is not zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: its offset from buf;
 *          len if there is none.
 */
HONE_API size_t hone_find_nonzero(const void *buf, size_t len);

/**
 * Find the last byte that is not zero.
 *
 * :param buf: the first byte.
 * :param len: bytes, 0 to SIZE_MAX / 2.
 * :return: its offset from buf;
 *          len if there is none.
 */
HONE_API size_t hone_rfind_nonzero(const void *buf, size_t len);

/**
 * Map the zero blocks of a large buffer in one call.
 *
 * :param buf:    the first byte.
 * :param len:    bytes, 0 to SIZE_MAX / 2; the last block may be shorter.
 * :param block:  bytes in a block, at least 1; 4096 is usual.
 * :param bitmap: set to one bit for each block, (blocks + 7) / 8 bytes. Block i
 *                is bit i % 8 (1 << i % 8) of byte i / 8, in every byte order;
 *                1 means all zero. Unused bits of the last byte are cleared.
 *                The caller owns the bitmap. It must not overlap buf.
 * :return: the number of blocks that are all zero.
 */
HONE_API size_t hone_zero_map(
	const void *buf, size_t len, size_t block, void *bitmap);

/** Adjacent blocks of one kind, from hone_zero_walk_next(). */
struct hone_zero_extent {
	/** bytes from the start of the buffer */
	size_t offset;
	/** bytes, at least 1; a multiple of the block, except for the last */
	size_t length;
	/** true: all zero; false: every block has a byte that is not zero */
	bool zero;
};

/**
 * A walk over a buffer, set by hone_zero_walk_init(). Its members are private.
 * It holds no resource: there is no call to end it.
 */
struct hone_zero_walk {
	const unsigned char *buf;
	size_t len;
	size_t block;
	size_t offset;
	size_t mapped;
	uint64_t map;
	uint64_t reserved[2];
};

/**
 * Begin a walk over the extents of zeros and of data in a buffer.
 *
 * :param walk:  set by this call; belongs to one thread at a time.
 * :param buf:   the first byte; must stay unchanged until the walk ends.
 * :param len:   bytes, 0 to SIZE_MAX / 2.
 * :param block: bytes in a block, at least 1. Extents begin at multiples of it;
 *               zeros that do not fill a block count as data.
 */
HONE_API void hone_zero_walk_init(
	struct hone_zero_walk *walk, const void *buf, size_t len, size_t block);

/**
 * Get the next extent. Extents are as long as possible, so zeros and data
 * alternate.
 *
 * :param walk:   set by hone_zero_walk_init().
 * :param extent: set to the extent if there is one.
 * :return: true if there is an extent;
 *          false at the end of the buffer.
 */
HONE_API bool hone_zero_walk_next(
	struct hone_zero_walk *walk, struct hone_zero_extent *extent);

HONE_END_DECLS

#include <hone/detail/zero.h>
#endif
