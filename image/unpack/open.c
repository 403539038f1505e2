/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a store is packed, and puts another store above it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/formats.h"
#include "blocks/blocks.h"
#include "memory.h"
#include "thread.h"
#include "unpack/decoder.h"

/* Packings that lie in each other, from the outside in. */
struct rounds {
	unsigned count;
	enum image_packing list[IMAGE_ROUNDS];
};

unsigned
image_unpack_rounds(const struct image_store *store)
{
	unsigned count = 0;

	for (; store; store = store->below)
		count += store->unpacked;
	return count;
}

static int
rounds_of_name(const struct image_store *store, struct rounds *rounds,
	struct image_error *err)
{
	size_t length = strlen(store->name);
	enum image_packing packing;
	bool more = true;

	while (more) {
		packing = image_unpack_suffix(store->name, &length, &more);
		if (packing == IMAGE_PACKING_NONE)
			return 0;
		if (image_unpack_rounds(store) + rounds->count == IMAGE_ROUNDS)
			return image_fail(err, store->name, -E2BIG,
				"is packed more than %d times", IMAGE_ROUNDS);
		rounds->list[rounds->count++] = packing;
	}
	return 0;
}

bool
image_bytes_decide(
	const struct image_store *store, const struct image_open *how)
{
	const struct image_store *origin = image_store_origin(store);

	if (how->packing != IMAGE_PACKING_AUTO || how->format || origin->device)
		return false;
	/* A server has files that were uploaded: no guest wrote their begin. */
	return origin->served || !image_is_disk_name(origin->name);
}

static int
choose(struct image_store *store, const struct image_open *how,
	struct rounds *rounds, struct image_error *err)
{
	int rc = 0;

	/* The suffixes of a member decide, whatever the user chose for the
	 * archive. */
	if (store->member)
		return how->packing == IMAGE_PACKING_NONE
			       ? 0
			       : rounds_of_name(store, rounds, err);
	if (how->packing == IMAGE_PACKING_AUTO)
		rc = rounds_of_name(store, rounds, err);
	else if (how->packing != IMAGE_PACKING_NONE) {
		rounds->list[0] = how->packing;
		for (unsigned n = 1; n < IMAGE_ROUNDS; n++)
			rounds->list[n] = how->inner[n - 1];
		do
			rounds->count++;
		while (rounds->count < IMAGE_ROUNDS &&
			rounds->list[rounds->count] > IMAGE_PACKING_NONE);
	}
	if (rc < 0 || rounds->count || !image_bytes_decide(store, how))
		return rc;
	rc = image_store_head(store, err);
	if (rc == 0)
		rounds->list[0] =
			image_unpack_by_magic(store->head, store->head_length);
	rounds->count = rc == 0 && rounds->list[0] != IMAGE_PACKING_NONE;
	return rc;
}

/* Owns the stream, and closes it on failure. */
static int
unpack_stream(struct image_stream *stream, const struct rounds *rounds,
	const struct image_open *how, struct image_stream **out,
	struct image_error *err)
{
	/* A look at an image needs few bytes. Further threads have buffers,
	 * which only the single round of a file has memory for. One thread
	 * reports no holes, so a packing with any has two at least. */
	unsigned wanted = how->threads ? how->threads : image_cpus(), large = 0;
	bool holes = image_unpack_decoder(rounds->list[0])->zeros;
	unsigned threads = how->inspect || rounds->count > 1 ? 1
			   : wanted > 1 || !holes            ? wanted
							     : 2;
	uint64_t memory = image_memory(how->memory).unpack;
	int rc = 0;

	/* The decoders with a large window share the memory. */
	for (unsigned i = 0; i < rounds->count; i++)
		large += rounds->list[i] == IMAGE_PACKING_XZ ||
			 rounds->list[i] == IMAGE_PACKING_ZSTD;
	if (large > 1)
		memory /= large;

	for (unsigned i = 0; rc == 0 && i < rounds->count; i++) {
		stream->trailing = how->trailing;
		rc = image_unpack_open(
			rounds->list[i], stream, memory, threads, &stream, err);
		if (rc == 0)
			stream->max_size = how->max_size;
	}
	*out = stream;
	return rc;
}

/* Set *size to the bytes that the rounds unpack. An image in another format
 * than raw has the size of its disk itself. */
