/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a qcow2 image that is converted to another: what succeeds is
 * equal to its source, and sound.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "format/verdict.h"
#include "fake_memory.h"

/* Larger disks are another fuzzer's: this one reads each of them twice. */
#define MOST ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct image_run run = {
	.block = 4096, .threads = 1, .memory = 8 << 20};

static void
report(void *opaque, const struct image_finding *finding)
{
	(void)opaque;
	(void)finding;
}

static void
check(int fd)
{
	struct image_open how = {0};
	struct image_checked checked;
	struct image_verdict verdict = {
		.report = report, .opaque = NULL, .checked = &checked};
	struct image_store_how store_how = {0};
	struct image_store *store;
	struct image_error err;

	if (image_store_use(fd, "new", &store_how, &store, &err) < 0 ||
		image_check_store(store, &how, &verdict, &err) < 0 ||
		!checked.safe || checked.leaked_clusters ||
		checked.format != &image_format_qcow2)
		abort();
	image_store_close(store);
}

static void
compare(struct image_source *source, int fd)
{
	struct image_open how = {.packing = IMAGE_PACKING_NONE};
	struct image_compared compared;
	struct image_source *copy;
	struct image_error err;

	if (image_open_fd(fd, "new", &how, &copy, &err) < 0)
		abort();
	if (image_compare(source, copy, &run, &compared, &err) < 0 ||
		!compared.equal)
		abort();
	image_close(copy);
}

/* The size chooses the options: any input can meet any of them. */
static void
convert(struct image_source *source, int fd, size_t size)
{
	struct image_create create;
	struct image_write how = {0};
	struct image_copied copied;
	struct image_sink *sink;
	struct image_error err;

	image_create_init(&create);
	create.size = source->size;
	create.cluster_size = size % 2 ? 512 : 65536;
	create.compress = size % 4 < 2;
	create.codec = size % 8 < 4 ? IMAGE_CODEC_ZLIB : IMAGE_CODEC_ZSTD;
	if (image_create(fd, "new", &image_format_qcow2, &create, &how, &sink,
		    &err) < 0)
		abort();
	int rc = image_copy(source, sink, &run, &copied, &err);
	if (rc == 0 &&
		(copied.data + copied.zero + copied.hole != source->size ||
			image_finish(sink, &err) < 0))
		abort();
	image_sink_close(sink);
	if (rc == 0) {
		compare(source, fd);
		check(fd);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_open how = {.format = &image_format_qcow2};
	struct image_source *source;
	struct image_store *store;
	struct image_error err;

	if (memory_store_open(data, size, "bytes", &store, &err) < 0)
		abort();
	if (image_open_store(store, &how, &source, &err) < 0)
		return 0;
	int fd = memfd_create("new", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	if (source->size <= MOST)
		convert(source, fd, size);
	close(fd);
	image_close(source);
	return 0;
}
