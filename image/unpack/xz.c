/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The .xz format, by liblzma.
 *
 * `xz -T0` packs all blocks of zeros to the same bytes, and liblzma takes most
 * of the time for them. So a block is left out if its bytes, from the header to
 * the checksum, are those of an earlier block of the stream that liblzma
 * unpacked to zeros. The sizes in the headers of blocks cut the input.
 *
 * liblzma would miss these blocks in the index. So the index and the footer are
 * verified here, by functions of liblzma, if a block was left out. If none was,
 * or if something is wrong, liblzma gets the rest of the stream.
 */
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/zero.h>
#include "unpack/decoder.h"

/* Bytes of a block to compare: `xz -9` packs 192 MiB of zeros to 28 KiB. */
#define KNOWN ((size_t)32 << 10)
/* With as many runs, no block is left out. */
#define RUNS 64

enum place {
	HEADER,
	/* the header of a block, or the index */
	BLOCK,
	/* liblzma gets `left` bytes of input */
	SEND,
	/* liblzma unpacks what it has */
	DRAIN,
	/* a block without sizes, behind one that was left out */
	ALONE,
	INDEX,
	FOOTER
};

struct xz {
	lzma_stream stream;
	uint64_t memory;
	unsigned threads;
	enum place place;
	/* follows DRAIN */
	enum place after;
	uint64_t left;
	/* what liblzma unpacks is not in a run */
	bool pass;
	bool left_out;
	/* the error that came with the last content */
	lzma_ret failed;
	unsigned char header[LZMA_STREAM_HEADER_SIZE];
	lzma_stream_flags flags;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block;
	/* the blocks up to here, for the index */
	lzma_index_hash *hash;

	/* A ring: bytes that liblzma has yet to unpack, and zeros behind
	 * them. */
	struct run {
		uint64_t coded;
		uint64_t zeros;
	} runs[RUNS];
	unsigned first;
	unsigned count;
	/* content of the blocks that liblzma got, and how much it unpacked */
	uint64_t sent;
	uint64_t unpacked;

	/* One block, whose content has this place in what liblzma unpacks. It
	 * is forgotten when that is not zeros. No length: there is none. */
	unsigned char known[KNOWN];
	size_t known_length;
	uint64_t known_begin;
	uint64_t known_end;
};

static void *
xz_open(uint64_t memory, unsigned threads)
{
	struct xz *xz = calloc(1, sizeof(*xz));

	if (xz) {
		xz->stream = (lzma_stream)LZMA_STREAM_INIT;
		xz->memory = memory;
		xz->threads = threads;
	}
	return xz;
}

static lzma_ret
begin_liblzma(struct xz *xz)
{
	/* A check that liblzma does not know would not be verified. */
	lzma_mt threaded = {
		.flags = LZMA_TELL_UNSUPPORTED_CHECK,
		.threads = xz->threads,
		.memlimit_threading = xz->memory,
		.memlimit_stop = xz->memory,
	};

	return xz->threads < 2 ? lzma_stream_decoder(&xz->stream, xz->memory,
					 threaded.flags)
			       : lzma_stream_decoder_mt(&xz->stream, &threaded);
}

static lzma_ret
send_block(struct xz *xz, uint64_t length)
{
	xz->place = SEND;
	xz->left = length;
	return LZMA_OK;
}

static lzma_ret
send_rest(struct xz *xz)
{
	xz->pass = true;
	return send_block(xz, UINT64_MAX);
}

static int
xz_begin(void *state, const unsigned char *head, size_t length)
{
	struct xz *xz = state;
	lzma_index_hash *hash = lzma_index_hash_init(xz->hash, NULL);

	(void)head;
	(void)length;
	if (!hash)
		return -ENOMEM;
	xz->hash = hash;
	xz->place = HEADER;
	xz->pass = xz->left_out = false;
	xz->failed = LZMA_OK;
	xz->first = xz->count = 0;
	xz->sent = xz->unpacked = xz->known_length = 0;
	if (xz->threads < 2)
		send_rest(xz);
	return begin_liblzma(xz) == LZMA_OK ? 0 : -ENOMEM;
}

/* A block is compared if all of it is there. The first one does not wait. */
static size_t
xz_least(const void *state)
{
	const struct xz *xz = state;

	switch (xz->place) {
	case HEADER:
	case FOOTER:
		return LZMA_STREAM_HEADER_SIZE;
	case BLOCK:
		return xz->sent ? KNOWN : LZMA_BLOCK_HEADER_SIZE_MAX;
	case ALONE:
		/* The next block may follow in the same call. */
		return KNOWN;
	default:
		return 1;
	}
}

