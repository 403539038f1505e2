/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_SOURCE_SUPPORT_H
#define HONE_TESTS_IMAGE_SOURCE_SUPPORT_H
/* qcow2 images in memory, on a store that counts its reads and can fail. */
#include <stdatomic.h>
#include "format/qcow2/qcow2.h"
#include "fake_memory.h"

struct counted {
	struct memory_store memory;
	_Atomic unsigned reads;
	/* the read of that number fails; 0: none */
	unsigned fail_at;
	/* unchanged() fails */
	bool changed;
	bool closed;
};

/* Bytes that stay the caller's. Closing frees nothing. */
void counted_init(struct counted *counted, const void *bytes, size_t length);

/* How an image is built. */
struct shape {
	unsigned cluster_bits;
	bool extended;
	enum image_codec_id codec;
	/*
	 * One letter for each cluster of the disk, repeated `times` times:
	 * s standard, next in the file; f standard, far from the one before;
	 * c compressed, next in the file; g compressed, after a gap of 64 KiB;
	 * z zero; - unallocated; m subclusters of every kind;
	 * h standard, the first half of its subclusters
	 */
	const char *clusters;
	unsigned times;
	/* bytes that the disk lacks of its last cluster */
	size_t cut;
};

struct built {
	struct counted counted;
	/* the file */
	unsigned char *bytes;
	size_t length;
	size_t room;
	/* what the disk holds */
	unsigned char *disk;
	size_t size;
};

/* The same shape and seed make the same image. */
void build(struct built *built, const struct shape *shape, uint64_t seed);
/* The store is closed by the source. */
void unbuild(struct built *built);
/* Open it; fails the test if that fails. */
struct image_source *open_built(struct built *built);

#endif
