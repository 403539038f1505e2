/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the members of a packed stream one after the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "unpack/decoder.h"

static const struct packing {
	const char *name;
	const char *suffix;
	const char *tar;
	const char *library;
	const char *package;
	const struct image_decoder *decoder;
} packings[] = {
#define IMAGE_PACKING_ROW(id, name, suffix, tar, library, package)             \
	[IMAGE_PACKING_##id] = {                                               \
		#name, suffix, tar, library, package, &image_decoder_##name},
#include "unpack/packings.def"
#undef IMAGE_PACKING_ROW
};

#define FIRST ((int)IMAGE_PACKING_GZIP)

/* Without the library, the first bytes alone are known, for messages. */
#ifdef IMAGE_NO_LZMA
const struct image_decoder image_decoder_xz = {.begins = image_begins_xz};
#endif
#ifdef IMAGE_NO_BZ2
const struct image_decoder image_decoder_bzip2 = {.begins = image_begins_bzip2};
#endif

bool
image_name_ends_with(const char *name, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);

	return length > n && name[length - n - 1] != '/' &&
	       strncasecmp(name + length - n, suffix, n) == 0;
}

enum image_packing
image_unpack_suffix(const char *name, size_t *length, bool *more)
{
	size_t whole = *length;

	*more = false;
	for (int i = FIRST; i < IMAGE_PACKINGS; i++) {
		const char *suffix = packings[i].suffix, *tar = packings[i].tar;
		*more = image_name_ends_with(name, whole, suffix);
		if (!*more && !image_name_ends_with(name, whole, tar))
			continue;
		*length -= strlen(*more ? suffix : tar);
		return (enum image_packing)i;
	}
	return IMAGE_PACKING_NONE;
}

bool
image_unpack_is_tar(const char *name)
{
	size_t length = strlen(name);
	bool more;

	return image_unpack_suffix(name, &length, &more) !=
		       IMAGE_PACKING_NONE &&
	       !more;
}

enum image_packing
image_unpack_by_magic(const unsigned char *head, size_t length)
{
	for (int i = FIRST; i < IMAGE_PACKINGS; i++)
		if (packings[i].decoder->begins(head, length))
			return (enum image_packing)i;
	return IMAGE_PACKING_NONE;
}

const char *
image_packing_name(enum image_packing packing)
{
	static const char *const others[] = {
		[IMAGE_PACKING_AUTO] = "auto", [IMAGE_PACKING_NONE] = "none"};

	return (int)packing >= FIRST ? packings[packing].name : others[packing];
}

enum image_packing
image_packing_by_suffix(const char *path, size_t *length)
{
	bool more;

	*length = strlen(path);
	enum image_packing packing = image_unpack_suffix(path, length, &more);
	return more ? packing : IMAGE_PACKING_NONE;
}

enum image_packing
image_packing_by_name(const char *name)
{
	for (int i = 0; i < IMAGE_PACKINGS; i++) {
		enum image_packing packing = (enum image_packing)i;
		const char *suffix = packings[packing].suffix;
		if (strcmp(image_packing_name(packing), name) == 0 ||
			(suffix && strcmp(suffix + 1, name) == 0))
			return packing;
	}
	return IMAGE_PACKINGS;
}

const char *
image_unpack_version(enum image_packing packing)
{
	const struct image_decoder *decoder = packings[packing].decoder;

	return decoder->version ? decoder->version() : NULL;
}

/* Enough for an efficient read, and little beside a window. */
#define INPUT ((size_t)128 << 10)

struct unpacking {
	struct image_stream stream;
	struct image_stream *packed;
	const struct packing *packing;
	void *state;
	enum { BETWEEN, INSIDE, COMPLETE } place;
	bool has_member;
	/* the packed stream has ended */
	bool ended;
	/* offset of input[at] in the packed stream */
	uint64_t offset;
	size_t at;
	size_t end;
	unsigned char input[INPUT];
};

/*
 * Get at least `least` bytes of input, fewer than INPUT, or all bytes up to the
 * end.
 */
static int
fill(struct unpacking *u, size_t least, struct image_error *err)
{
	while (u->end - u->at < least && !u->ended) {
		size_t got;
		memmove(u->input, u->input + u->at, u->end - u->at);
		u->end -= u->at;
		u->at = 0;
		int rc = image_stream_read(u->packed, u->input + u->end,
			INPUT - u->end, &got, err);
		if (rc < 0)
			return rc;
		u->end += got;
		u->ended = got == 0;
	}
	return 0;
}

static void
take(struct unpacking *u, size_t length)
{
	u->at += length;
	u->offset += length;
}

static int
skip_zeros(struct unpacking *u, uint64_t *zeros, struct image_error *err)
{
	*zeros = 0;
	for (;;) {
		int rc = fill(u, 1, err);
		if (rc < 0 || u->at == u->end || u->input[u->at])
			return rc;
		size_t n = 0;
		while (u->at + n < u->end && !u->input[u->at + n])
			n++;
		take(u, n);
		*zeros += n;
	}
}

static int
no_member(struct unpacking *u, struct image_error *err)
{
	const char *name = u->packing->name;

	if (!u->has_member)
		return image_fail(err, u->stream.name, -EINVAL,
			"is not packed by %s: the %s header is missing at "
			"offset %" PRIu64 "; --unpack none reads it as it is",
			name, name, u->offset);
	return image_damaged(err, u->stream.name, -EINVAL,
		"has other data after the end of the %s data, at offset "
		"%" PRIu64 "; --trailing-data leaves it",
		name, u->offset);
}