static struct run *
last_run(struct xz *xz)
{
	return &xz->runs[(xz->first + xz->count - 1) % RUNS];
}

/* There is room: the last of RUNS runs gets no zeros. */
static void
add_run(struct xz *xz)
{
	xz->count++;
	*last_run(xz) = (struct run){0};
}

/* The block goes to liblzma. The hash has no sum of contents past 63 bits. */
static void
add_coded(struct xz *xz, uint64_t content)
{
	if (content && (!xz->count || last_run(xz)->zeros))
		add_run(xz);
	if (content)
		last_run(xz)->coded += content;
	xz->sent += content;
}

static bool
leave_out(struct xz *xz, struct image_decode *io, uint64_t length)
{
	if (length != xz->known_length || xz->unpacked < xz->known_end ||
		xz->count == RUNS || io->in_left < length ||
		memcmp(io->in, xz->known, xz->known_length) != 0)
		return false;
	if (!xz->count)
		add_run(xz);
	last_run(xz)->zeros += xz->block.uncompressed_size;
	xz->left_out = true;
	io->in += length;
	io->in_left -= (size_t)length;
	return true;
}

/* The next block becomes the known one, unless its content is not zeros. */
static void
remember(struct xz *xz, const struct image_decode *io, uint64_t length)
{
	if (xz->known_length || length > KNOWN || length > io->in_left ||
		!xz->block.uncompressed_size)
		return;
	memcpy(xz->known, io->in, (size_t)length);
	xz->known_length = (size_t)length;
	xz->known_begin = xz->sent;
	xz->known_end = xz->sent + xz->block.uncompressed_size;
}

/* Forget the known block if these bytes, which are next, are not its zeros. */
static void
judge(struct xz *xz, const unsigned char *bytes, size_t length)
{
	uint64_t at = xz->unpacked, end = at + length;
	uint64_t begin = at < xz->known_begin ? xz->known_begin : at;

	xz->unpacked = end;
	if (end > xz->known_end)
		end = xz->known_end;
	if (begin < end && !hone_buffer_is_zero(
				   bytes + (begin - at), (size_t)(end - begin)))
		xz->known_length = 0;
}

/* Give liblzma `left` bytes of input. What it unpacks ends with the run. */
static lzma_ret
code(struct xz *xz, struct image_decode *io)
{
	struct run *run = xz->count ? &xz->runs[xz->first] : NULL;
	lzma_stream *stream = &xz->stream;
	size_t in = io->in_left < xz->left ? io->in_left : (size_t)xz->left;
	size_t out = run && run->coded < io->out_left ? (size_t)run->coded
						      : io->out_left;
	/* Without room, liblzma does not wait for its threads. */
	unsigned char none[1];
	bool nothing = !run && !xz->pass;

	stream->next_in = io->in;
	stream->avail_in = in;
	stream->next_out = nothing ? none : io->out;
	stream->avail_out = nothing ? 1 : out;
	/* LZMA_RUN does not wait for what the threads still unpack. */
	lzma_ret rc = lzma_code(stream, in ? LZMA_RUN : LZMA_FINISH);
	in -= stream->avail_in;
	io->in += in;
	io->in_left -= in;
	xz->left -= in;
	if (nothing)
		return stream->avail_out ? rc : LZMA_DATA_ERROR;
	out -= stream->avail_out;
	judge(xz, io->out, out);
	io->out += out;
	io->out_left -= out;
	if (run)
		run->coded -= out;
	return rc;
}

static lzma_ret
read_header(struct xz *xz, struct image_decode *io)
{
	if (io->in_left < sizeof(xz->header) ||
		lzma_stream_header_decode(&xz->flags, io->in) != LZMA_OK)
		return send_rest(xz);
	memcpy(xz->header, io->in, sizeof(xz->header));
	return send_block(xz, sizeof(xz->header));
}

/* The caller frees the filters. */
static lzma_ret
parse_block(struct xz *xz, const struct image_decode *io)
{
	if (io->in_left == 0)
		return LZMA_BUF_ERROR;
	xz->block = (lzma_block){
		.version = 1,
		.header_size = lzma_block_header_size_decode(io->in[0]),
		.check = xz->flags.check,
		.filters = xz->filters,
	};
	if (io->in_left < xz->block.header_size)
		return LZMA_BUF_ERROR;
	return lzma_block_header_decode(&xz->block, NULL, io->in);
}

static lzma_ret
drain(struct xz *xz, enum place after)
{
	if (!xz->left_out)
		return send_rest(xz);
	xz->place = DRAIN;
	xz->after = after;
	xz->left = 0;
	return LZMA_OK;
}

