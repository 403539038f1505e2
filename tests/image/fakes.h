/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKES_H
#define HONE_TESTS_IMAGE_FAKES_H
/*
 * A source without a file, whose disk is described by a string, and a sink on a
 * store in memory. Both record their calls and can fail. The source aborts if a
 * call breaks the contract of format.h. A test fails if the places of the sink
 * are not in ascending order.
 */
#include <pthread.h>
#include <stdatomic.h>
#include "format/format.h"
#include "store/store.h"
#include "store/stream.h"

#define FAKE_CALLS 64

struct fake_call {
	uint64_t offset;
	uint64_t length;
};

struct fake {
	struct image_source source;
	/* of the source, for unchanged() alone */
	struct image_store store;
	/*
	 * One letter for each `grain` bytes of the disk: - a hole; 0 a zero
	 * cluster; z data, all zero; c compressed data; b data of the backing
	 * file; r data that no codec shortens; any other letter: data that
	 * differs from that of other letters
	 */
	const char *map;
	uint64_t grain;
	/* extents end at multiples of this too; 0: only where letters change */
	uint64_t look;
	/* the bits of this byte of the data are inverted; UINT64_MAX: none */
	uint64_t flip;
	/* what is read or described from these offsets on fails; 0: nothing */
	uint64_t fail_read;
	uint64_t fail_extent;
	/* unchanged() fails */
	bool changed;
	/* called before each read, if not NULL */
	void (*on_read)(void *opaque, uint64_t offset, size_t length);
	void *opaque;

	/* calls, the first of which are listed; any thread may make them */
	atomic_uint extents;
	atomic_uint n_reads;
	struct fake_call reads[FAKE_CALLS];
};

/* The host offset of byte 0 of every fake disk. */
#define FAKE_HOST ((uint64_t)1 << 30)

/* A disk of these bytes, at most strlen(map) * grain. */
void fake_init(
	struct fake *fake, const char *map, uint64_t grain, uint64_t size);

/* A random map of n of these letters: one in `change` letters may differ from
 * that before it. */
void fake_random_map(char *map, size_t n, const char *letters, size_t change,
	uint64_t *random);

/* The byte of the disk; alike in aligned blocks of 512, but for r. */
unsigned char fake_byte(const struct fake *fake, uint64_t offset);

/* Those of [offset, offset + length), none past the end of the disk. */
void fake_bytes(const struct fake *fake, uint64_t offset, unsigned char *bytes,
	size_t length);

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
	/* blocks are shared: none but the one that is tried if it refuses */
	bool may_share;
	bool refuses;
	/* -errno of zero */
	int zero_fails;
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

/* A stream of bytes, which can fail. */
struct fake_stream {
	struct image_stream stream;
	const unsigned char *bytes;
	size_t length;
	/* most bytes of a read; 0: reads of changing lengths */
	size_t piece;
	/* -errno of the read at that offset, or 0; at first, of the end */
	int fails;
	size_t fails_at;
	/* where zeros begin and end that may be skipped */
	size_t zeros[2];
	/* what happened */
	size_t at;
	unsigned n_reads;
	/* no other read may follow */
	bool failed;
	bool closed;
};

/* Bytes that stay the caller's. Closing frees nothing. */
void fake_stream_init(
	struct fake_stream *stream, const void *bytes, size_t length);

/*
 * A gate between threads: fake_wait() returns once fake_open() was called. A
 * gate that nobody opens makes the test hang.
 */
struct fake_gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open;
};

#define FAKE_GATE                                                              \
	{                                                                      \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false     \
	}

void fake_open(struct fake_gate *gate);
void fake_wait(struct fake_gate *gate);
/* Give the other threads the time to find nothing to do, and to sleep. */
void fake_pause(void);

static inline void
fake_raise(atomic_uint *most, unsigned value)
{
	unsigned seen = atomic_load(most);
	while (seen < value &&
		!atomic_compare_exchange_weak(most, &seen, value))
		;
}

/*
 * Four threads read the bytes of a store: two anywhere, and two mostly
 * ascending, as an image is read; or in chunks that are released, each once.
 */
void fake_read_by_threads(struct image_store *store, const unsigned char *bytes,
	size_t size, size_t chunk);

/* A store on a descriptor that counts what it is asked for, and can fail. */

struct test_store {
	struct image_store store;
	int fd;
	/* writes, zeros and resizes that were asked for */
	unsigned calls;
	/* bytes that were written */
	uint64_t bytes;
	/* bytes that were zeroed */
	uint64_t zeroed;
	/* the call of that number fails; 0: none */
	unsigned fail_at;
	/* of the last write */
	uint64_t last_offset;
	size_t last_length;
	bool last_was_write;
	bool closed;
};

/* fd stays the caller's; -1: what is written is dropped. The store lies in
 * *store: closing frees nothing. */
void test_store_init(struct test_store *store, int fd);

/* A file that is gone when it is closed. */
int test_store_scratch(void);

/* The file of a descriptor, opened by its path. */
struct image_store *open_again(int fd);
/* The descriptor itself, as a target. */
struct image_store *use(int fd);

#endif