/* The packed data has ended: count the bytes that are left. */
static int
leave_rest(struct unpacking *u, uint64_t zeros, struct image_error *err)
{
	const struct image_trailing *trailing = u->packed->trailing;
	uint64_t bytes = zeros;
	int rc = 0;

	do {
		bytes += u->end - u->at;
		take(u, u->end - u->at);
		rc = fill(u, 1, err);
	} while (rc == 0 && u->at < u->end);
	if (rc < 0)
		return rc;
	u->place = COMPLETE;
	trailing->left(trailing->opaque, u->stream.name, bytes);
	return 0;
}

static int
begin_member(struct unpacking *u, struct image_error *err)
{
	const struct image_decoder *decoder = u->packing->decoder;
	uint64_t zeros = 0;

	int rc = u->has_member ? skip_zeros(u, &zeros, err) : 0;
	if (rc == 0)
		rc = fill(u, IMAGE_MEMBER_HEAD, err);
	if (rc < 0)
		return rc;
	size_t left = u->end - u->at;
	if (left == 0 && u->has_member) {
		u->place = COMPLETE;
		return 0;
	}
	bool allowed = zeros == 0 ||
		       (decoder->padding && zeros % decoder->padding == 0);
	bool begins = allowed && decoder->begins(u->input + u->at, left);
	if (!begins && u->has_member && u->packed->trailing)
		return leave_rest(u, zeros, err);
	if (!begins)
		return no_member(u, err);
	if (decoder->begin(u->state, u->input + u->at, left) < 0)
		return image_no_memory(err);
	u->has_member = true;
	u->place = INSIDE;
	return 0;
}

static int
decode_failed(
	struct unpacking *u, int rc, const char *why, struct image_error *err)
{
	if (rc == -ENOMEM)
		return image_no_memory(err);
	if (rc == -E2BIG || rc == -ENOTSUP)
		return image_fail(err, u->stream.name, rc,
			"cannot be unpacked: the %s data at offset %" PRIu64
			" %s",
			u->packing->name, u->offset, why);
	return image_damaged(err, u->stream.name, -EIO,
		"has damaged %s data before offset %" PRIu64 ": %s",
		u->packing->name, u->offset, why);
}

/* Decode once. Sets *got to 0 if there is no output yet. */
static int
decode(struct unpacking *u, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct image_decode io = {.out = buf, .out_left = length};

	*got = 0;
	const struct image_decoder *decoder = u->packing->decoder;
	int rc = fill(u, decoder->least ? decoder->least(u->state) : 1, err);
	if (rc < 0)
		return rc;
	io.in = u->input + u->at;
	io.in_left = u->end - u->at;
	rc = decoder->decode(u->state, &io);
	size_t taken = (size_t)(io.in - (u->input + u->at));
	take(u, taken);
	if (rc < 0)
		return decode_failed(u, rc, io.why, err);
	*got = length - io.out_left;
	if (io.end) {
		u->place = BETWEEN;
		return 0;
	}
	if (*got || taken)
		return 0;
	if (io.in_left)
		return decode_failed(u, -EIO, "the data makes no sense", err);
	return image_damaged(err, u->stream.name, -EIO,
		"ends inside the %s data, at offset %" PRIu64
		": the file is not complete",
		u->packing->name, u->offset);
}

static int
unpack_read(struct image_stream *stream, void *buf, size_t length, size_t *got,
	struct image_error *err)
{
	struct unpacking *u = (struct unpacking *)stream;
	int rc = 0;

	*got = 0;
	while (rc == 0 && *got == 0 && u->place != COMPLETE) {
		if (u->place == BETWEEN)
			rc = begin_member(u, err);
		else
			rc = decode(u, buf, length, got, err);
	}
	return rc;
}

static void
unpack_close(struct image_stream *stream)
{
	struct unpacking *u = (struct unpacking *)stream;

	if (u->state)
		u->packing->decoder->close(u->state);
	u->packed->ops->close(u->packed);
	free(stream->name);
	free(u);
}

static const struct image_stream_ops unpack_ops = {
	.read = unpack_read,
	.close = unpack_close,
};

const struct image_decoder *
image_unpack_decoder(enum image_packing packing)
{
	return packings[packing].decoder;
}

int
image_unpack_resume(enum image_packing packing, struct image_stream *packed,
	uint64_t memory, unsigned threads, uint64_t offset,
	struct image_stream **out, struct image_error *err)
{
	const struct packing *row = &packings[packing];
	struct unpacking *u = NULL;

	*out = NULL;
	if (!row->decoder->open)
		image_fail(err, packed->name, -ENOTSUP,
			"is packed by %s, and this hone was built without %s; "
			"build it again with the package %s, or unpack the "
			"file first",
			row->name, row->library, row->package);
	else if (!(u = malloc(sizeof(*u))))
		image_no_memory(err);
	if (!u) {
		packed->ops->close(packed);
		return row->decoder->open ? -ENOMEM : -ENOTSUP;
	}
	memset(u, 0, offsetof(struct unpacking, input));
	u->stream.ops = &unpack_ops;
	u->stream.name = strdup(packed->name);
	u->stream.size = IMAGE_SIZE_UNKNOWN;
	u->stream.store = packed->store;
	u->packed = packed;
	u->packing = row;
	u->offset = offset;
	u->has_member = offset > 0;
	u->state = row->decoder->open(memory, threads);
	if (!u->stream.name || !u->state) {
		unpack_close(&u->stream);
		return image_no_memory(err);
	}
	*out = &u->stream;
	return 0;
}