static bool
append(struct xz *xz)
{
	return lzma_index_hash_append(xz->hash,
		       lzma_block_unpadded_size(&xz->block),
		       xz->block.uncompressed_size) == LZMA_OK;
}

static lzma_ret
read_block(struct xz *xz, struct image_decode *io)
{
	if (io->in_left && io->in[0] == 0)
		return drain(xz, INDEX);
	lzma_ret rc = parse_block(xz, io);
	/* liblzma does not know the blocks that were left out. */
	if (rc != LZMA_OK)
		return rc == LZMA_MEM_ERROR ? rc : send_rest(xz);
	lzma_filters_free(xz->filters, NULL);
	if (xz->block.compressed_size == LZMA_VLI_UNKNOWN ||
		xz->block.uncompressed_size == LZMA_VLI_UNKNOWN)
		return drain(xz, ALONE);
	if (!append(xz))
		return send_rest(xz);
	uint64_t length = lzma_block_total_size(&xz->block);
	if (leave_out(xz, io, length))
		return LZMA_OK;
	remember(xz, io, length);
	add_coded(xz, xz->block.uncompressed_size);
	return send_block(xz, length);
}

static lzma_ret
read_sent(struct xz *xz, struct image_decode *io)
{
	lzma_ret rc = code(xz, io);

	/* liblzma did not see the blocks that were left out. */
	if (rc == LZMA_STREAM_END && xz->left_out)
		return LZMA_DATA_ERROR;
	if (!xz->left)
		xz->place = BLOCK;
	return rc;
}

static lzma_ret
begin_alone(struct xz *xz, struct image_decode *io)
{
	lzma_ret rc = LZMA_MEMLIMIT_ERROR;

	/* read_block() has parsed it. */
	if (parse_block(xz, io) != LZMA_OK)
		return LZMA_MEM_ERROR;
	uint64_t memory = lzma_raw_decoder_memusage(xz->filters);
	if (memory == UINT64_MAX)
		rc = LZMA_OPTIONS_ERROR;
	else if (memory <= xz->memory)
		rc = lzma_block_decoder(&xz->stream, &xz->block);
	lzma_filters_free(xz->filters, NULL);
	io->in += xz->block.header_size;
	io->in_left -= xz->block.header_size;
	xz->pass = true;
	xz->left = UINT64_MAX;
	return rc;
}

static lzma_ret
read_drained(struct xz *xz, struct image_decode *io)
{
	size_t out_left = io->out_left;
	lzma_ret rc;

	/* The second call in vain returns LZMA_BUF_ERROR: the threads have
	 * verified what they got. */
	do
		rc = code(xz, io);
	while (rc == LZMA_OK && io->out_left == out_left);
	if (rc != LZMA_BUF_ERROR)
		return rc;
	if (xz->count)
		return LZMA_DATA_ERROR;
	lzma_end(&xz->stream);
	xz->place = xz->after;
	return xz->place == ALONE ? begin_alone(xz, io) : LZMA_OK;
}

static lzma_ret
read_alone(struct xz *xz, struct image_decode *io)
{
	lzma_ret rc = code(xz, io);

	if (rc != LZMA_STREAM_END)
		return rc;
	if (!append(xz))
		return LZMA_DATA_ERROR;
	xz->pass = false;
	xz->place = BLOCK;
	lzma_end(&xz->stream);
	rc = begin_liblzma(xz);
	if (rc != LZMA_OK)
		return rc;
	xz->stream.next_in = xz->header;
	xz->stream.avail_in = sizeof(xz->header);
	xz->stream.avail_out = 0;
	return lzma_code(&xz->stream, LZMA_RUN);
}

static lzma_ret
read_index(struct xz *xz, struct image_decode *io)
{
	size_t used = 0;

	if (!io->in_left)
		return LZMA_OK;
	lzma_ret rc =
		lzma_index_hash_decode(xz->hash, io->in, &used, io->in_left);
	io->in += used;
	io->in_left -= used;
	xz->place = rc == LZMA_STREAM_END ? FOOTER : INDEX;
	return rc == LZMA_STREAM_END ? LZMA_OK : rc;
}

