/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharing of blocks, on stores in memory that share by copying. */
#include "pipeline/pieces.h"
#include "test.h"

#define SIZE ((size_t)256 * 1024)

struct memory {
	struct image_store store;
	unsigned char bytes[SIZE];
	/* calls of share that succeed; the others return -EOPNOTSUPP */
	unsigned may_share;
	/* -errno of zero */
	int zero_fails;
};

static struct memory *
of(struct image_store *store)
{
	return (struct memory *)store;
}

static int
read_bytes(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	(void)err;
	memcpy(buf, of(store)->bytes + offset, length);
	return 0;
}

static int
write_bytes(struct image_store *store, uint64_t offset, const void *buf,
	size_t length, struct image_error *err)
{
	(void)err;
	memcpy(of(store)->bytes + offset, buf, length);
	return 0;
}

static int
zero_bytes(struct image_store *store, uint64_t offset, uint64_t length,
	struct image_error *err)
{
	if (of(store)->zero_fails)
		return image_fail(err, store->name, of(store)->zero_fails,
			"cannot be zeroed");
	memset(of(store)->bytes + offset, 0, (size_t)length);
	return 0;
}

static int
share_bytes(struct image_store *store, uint64_t offset,
	struct image_store *from, uint64_t from_offset, uint64_t length,
	struct image_error *err)
{
	(void)err;
	if (of(store)->may_share == 0)
		return -EOPNOTSUPP;
	of(store)->may_share--;
	memcpy(of(store)->bytes + offset, of(from)->bytes + from_offset,
		(size_t)length);
	return 0;
}

static int
unchanged(struct image_store *store, struct image_error *err)
{
	(void)store;
	(void)err;
	return 0;
}

static const struct image_store_ops store_ops = {
	.read = read_bytes,
	.write = write_bytes,
	.zero = zero_bytes,
	.share = share_bytes,
	.unchanged = unchanged,
};

static struct memory *
new_store(int fill)
{
	static char name[] = "memory";
	struct memory *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->store = (struct image_store){
		.ops = &store_ops, .name = name, .size = SIZE};
	memset(m->bytes, fill, SIZE);
	return m;
}

/* The first half of the disk is a hole, the second has data. */
static int
source_extent(struct image_source *source, uint64_t offset, uint64_t length,
	struct image_extent *extent, struct image_error *err)
{
	bool hole = offset < SIZE / 2;
	uint64_t end = hole ? SIZE / 2 : SIZE;

	(void)source;
	(void)err;
	*extent = (struct image_extent){.offset = offset,
		.length = length < end - offset ? length : end - offset,
		.kind = hole ? IMAGE_HOLE : IMAGE_DATA,
		.host = hole ? IMAGE_NO_HOST : offset};
	return 0;
}

static int
source_read(struct image_source *source, struct image_scratch *scratch,
	uint64_t offset, void *buf, size_t length, struct image_error *err)
{
	(void)scratch;
	return image_store_read(source->data, offset, buf, length, err);
}

static bool source_changed;

static int
source_unchanged(struct image_source *source, struct image_error *err)
{
	(void)source;
	return source_changed ? image_fail(err, "source", -EIO, "changed") : 0;
}

static const struct image_source_ops source_ops = {
	.extent = source_extent,
	.read = source_read,
	.unchanged = source_unchanged,
};

static int
reserve(struct image_sink *sink, struct image_place *place,
	struct image_error *err)
{
	(void)sink;
	(void)err;
	place->host = place->guest;
	return 0;
}

static const struct image_sink_ops sink_ops = {.reserve = reserve};

/* An image whose metadata is M and whose data is D, into an empty file. */
struct world {
	struct memory *metadata;
	struct memory *data;
	struct memory *file;
	/* both sides are raw */
	bool raw;
	struct image_copied copied;
	struct image_error err;
};

static void
begin(struct world *world)
{
	world->metadata = new_store('M');
	world->data = new_store('D');
	world->file = new_store(0);
	world->file->may_share = 100;
	world->raw = false;
	source_changed = false;
}

static void
end(struct world *world)
{
	free(world->metadata);
	free(world->data);
	free(world->file);
}

static int
copy(struct world *world)
{
	struct image_source source = {.ops = &source_ops,
		.format = world->raw ? &image_format_raw : &image_format_qcow2,
		.store = &world->metadata->store,
		.data = &world->data->store,
		.size = SIZE};
	struct image_sink sink = {.ops = &sink_ops,
		.format = &image_format_raw,
		.store = &world->file->store,
		.size = SIZE};
	struct image_run run = {.block = 4096, .threads = 1, .reflink = true};

	return image_copy(&source, &sink, &run, &world->copied, &world->err);
}

static void
check_bytes(const struct world *world)
{
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(world->file->bytes[i], i < SIZE / 2 ? 0 : 'D');
}

TEST(shared_blocks_are_those_of_the_data_file)
{
	struct world world;

	begin(&world);
	assert_int_equal(copy(&world), 0);
	check_bytes(&world);
	assert_int_equal(world.copied.shared, SIZE / 2);
	end(&world);
}

TEST(what_the_file_system_refused_does_not_count_as_shared)
{
	struct world world;

	begin(&world);
	/* the first one is tried before the copy begins */
	world.file->may_share = 1;
	assert_int_equal(copy(&world), 0);
	check_bytes(&world);
	assert_int_equal(world.copied.shared, 0);
	assert_int_equal(world.copied.data, SIZE / 2);
	end(&world);
}

TEST(the_block_that_was_tried_reads_as_zeros)
{
	struct world world;

	begin(&world);
	world.file->zero_fails = -EOPNOTSUPP;
	assert_int_equal(copy(&world), 0);
	check_bytes(&world);
	end(&world);
}

TEST(a_raw_file_is_shared_whole)
{
	struct world world;

	begin(&world);
	world.raw = true;
	/* the holes of a raw file are zeros in it */
	memset(world.data->bytes, 0, SIZE / 2);
	world.file->may_share = 1;
	assert_int_equal(copy(&world), 0);
	check_bytes(&world);
	assert_int_equal(world.file->may_share, 0);
	assert_int_equal(world.copied.shared, SIZE / 2);
	assert_int_equal(world.copied.data, SIZE / 2);
	assert_int_equal(world.copied.hole, SIZE / 2);
	world.file->may_share = 1;
	source_changed = true;
	assert_int_equal(copy(&world), -EIO);
	end(&world);
	begin(&world);
	world.raw = true;
	world.file->may_share = 0;
	assert_int_equal(copy(&world), 0);
	check_bytes(&world);
	assert_int_equal(world.copied.shared, 0);
	end(&world);
}

TEST(pieces_of_several_places_name_none)
{
	struct image_extent list[1];
	struct image_pieces pieces = {.room = 1, .list = list};
	struct image_extent first = {
		.length = 4096, .kind = IMAGE_DATA, .host = 65536};
	struct image_extent second = {.offset = 4096,
		.length = 4096,
		.kind = IMAGE_DATA,
		.host = 131072};

	image_pieces_add(&pieces, &first);
	image_pieces_add(&pieces, &second);
	assert_int_equal(pieces.count, 1);
	assert_int_equal(list[0].length, 8192);
	assert_true(list[0].host == IMAGE_NO_HOST);
}