static int
count_content(struct image_store *store, const struct rounds *rounds,
	const struct image_open *how, uint64_t *size, struct image_error *err)
{
	size_t length = 0, piece = (size_t)128 << 10;
	unsigned char *bytes = malloc(piece);
	struct image_stream *stream = NULL;

	if (!bytes)
		return image_no_memory(err);
	int rc = image_stream_borrow(store, &stream, err);
	if (rc == 0)
		rc = unpack_stream(stream, rounds, how, &stream, err);
	if (rc == 0)
		rc = image_stream_read_all(
			stream, bytes, IMAGE_HEAD_SIZE, &length, err);
	bool raw = how->format ? how->format == &image_format_raw
			       : !image_format_by_magic(bytes, length);
	if (rc == 0 && raw) {
		while (rc == 0 && length) {
			uint64_t zeros;
			rc = image_stream_skip(stream, 1, &zeros, err);
			if (rc == 0)
				rc = image_stream_read(
					stream, bytes, piece, &length, err);
		}
		*size = stream->came;
	}
	image_stream_close(stream);
	free(bytes);
	return rc;
}

/*
 * Set *size to the bytes of what is packed, if the file states them or if they
 * are needed, and *claim to decoder->size_claim, if that states them.
 */
static int
find_size(struct image_store *store, const struct rounds *rounds,
	const struct image_open *how, uint64_t *size, const char **claim,
	struct image_error *err)
{
	const struct image_decoder *decoder =
		image_unpack_decoder(rounds->list[0]);
	uint64_t tables = image_memory(how->memory).tables;
	int rc = 0;

	*size = IMAGE_SIZE_UNKNOWN;
	*claim = NULL;
	if (how->trailing || store->forward)
		return 0;
	/* A pipe has no claim. So that the verdicts agree, it is used only
	 * where a size is needed. */
	if (rounds->count == 1 && decoder->size &&
		(!decoder->size_claim || how->sized || how->inspect))
		rc = decoder->size(store, tables, size, err);
	if (*size != IMAGE_SIZE_UNKNOWN)
		*claim = decoder->size_claim;
	else if (rc == 0 && how->sized && !image_store_origin(store)->served)
		rc = count_content(store, rounds, how, size, err);
	if (rc < 0)
		image_store_settle(store, err);
	return rc;
}

int
image_unpack_store(struct image_store **store, const struct image_open *how,
	struct image_error *err)
{
	const char *member = (*store)->member, *claim = NULL;
	struct rounds rounds = {0};
	struct image_stream *stream;
	uint64_t size = IMAGE_SIZE_UNKNOWN;

	int rc = choose(*store, how, &rounds, err);
	if (rc == 0 && rounds.count == 0)
		return 0;
	if (rc == 0)
		rc = find_size(*store, &rounds, how, &size, &claim, err);
	if (rc < 0) {
		image_store_close(*store);
		*store = NULL;
		return rc;
	}
	rc = image_stream_of_store(*store, &stream, err);
	if (rc == 0)
		rc = unpack_stream(stream, &rounds, how, &stream, err);
	if (rc == 0) {
		stream->size = size;
		stream->size_hint = claim;
		rc = image_blocks_open(stream, how->memory, store, err);
	}
	if (rc < 0) {
		*store = NULL;
		return rc;
	}
	(*store)->unpacked = rounds.count;
	memcpy((*store)->packings, rounds.list, sizeof(rounds.list));
	/* The store below has the name. */
	(*store)->member = member;
	return 0;
}

size_t
image_unpack_name(const char *name)
{
	size_t length = strlen(name);
	bool more = true;

	while (more)
		image_unpack_suffix(name, &length, &more);
	return length;
}

bool
image_unpack_is_image(const char *name)
{
	char shorter[IMAGE_NAME_MAX];
	int length = (int)image_unpack_name(name);

	snprintf(shorter, sizeof(shorter), "%.*s", length, name);
	return image_has_suffix(shorter);
}

static void
append(char *list, size_t size, enum image_packing packing)
{
	size_t length = strlen(list);

	snprintf(list + length, size - length, "%s%s", length ? "," : "",
		image_packing_name(packing));
}

int
image_refuse_packed(const struct image_store *store, const unsigned char *head,
	size_t length, struct image_error *err)
{
	enum image_packing packing = image_unpack_by_magic(head, length);
	const char *name = image_packing_name(packing);
	char list[64] = "";

	if (packing == IMAGE_PACKING_NONE)
		return 0;
	if (store->member || image_unpack_rounds(store) == IMAGE_ROUNDS)
		image_fail(err, store->name, -EINVAL,
			"begins as %s: extract it, then --unpack %s, or -f raw",
			name, name);
	else {
		for (unsigned i = 0; i < store->unpacked; i++)
			append(list, sizeof(list), store->packings[i]);
		append(list, sizeof(list), packing);
		image_fail(err, store->name, -EINVAL,
			"begins as %s: --unpack %s or -f raw", name, list);
	}
	err->refused = true;
	return -EINVAL;
}