static lzma_ret
read_footer(struct xz *xz, struct image_decode *io)
{
	lzma_stream_flags footer;

	if (io->in_left < LZMA_STREAM_HEADER_SIZE) {
		io->in += io->in_left;
		io->in_left = 0;
		return LZMA_OK;
	}
	lzma_ret rc = lzma_stream_footer_decode(&footer, io->in);
	io->in += LZMA_STREAM_HEADER_SIZE;
	io->in_left -= LZMA_STREAM_HEADER_SIZE;
	if (rc == LZMA_OK)
		rc = lzma_stream_flags_compare(&xz->flags, &footer);
	if (rc == LZMA_OK &&
		footer.backward_size != lzma_index_hash_size(xz->hash))
		rc = LZMA_DATA_ERROR;
	/* liblzma returns LZMA_FORMAT_ERROR for the header alone. */
	if (rc == LZMA_FORMAT_ERROR)
		rc = LZMA_DATA_ERROR;
	return rc == LZMA_OK ? LZMA_STREAM_END : rc;
}

static bool
give_zeros(struct xz *xz, struct image_decode *io)
{
	struct run *run = &xz->runs[xz->first];
	const size_t room = io->out_left;

	if (!xz->count || run->coded)
		return false;
	image_decode_zeros(io, &run->zeros);
	if (run->zeros == 0) {
		xz->first = (xz->first + 1) % RUNS;
		xz->count--;
	}
	return io->out_left < room;
}

/* Take steps until one takes input or has output, or has to wait for it. */
static lzma_ret
decode(struct xz *xz, struct image_decode *io)
{
	static lzma_ret (*const steps[])(struct xz *, struct image_decode *) = {
		[HEADER] = read_header,
		[BLOCK] = read_block,
		[SEND] = read_sent,
		[DRAIN] = read_drained,
		[ALONE] = read_alone,
		[INDEX] = read_index,
		[FOOTER] = read_footer,
	};
	size_t in_left = io->in_left, out_left = io->out_left;
	lzma_ret rc = LZMA_OK;
	bool more = true;

	while (rc == LZMA_OK && more && !give_zeros(xz, io)) {
		enum place place = xz->place;
		rc = steps[place](xz, io);
		more = xz->place != place && io->in_left == in_left &&
		       io->out_left == out_left;
	}
	return rc;
}

static const char *
reason(lzma_ret rc)
{
	switch (rc) {
	case LZMA_UNSUPPORTED_CHECK:
		return "has a kind of checksum that is not supported";
	case LZMA_OPTIONS_ERROR:
		return "has filters or options that are not supported";
	case LZMA_FORMAT_ERROR:
		return "the header is not one of xz";
	default:
		return "the data or a checksum is wrong";
	}
}

static int
xz_decode(void *state, struct image_decode *io)
{
	struct xz *xz = state;
	size_t out_left = io->out_left;
	lzma_ret rc = xz->failed ? xz->failed : decode(xz, io);

	io->end = rc == LZMA_STREAM_END;
	/* LZMA_BUF_ERROR: a second call without progress. */
	if (rc == LZMA_OK || rc == LZMA_STREAM_END || rc == LZMA_BUF_ERROR)
		return 0;
	/* How much content comes with an error depends on the threads. */
	if (io->out_left < out_left) {
		xz->failed = rc;
		return 0;
	}
	if (rc == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (rc == LZMA_MEMLIMIT_ERROR) {
		snprintf(io->why, sizeof(io->why),
			"needs more memory than its share of --memory, "
			"%" PRIu64 " bytes",
			xz->memory);
		return -E2BIG;
	}
	snprintf(io->why, sizeof(io->why), "%s", reason(rc));
	return rc == LZMA_UNSUPPORTED_CHECK || rc == LZMA_OPTIONS_ERROR
		       ? -ENOTSUP
		       : -EINVAL;
}

static void
xz_close(void *state)
{
	struct xz *xz = state;

	lzma_end(&xz->stream);
	lzma_index_hash_end(xz->hash, NULL);
	free(xz);
}

/* Bytes of the packed file that are read at a time. */
#define INPUT ((size_t)128 << 10)

/* Bytes that are read in search of an index: any number of zeros may follow it.
 */
#define SEARCH ((uint64_t)256 << 20)

struct walk {
	struct image_store *store;
	struct image_error *err;
	/* most bytes of an index: 16 bytes a block */
	uint64_t memory;
	/* the failure of a read, or -ENOMEM */
	int rc;
	/* read so far */
	uint64_t searched;
	/* what input[] has */
	uint64_t begin;
	uint64_t end;
	unsigned char input[INPUT];
};

/* Returns `length` bytes of the file, at most INPUT; NULL after a failure, or
 * after SEARCH bytes. */
static const unsigned char *
look(struct walk *walk, uint64_t at, size_t length)
{
	if (at < walk->begin || at + length > walk->end) {
		uint64_t end = at + length;
		uint64_t begin = end > INPUT ? end - INPUT : 0;
		size_t bytes = (size_t)(end - begin);
		if (walk->searched >= SEARCH)
			return NULL;
		walk->searched += bytes;
		walk->begin = walk->end = 0;
		walk->rc = image_store_read(
			walk->store, begin, walk->input, bytes, walk->err);
		if (walk->rc < 0)
			return NULL;
		walk->begin = begin;
		walk->end = end;
	}
	return walk->input + (at - walk->begin);
}

/* Move *end in front of the zeros that follow a stream. */
static bool
skip_padding(struct walk *walk, uint64_t *end)
{
	const unsigned char *word;

	while (*end >= 4 && (word = look(walk, *end - 4, 4))) {
		if (word[0] | word[1] | word[2] | word[3])
			return true;
		*end -= 4;
	}
	return false;
}

static lzma_index *
find_index(struct walk *walk, uint64_t at, uint64_t left)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_index *index = NULL;
	lzma_ret rc = lzma_index_decoder(&stream, &index, walk->memory);

	while (rc == LZMA_OK && left) {
		size_t part = left < INPUT ? (size_t)left : INPUT;
		stream.next_in = look(walk, at, part);
		if (!stream.next_in)
			break;
		stream.avail_in = part;
		rc = lzma_code(&stream, LZMA_RUN);
		at += part;
		left -= part;
	}
	bool whole = rc == LZMA_STREAM_END && left == 0 && stream.avail_in == 0;
	lzma_end(&stream);
	if (rc == LZMA_MEM_ERROR)
		walk->rc = image_no_memory(walk->err);
	if (whole)
		return index;
	/* An index that is not complete belongs to the decoder. */
	if (rc == LZMA_STREAM_END)
		lzma_index_end(index, NULL);
	return NULL;
}

