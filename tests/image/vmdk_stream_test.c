/* SPDX-License-Identifier: BSD-3-Clause */
/* VMDK images to a pipe and from one, by several threads. */
#include "fakes.h"
#include "format/vmdk/vmdk.h"
#include "fake_memory.h"
#include "blocks/blocks.h"
#include "support.h"

#define MIB (UINT64_C(1) << 20)

/* Grain tables of 32 MiB; the second has no grains. Most have few, so that
 * tables are put in line while grains are written. */
#define FEW "ab------------------------------"
#define MANY FEW FEW FEW FEW FEW FEW FEW FEW
#define MAP                                                                    \
	"ab-rz-0cabcdeabcdeabcde-----abcd"                                     \
	"--------------------------------" MANY MANY MANY                      \
	"-abcdeabcdeabcdeab-r0zc"
#define SIZE ((sizeof(MAP) - 1) * MIB - 1000)

static const struct image_run run = {.block = 4096, .threads = 5};

/* Returns the bytes of the image, and sets *length. */
static unsigned char *
write_image(struct fake *fake, bool forward, size_t *length)
{
	struct image_create create = {.size = fake->source.size};
	struct test_store store;
	struct image_sink *sink;
	struct image_copied copied;
	struct image_error err;
	struct stat st;

	int fd = test_store_scratch();
	test_store_init(&store, fd);
	store.store.forward = forward;
	assert_ok(vmdk_create(&store.store, &create, &sink, &err));
	assert_ok(image_copy(&fake->source, sink, &run, &copied, &err));
	assert_ok(image_finish(sink, &err));
	image_sink_close(sink);
	assert_ok(fstat(fd, &st));
	*length = (size_t)st.st_size;
	unsigned char *bytes = malloc(*length);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, *length, 0), *length);
	close(fd);
	return bytes;
}

TEST(a_pipe_gets_the_bytes_of_a_file_and_a_reader_of_a_pipe_the_disk)
{
	struct image_open how = {.format = &image_format_vmdk};
	struct image_compared compared;
	struct image_stream *stream;
	struct image_source *back;
	struct image_store *store;
	struct image_error err;
	struct fake fake;
	size_t length, piped;

	fake_init(&fake, MAP, MIB, SIZE);
	unsigned char *file = write_image(&fake, false, &length);
	unsigned char *pipe = write_image(&fake, true, &piped);
	assert_int_equal(piped, length);
	assert_memory_equal(pipe, file, length);

	assert_ok(memory_store_open(pipe, piped, "pipe", &store, &err));
	assert_ok(image_stream_of_store(store, &stream, &err));
	assert_ok(image_blocks_open(stream, 0, &store, &err));
	assert_ok(image_open_store(store, &how, &back, &err));
	int rc = image_compare(&fake.source, back, &run, &compared, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_true(compared.equal);
	image_close(back);
	free(file);
	free(pipe);
}
