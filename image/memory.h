/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_MEMORY_H
#define HONE_IMAGE_MEMORY_H
#include <stddef.h>
#include <stdint.h>

/* The default: zstd --long=27 needs half of it. */
#define IMAGE_MEMORY ((uint64_t)256 << 20)

/* The parts of the limit of a command: image_open.memory, image_run.memory. */
struct image_memory {
	/* decoders, and what they have unpacked. If the source is not packed,
	 * the sink has this part: for the contexts of compressors, for packed
	 * chunks, and for the layout of an image on stdout. */
	uint64_t unpack;
	/* chunks */
	size_t chunks;
	/* blocks of one store. Those below another one have only what is
	 * requested ahead. */
	uint64_t blocks;
	/* cached slices of tables, an index */
	size_t tables;
};

/* limit: 0: the default. */
static inline struct image_memory
image_memory(uint64_t limit)
{
	uint64_t sixteenth = (limit ? limit : IMAGE_MEMORY) / 16;

	return (struct image_memory){
		.unpack = 8 * sixteenth,
		.chunks = (size_t)(4 * sixteenth),
		.blocks = 3 * sixteenth,
		.tables = (size_t)sixteenth,
	};
}

#endif