static bool
has_header(struct walk *walk, uint64_t at, const lzma_stream_flags *footer)
{
	lzma_stream_flags header;
	const unsigned char *bytes = look(walk, at, LZMA_STREAM_HEADER_SIZE);

	return bytes && lzma_stream_header_decode(&header, bytes) == LZMA_OK &&
	       lzma_stream_flags_compare(&header, footer) == LZMA_OK;
}

/* Add the content of the stream that ends at *end, and set *end to its begin.
 */
static bool
add_stream(struct walk *walk, uint64_t *end, uint64_t *size)
{
	lzma_stream_flags footer;

	if (*end < UINT64_C(2) * LZMA_STREAM_HEADER_SIZE)
		return false;
	uint64_t at = *end - LZMA_STREAM_HEADER_SIZE;
	const unsigned char *bytes = look(walk, at, LZMA_STREAM_HEADER_SIZE);
	if (!bytes || lzma_stream_footer_decode(&footer, bytes) != LZMA_OK ||
		footer.backward_size > at)
		return false;
	at -= footer.backward_size;
	lzma_index *index = find_index(walk, at, footer.backward_size);
	if (!index)
		return false;
	uint64_t blocks = lzma_index_total_size(index);
	uint64_t content = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	if (blocks > at || at - blocks < LZMA_STREAM_HEADER_SIZE ||
		__builtin_add_overflow(*size, content, size))
		return false;
	*end = at - blocks - LZMA_STREAM_HEADER_SIZE;
	return has_header(walk, *end, &footer);
}

/*
 * Looks at each stream once, from the last one to the first: the time of
 * lzma_file_info_decoder(), which joins the indexes, grows by the square of
 * their number.
 */
static int
xz_size(struct image_store *store, uint64_t memory, uint64_t *size,
	struct image_error *err)
{
	struct walk *walk = malloc(sizeof(*walk));
	uint64_t end = store->size, content = 0;

	*size = IMAGE_SIZE_UNKNOWN;
	if (!walk)
		return image_no_memory(err);
	walk->store = store;
	walk->memory = memory;
	walk->err = err;
	walk->rc = 0;
	walk->searched = walk->begin = walk->end = 0;
	bool good = end > 0 && end % 4 == 0;
	while (good && end > 0)
		good = skip_padding(walk, &end) &&
		       add_stream(walk, &end, &content);
	/* No decoder reaches a larger number. */
	if (good && content < IMAGE_SIZE_UNKNOWN)
		*size = content;
	int rc = walk->rc;
	free(walk);
	return rc;
}

const struct image_decoder image_decoder_xz = {
	.version = lzma_version_string,
	.begins = image_begins_xz,
	/* "Stream Padding" of the format */
	.padding = 4,
	.least = xz_least,
	.size = xz_size,
	.open = xz_open,
	.begin = xz_begin,
	.decode = xz_decode,
	.close = xz_close,
};
