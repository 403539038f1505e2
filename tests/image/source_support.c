/* SPDX-License-Identifier: BSD-3-Clause */
#include "source_support.h"
#include "support.h"

#define GAP ((size_t)64 << 10)

static int
counted_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct counted *c = (struct counted *)store;
	unsigned number = atomic_fetch_add(&c->reads, 1) + 1;

	if (number == c->fail_at)
		return image_fail(err, store->name, -EIO, "cannot be read");
	return memory_store_ops.read(store, offset, buf, length, err);
}

static void
counted_close(struct image_store *store)
{
	((struct counted *)store)->closed = true;
}

static int
counted_unchanged(struct image_store *store, struct image_error *err)
{
	return ((struct counted *)store)->changed
		       ? image_fail(err, store->name, -EIO, "changed")
		       : 0;
}

void
counted_init(struct counted *counted, const void *bytes, size_t length)
{
	static struct image_store_ops ops;
	static char name[] = "built";

	ops = memory_store_ops;
	ops.read = counted_read;
	ops.unchanged = counted_unchanged;
	ops.close = counted_close;
	*counted = (struct counted){
		.memory = {.store = {.ops = &ops, .name = name, .size = length},
			.bytes = bytes}};
}

static void
put32(struct built *b, size_t at, uint32_t value)
{
	value = htobe32(value);
	memcpy(b->bytes + at, &value, sizeof(value));
}

static void
put64(struct built *b, size_t at, uint64_t value)
{
	value = htobe64(value);
	memcpy(b->bytes + at, &value, sizeof(value));
}

/* Room at the end of the file; what was between is zeros. */
static void
grow(struct built *b, size_t to)
{
	if (to > b->room) {
		b->room = 2 * to;
		b->bytes = realloc(b->bytes, b->room);
		assert_non_null(b->bytes);
	}
	memset(b->bytes + b->length, 0, to - b->length);
	b->length = to;
}

static size_t
round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Bytes that compress to less than half; none is zero. */
static void
fill(unsigned char *at, size_t length, uint64_t *seed)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t eight =
			support_random(seed) & UINT64_C(0x0707070707070707);
		eight += UINT64_C(0x0101010101010101);
		memcpy(at + i, &eight, length - i < 8 ? length - i : 8);
	}
}

static uint64_t
add_standard(
	struct built *b, size_t index, size_t cluster, bool far, uint64_t *seed)
{
	size_t at = round_up(b->length, cluster) + (far ? cluster : 0);

	grow(b, at + cluster);
	fill(b->disk + index * cluster, cluster, seed);
	memcpy(b->bytes + at, b->disk + index * cluster, cluster);
	return at | UINT64_C(1) << 63;
}

static uint64_t
add_compressed(struct built *b, size_t index, const struct shape *shape,
	bool gap, uint64_t *seed)
{
	size_t cluster = (size_t)1 << shape->cluster_bits;
	struct image_codec codec = {.id = shape->codec};
	struct image_scratch scratch = {0};
	struct image_error err;
	size_t at = b->length + (gap ? GAP : 0);
	unsigned char *packed = malloc(cluster);

	fill(b->disk + index * cluster, cluster, seed);
	assert_ok(image_codec_init(&codec, &err));
	int64_t n = image_compress(&codec, &scratch, b->disk + index * cluster,
		cluster, packed, cluster);
	assert_true(n > 0);
	grow(b, at + (size_t)n);
	memcpy(b->bytes + at, packed, (size_t)n);
	free(packed);
	image_scratch_destroy(&scratch);
	uint64_t sectors = (at + (size_t)n - 1) / 512 - at / 512;
	return UINT64_C(1) << 62 | sectors << (70 - shape->cluster_bits) | at;
}

