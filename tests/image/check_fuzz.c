/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes, judged by image_check(). What is called safe can be opened, and
 * its tables can be read: the first MiB of its disk, and the end.
 */
#include <stdlib.h>
#include <string.h>
#include "format/verdict.h"
#include "fake_memory.h"

#define MOST ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding has a name and a text that ends. */
static void
report(void *opaque, const struct image_finding *finding)
{
	unsigned *failed = opaque;

	if (!finding->name || strnlen(finding->text, sizeof(finding->text)) ==
				      sizeof(finding->text))
		abort();
	*failed += finding->faults != 0;
}

static void
read_tables(struct image_source *source)
{
	struct image_extent extent;
	struct image_error err;
	uint64_t at = 0;

	while (at < source->size && at < MOST) {
		if (source->ops->extent(
			    source, at, source->size - at, &extent, &err) < 0)
			abort();
		at += extent.length;
	}
	if (source->size && source->ops->extent(source, source->size - 1, 1,
				    &extent, &err) < 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_checked checked;
	unsigned failed = 0;
	struct image_verdict verdict = {
		.report = report, .opaque = &failed, .checked = &checked};
	struct image_source *source;
	struct image_store *store;
	struct image_error err;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	int rc = image_check_store(store, &how, &verdict, &err);
	if (rc == 0 && checked.safe != (failed == 0))
		abort();
	if (rc < 0 || !checked.safe) {
		image_store_close(store);
		return 0;
	}
	if (image_open_store(store, &how, &source, &err) < 0)
		abort();
	read_tables(source);
	image_close(source);
	return 0;
}
