/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sound image in memory whose header, snapshot table, bitmaps and tables are
 * changed by the input, so that nearly every input passes the first checks. It
 * is mapped by the pipeline, and judged; if it is called safe, mapping
 * succeeds.
 *
 * The first byte chooses which clusters the others are combined with (XOR).
 */
#include <stdlib.h>
#include "format/verdict.h"
#include "fake_memory.h"
#include "small_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char image[SMALL_BYTES];

static int
follow(void *opaque, const struct image_extent *extent)
{
	uint64_t *next = opaque;

	if (extent->offset != *next || extent->length == 0)
		abort();
	*next += extent->length;
	return 0;
}

static void
ignore(void *opaque, const struct image_finding *finding)
{
	(void)opaque;
	(void)finding;
}

static struct image_store *
open_store(void)
{
	struct image_store *store;
	struct image_error err;

	if (memory_store_open(image, sizeof(image), "bytes", &store, &err) < 0)
		abort();
	return store;
}

/* Returns whether the image can be mapped, or its snapshot of that name. */
static bool
map(const char *snapshot)
{
	struct image_open how = {
		.format = &image_format_qcow2, .snapshot = snapshot};
	struct image_run run = {.block = 512, .threads = 1, .memory = 8 << 20};
	struct image_source *source;
	struct image_error err;
	uint64_t next = 0;

	if (image_open_store(open_store(), &how, &source, &err) < 0)
		return false;
	int rc = image_map(source, &run, false, false, follow, &next, &err);
	if (rc == 0 && next != source->size)
		abort();
	image_close(source);
	return rc == 0;
}

static bool
is_safe(void)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	struct image_verdict verdict = {
		.report = ignore, .opaque = NULL, .checked = &checked};
	struct image_store *store = open_store();
	struct image_error err;

	int rc = image_check_store(store, &how, &verdict, &err);
	image_store_close(store);
	return rc == 0 && checked.safe;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned places[] = {SMALL_HEADER, SMALL_REFCOUNT_TABLE,
		SMALL_L1, SMALL_L2, SMALL_SNAPSHOTS, SMALL_SNAPSHOT_L1,
		SMALL_BITMAPS, SMALL_BITMAP_TABLE};

	small_image(image);
	if (size) {
		size_t at = SMALL_AT(places[data[0] % 8]);
		for (size_t i = 1; i < size && at < sizeof(image); i++)
			image[at++] ^= data[i];
	} else if (!is_safe()) {
		abort();
	}
	bool mapped = map(NULL);
	map("1");
	if (is_safe() && !mapped)
		abort();
	return 0;
}
