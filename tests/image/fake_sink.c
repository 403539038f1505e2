/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fake_sink.h"
#include "support.h"

static int
reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err)
{
	struct fake_sink *s = (struct fake_sink *)sink;

	assert_true(place->guest >= s->at);
	assert_true(!s->sink.fill || place->guest == s->at);
	assert_true(place->length > 0 && s->n_places < FAKE_PLACES);
	if (s->fail_reserve && place->guest >= s->fail_reserve)
		return image_fail(err, "sink", -EFBIG, "reserve failed");
	if (s->most && !place->compressed && place->length > s->most)
		place->length = s->most;
	if (!place->compressed)
		place->stored = place->length;
	place->host = s->next_host;
	s->next_host += place->stored + s->gap;
	assert_true(s->next_host <= FAKE_FILE_BYTES);
	s->places[s->n_places++] = *place;
	s->at = place->guest + place->length;
	return 0;
}

static const struct image_sink_ops sink_ops = {.reserve = reserve};

static struct fake_sink *
of(struct image_store *store)
{
	return (struct fake_sink *)((char *)store -
				    offsetof(struct fake_sink, store));
}

static int
write_bytes(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	struct fake_sink *s = of(store);

	if (++s->n_writes == s->fail_write)
		return image_fail(err, "sink", -ENOSPC, "write failed");
	memcpy(s->file + offset, buf, length);
	return 0;
}

static int
zero_bytes(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	(void)err;
	memset(of(store)->file + offset, 0, (size_t)length);
	return 0;
}

static int
share(struct image_store *store, uint64_t offset, struct image_store *from,
	uint64_t from_offset, uint64_t length, struct image_error *err)
{
	struct fake_sink *s = of(store);

	(void)err;
	if (!s->may_share || from != &s->source_data)
		return -EOPNOTSUPP;
	/* The first block is tried before the copy begins. */
	if (from_offset < FAKE_HOST)
		return 0;
	assert_true(offset % 4096 == 0 && from_offset % 4096 == 0 &&
		    length % 4096 == 0);
	s->n_shares++;
	s->shared += length;
	fake_bytes(s->fake, from_offset - FAKE_HOST, s->file + offset,
		(size_t)length);
	return 0;
}

static const struct image_store_ops store_ops = {
	.write = write_bytes, .zero = zero_bytes, .share = share};

void
fake_sink_init(struct fake_sink *sink, struct fake *source)
{
	static char name[] = "sink";
	unsigned char *file = sink->file;
	/* A sink that fills has a file of other bytes from its test. */
	size_t used = sink->sink.fill ? FAKE_FILE_BYTES : sink->next_host;

	*sink = (struct fake_sink){
		.sink = {.ops = &sink_ops,
			.format = &image_format_qcow2,
			.store = &sink->store,
			.size = source->source.size},
		.store = {.ops = &store_ops, .name = name},
		.source_data = {.size = 1 << 20},
		.fake = source,
		.file = file,
		.next_host = 4096,
	};
	source->source.data = &sink->source_data;
	memset(file, 0, used);
}
