/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "play.h"
#include "support.h"
#include "fake_store.h"

struct play {
	struct image_sink *sink;
	struct image_scratch scratch;
	struct test_store store;
	uint64_t random;
	int raw;
	/* percent of the disk */
	size_t dense;
	unsigned char *bytes, *packed;
	/* what was reserved and is not written yet */
	struct late {
		uint64_t host;
		size_t length;
		unsigned char *bytes;
	} late[64];
	size_t n_late;
};

_Noreturn static void
die(const char *what, const struct image_error *err)
{
	fprintf(stderr, "play: %s: %s\n", what, err ? err->text : "");
	exit(3);
}

static void
write_one(struct play *p, size_t i)
{
	struct image_error err;
	struct late *late = &p->late[i];

	if (image_store_write(p->sink->store, late->host, late->bytes,
		    late->length, &err) < 0)
		die("write", &err);
	free(late->bytes);
	*late = p->late[--p->n_late];
}

/* Places are written in any order. */
static void
write_later(struct play *p, uint64_t host, const void *bytes, size_t length)
{
	if (p->n_late == sizeof(p->late) / sizeof(p->late[0]))
		write_one(p, support_below(&p->random, p->n_late));
	unsigned char *copy = malloc(length);
	if (!copy)
		die("memory", NULL);
	memcpy(copy, bytes, length);
	struct late *late = &p->late[p->n_late++];
	late->host = host;
	late->length = length;
	late->bytes = copy;
	/* freed by write_one(), which the analyzer does not see */
} /* NOLINT(clang-analyzer-unix.Malloc) */

/* Bytes of which some can be compressed. */
static void
make_bytes(struct play *p, size_t length)
{
	uint64_t values = 2 + support_below(&p->random, 255);
	uint64_t random = 0;

	for (size_t i = 0; i < length; i++) {
		if (i % 8 == 0)
			random = support_random(&p->random);
		p->bytes[i] = (unsigned char)((random & 0xff) * values >> 8);
		random >>= 8;
	}
}

static void
reserve(struct play *p, struct image_place place, const unsigned char *bytes)
{
	struct image_error err;

	while (place.length) {
		struct image_place part = place;
		int rc = p->sink->ops->reserve(p->sink, &part, &err);
		if (rc < 0)
			die("reserve", &err);
		if (part.length == 0 || part.length > place.length)
			die("reserve gave a wrong length", NULL);
		write_later(p, part.host, bytes, (size_t)part.stored);
		bytes += part.length;
		place.guest += part.length;
		place.length -= part.length;
		place.stored = place.length;
	}
}

/* One unit, as the copy does it. Returns the end of it. */
static uint64_t
put_unit(struct play *p, uint64_t guest)
{
	size_t unit = (size_t)p->sink->unit;
	uint64_t left = p->sink->size - guest;
	size_t length = left < unit ? (size_t)left : unit;
	struct image_place place = {
		.guest = guest, .length = length, .stored = length};

	make_bytes(p, length);
	memset(p->bytes + length, 0, unit - length);
	if (pwrite(p->raw, p->bytes, length, (off_t)guest) != (ssize_t)length)
		die("raw", NULL);
	int64_t n = image_compress(&p->sink->codec, &p->scratch, p->bytes, unit,
		p->packed, unit - 1);
	if (n < 0)
		die("compress", NULL);
	if (n > 0) {
		place.stored = (uint64_t)n;
		place.compressed = true;
	}
	reserve(p, place, n > 0 ? p->packed : p->bytes);
	return guest + length;
}

/* A range that begins and ends at any sector. */
static uint64_t
put_range(struct play *p, uint64_t guest, uint64_t length)
{
	struct image_place place = {
		.guest = guest, .length = length, .stored = length};

	make_bytes(p, (size_t)length);
	if (pwrite(p->raw, p->bytes, (size_t)length, (off_t)guest) !=
		(ssize_t)length)
		die("raw", NULL);
	reserve(p, place, p->bytes);
	return guest + length;
}

/* 1 to most, small ones as often as large ones. */
static uint64_t
some_length(struct play *p, uint64_t most)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(most);
	uint64_t upto = UINT64_C(2) << support_below(&p->random, bits + 1);

	return 1 + support_random(&p->random) % (upto < most ? upto : most);
}

#define MOST ((uint64_t)3 << 20)

static void
fill_disk(struct play *p)
{
	uint64_t size = p->sink->size;
	uint64_t at = 0;
	/* holes as long as data comes to half of the disk */
	uint64_t hole = MOST;

	while (at < size) {
		uint64_t left = size - at;
		if (support_below(&p->random, 100) >= p->dense) {
			uint64_t n = some_length(p, left < hole ? left : hole);
			/* far away if the disk is much larger */
			if (left > MOST * 64)
				n = some_length(p, left);
			at += n < 512 ? n : n - n % 512;
			continue;
		}
		if (p->sink->compress) {
			uint64_t unit = p->sink->unit;
			at = (at + unit - 1) / unit * unit;
			if (at < size)
				at = put_unit(p, at);
			continue;
		}
		at = put_range(
			p, at, some_length(p, left < MOST ? left : MOST));
	}
}

void
play(int image, int raw, const struct play_how *how)
{
	struct play p = {
		.dense = how->dense, .random = how->seed | 1, .raw = raw};
	struct image_error err;

	test_store_init(&p.store, image);
	if (qcow2_create(&p.store.store, &how->create, &p.sink, &err) < 0)
		die("create", &err);
	p.bytes = malloc(MOST);
	p.packed = malloc(MOST);
	if (!p.bytes || !p.packed || ftruncate(raw, (off_t)p.sink->size) < 0)
		die("memory", NULL);
	fill_disk(&p);
	while (p.n_late)
		write_one(&p, support_below(&p.random, p.n_late));
	if (p.sink->ops->finish(p.sink, &err) < 0)
		die("finish", &err);
	p.sink->ops->close(p.sink);
	image_scratch_destroy(&p.scratch);
	free(p.bytes);
	free(p.packed);
}
