/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKE_SINK_H
#define HONE_TESTS_IMAGE_FAKE_SINK_H
/*
 * A sink on a store in memory that records its calls and can fail. A test fails
 * if the places are not in ascending order.
 */
#include "fake_source.h"

#define FAKE_FILE_BYTES ((size_t)16 << 20)
#define FAKE_PLACES 4096

struct fake_sink {
	struct image_sink sink;
	struct image_store store;
	struct image_store source_data;
	const struct fake *fake;
	/* FAKE_FILE_BYTES, of the test: zeros */
	unsigned char *file;
	/* a place has at most as many bytes; 0: any number */
	uint64_t most;
	/* bytes of the file between two places */
	uint64_t gap;
	/* fails from that guest offset on; 0: never */
	uint64_t fail_reserve;
	/* the write of that number fails; 0: none */
	unsigned fail_write;
	bool may_share;
	/* what happened */
	struct image_place places[FAKE_PLACES];
	size_t n_places;
	uint64_t at;
	uint64_t next_host;
	uint64_t shared;
	unsigned n_writes;
	unsigned n_shares;
	struct image_copied copied;
	struct image_error err;
};

/* An empty sink for a copy of the fake source. Keeps sink->file. */
void fake_sink_init(struct fake_sink *sink, struct fake *source);

#endif