/* Subclusters are by turns allocated, zero and neither. */
static uint64_t
add_mixed(struct built *b, size_t index, size_t cluster, uint64_t *bitmap,
	uint64_t *seed)
{
	uint64_t entry = add_standard(b, index, cluster, true, seed);

	*bitmap = 0;
	for (unsigned i = 0; i < 32; i++) {
		unsigned kind = (unsigned)support_below(seed, 3);
		if (kind < 2)
			*bitmap |= UINT64_C(1) << (i + (kind ? 32 : 0));
		if (kind > 0)
			memset(b->disk + index * cluster + i * cluster / 32, 0,
				cluster / 32);
	}
	return entry;
}

static void
add_cluster(struct built *b, const struct shape *shape, size_t index,
	size_t entry_at, uint64_t *seed)
{
	size_t cluster = (size_t)1 << shape->cluster_bits;
	char kind = shape->clusters[index % strlen(shape->clusters)];
	uint64_t entry = 0;
	uint64_t bitmap = 0;

	if (kind == 's' || kind == 'f') {
		entry = add_standard(b, index, cluster, kind == 'f', seed);
		bitmap = UINT32_MAX;
	} else if (kind == 'c' || kind == 'g') {
		entry = add_compressed(b, index, shape, kind == 'g', seed);
	} else if (kind == 'h') {
		entry = add_standard(b, index, cluster, false, seed);
		bitmap = UINT16_MAX;
		memset(b->disk + index * cluster + cluster / 2, 0, cluster / 2);
	} else if (kind == 'm') {
		entry = add_mixed(b, index, cluster, &bitmap, seed);
	} else if (kind == 'z') {
		entry = !shape->extended;
		bitmap = (uint64_t)UINT32_MAX << 32;
	}
	put64(b, entry_at, entry);
	if (shape->extended)
		put64(b, entry_at + 8, bitmap);
}

static void
put_header(struct built *b, const struct shape *shape, size_t l2_tables)
{
	uint64_t cluster = UINT64_C(1) << shape->cluster_bits;
	bool zstd = shape->codec == IMAGE_CODEC_ZSTD;

	put32(b, 0, QCOW2_MAGIC);
	put32(b, 4, 3);
	put32(b, 20, shape->cluster_bits);
	put64(b, 24, b->size);
	put32(b, 36, (uint32_t)l2_tables);
	put64(b, 40, 2 * cluster);
	put64(b, 48, cluster);
	put32(b, 56, 1);
	put64(b, 72, (shape->extended ? 16 : 0) | (zstd ? 8 : 0));
	put32(b, 96, 4);
	put32(b, 100, 112);
	b->bytes[104] = zstd;
}

/* In this order: header, refcount table (empty), L1 table, L2 tables, data. */
void
build(struct built *b, const struct shape *shape, uint64_t seed)
{
	size_t cluster = (size_t)1 << shape->cluster_bits;
	size_t n = strlen(shape->clusters) * shape->times;
	size_t entry = shape->extended ? 16 : 8;
	size_t l2_tables = round_up(n * entry, cluster) / cluster;
	size_t l1 = round_up(l2_tables * 8, cluster);

	*b = (struct built){.size = n * cluster - shape->cut};
	b->disk = calloc(n, cluster);
	assert_non_null(b->disk);
	grow(b, 2 * cluster + l1 + l2_tables * cluster);
	put_header(b, shape, l2_tables);
	for (size_t i = 0; i < l2_tables; i++)
		put64(b, 2 * cluster + 8 * i,
			(2 * cluster + l1 + i * cluster) | UINT64_C(1) << 63);
	for (size_t i = 0; i < n; i++)
		add_cluster(b, shape, i, 2 * cluster + l1 + i * entry, &seed);
	/* A sanitizer sees a read past the end. */
	b->bytes = realloc(b->bytes, b->length);
	assert_non_null(b->bytes);
	counted_init(&b->counted, b->bytes, b->length);
}

void
unbuild(struct built *b)
{
	free(b->bytes);
	free(b->disk);
}

struct image_source *
open_built(struct built *b)
{
	struct image_open how = {0};
	struct image_source *source;
	struct image_error err;

	int rc = image_format_qcow2.open(
		&b->counted.memory.store, &how, &source, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_int_equal(source->size, b->size);
	atomic_store(&b->counted.reads, 0);
	return source;
}
