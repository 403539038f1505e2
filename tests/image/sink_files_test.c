/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Images made by random calls of the qcow2 sink: every table, every reference
 * count and every byte is looked at.
 */
#include <endian.h>
#include "format/qcow2/sink.h"
#include "fakes.h"
#include "support.h"

/* ---- images by random calls ---- */

struct play_how {
	struct image_create create;
	/* percent of the disk that has data */
	size_t dense;
	/* the same image for the same number */
	uint64_t seed;
};

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

/* Bytes of which some can be compressed: each of 8 random ones becomes one of
 * `values`. */
static void
make_bytes(struct play *p, size_t length)
{
	const uint64_t even = UINT64_C(0x00ff00ff00ff00ff);
	uint64_t values = 2 + support_below(&p->random, 255);

	for (size_t i = 0; i < length; i += 8) {
		uint64_t random = support_random(&p->random);
		uint64_t word =
			htole64(((random & even) * values >> 8 & even) |
				((random >> 8 & even) * values & ~even));
		memcpy(p->bytes + i, &word, length - i < 8 ? length - i : 8);
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

/* Write an image to one empty file and a raw file of the same bytes to another.
 * Places are written in any order. Exits with a message on any error. */
static void
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

/* ---- what is in them ---- */

#define OFFSET UINT64_C(0x00fffffffffffe00)
#define COPIED (UINT64_C(1) << 63)
#define COMPRESSED (UINT64_C(1) << 62)

/* An image in memory, and what is found in it. */
struct found {
	const struct play_how *how;
	const unsigned char *file;
	const unsigned char *raw;
	uint64_t file_size;
	uint64_t raw_size;
	unsigned bits;
	uint64_t cluster;
	/* of each cluster of the file: references, and the one that is alone */
	uint64_t *count;
	bool *alone;
	struct image_scratch scratch;
	unsigned char *unpacked;
};

#define MUST(cond, f)                                                          \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: seed %#llx", #cond,                      \
				(unsigned long long)(f)->how->seed);           \
	} while (0)

static uint64_t
word(const struct found *f, uint64_t at, unsigned bytes)
{
	uint64_t value = 0;

	MUST(at + bytes <= f->file_size, f);
	memcpy((unsigned char *)&value + 8 - bytes, f->file + at, bytes);
	return be64toh(value);
}

/* Count one reference to each cluster of a range. */
static void
claim(struct found *f, uint64_t at, uint64_t length, bool alone)
{
	MUST(!alone || (at & (f->cluster - 1)) == 0, f);
	MUST(at > 0 && at + length <= f->file_size, f);
	for (uint64_t i = at >> f->bits; i <= (at + length - 1) >> f->bits;
		i++) {
		MUST(f->count[i] == 0 || (!alone && !f->alone[i]), f);
		f->count[i]++;
		f->alone[i] = alone;
	}
}

static bool
are_zeros(const unsigned char *bytes, uint64_t length)
{
	/* each byte is that before it: fast under the sanitizers, too */
	return length == 0 ||
	       (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* The guest's bytes in [at, at + length) are these; NULL: zeros. */
static void
compare(const struct found *f, uint64_t at, const unsigned char *bytes,
	uint64_t length)
{
	uint64_t inside = at < f->raw_size ? f->raw_size - at : 0;

	if (inside > length)
		inside = length;
	if (!bytes) {
		MUST(are_zeros(f->raw + at, inside), f);
		return;
	}
	MUST(memcmp(bytes, f->raw + at, inside) == 0, f);
	MUST(are_zeros(bytes + inside, length - inside), f);
}

static void
look_at_compressed(struct found *f, uint64_t guest, uint64_t entry)
{
	unsigned x = 62 - (f->bits - 8);
	uint64_t at = entry & ((UINT64_C(1) << x) - 1);
	uint64_t sectors = (entry & (COMPRESSED - 1)) >> x;
	uint64_t length = (sectors + 1) * 512 - at % 512;

	MUST(f->how->create.compress && !(entry & COPIED), f);
	claim(f, at, length, false);
	MUST(image_decompress(f->how->create.codec, &f->scratch, f->file + at,
		     (size_t)length, f->unpacked, (size_t)f->cluster) == 0,
		f);
	compare(f, guest, f->unpacked, f->cluster);
}

static void
look_at_standard(
	struct found *f, uint64_t guest, uint64_t entry, uint64_t marks)
{
	uint64_t at = entry & OFFSET;
	uint64_t part = f->cluster / 32;

	MUST((entry & ~OFFSET) == COPIED, f);
	claim(f, at, f->cluster, true);
	if (!f->how->create.extended_l2) {
		compare(f, guest, f->file + at, f->cluster);
		return;
	}
	for (unsigned i = 0; i < 32; i++)
		compare(f, guest + i * part,
			marks >> i & 1 ? f->file + at + i * part : NULL, part);
	MUST(marks >> 32 == 0, f);
}

static void
look_at_l2(struct found *f, uint64_t guest, uint64_t table)
{
	unsigned size = f->how->create.extended_l2 ? 16 : 8;

	for (uint64_t i = 0; i < f->cluster / size; i++, guest += f->cluster) {
		uint64_t at = table + i * size;
		uint64_t entry = table ? word(f, at, 8) : 0;
		uint64_t marks = table && size == 16 ? word(f, at + 8, 8) : 0;

		if (guest >= f->raw_size)
			MUST(entry == 0, f);
		else if (entry & COMPRESSED)
			look_at_compressed(f, guest, entry);
		else if (entry)
			look_at_standard(f, guest, entry, marks);
		else
			compare(f, guest, NULL, f->cluster);
		MUST(!f->how->create.preallocate || guest >= f->raw_size ||
				(entry & OFFSET),
			f);
		MUST((entry && !(entry & COMPRESSED)) || marks == 0, f);
	}
}

static void
look_at_l1(struct found *f)
{
	uint64_t entries = word(f, 36, 4);
	uint64_t table = word(f, 40, 8);
	uint64_t reach =
		f->cluster * f->cluster / (f->how->create.extended_l2 ? 16 : 8);

	MUST(entries * reach >= f->raw_size, f);
	claim(f, table, entries * 8, true);
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t entry = word(f, table + 8 * i, 8);
		MUST(entry == 0 || (entry & ~OFFSET) == COPIED, f);
		if (entry)
			claim(f, entry & OFFSET, f->cluster, true);
		if (i * reach < f->raw_size || entry)
			look_at_l2(f, i * reach, entry & OFFSET);
	}
}

/* One count of a refcount block. */
static uint64_t
counted(const struct found *f, uint64_t block, uint64_t i)
{
	unsigned bits = f->how->create.refcount_bits;

	if (bits >= 8)
		return word(f, block + i * bits / 8, bits / 8);
	return word(f, block + i * bits / 8, 1) >> (i * bits % 8) &
	       ((1u << bits) - 1);
}

static void
look_at_counts(struct found *f)
{
	uint64_t table = word(f, 48, 8);
	uint64_t length = word(f, 56, 4) << f->bits;
	uint64_t per_block = f->cluster * 8 / f->how->create.refcount_bits;
	uint64_t clusters = f->file_size >> f->bits;

	MUST(clusters << f->bits == f->file_size, f);
	f->count[0] = 1;
	claim(f, table, length, true);
	for (uint64_t i = 0; i < length; i += 8) {
		uint64_t block = word(f, table + i, 8);
		if (block)
			claim(f, block, f->cluster, true);
	}
	MUST(clusters <= length / 8 * per_block, f);
	for (uint64_t i = 0; i < length / 8 * per_block; i++) {
		uint64_t block = word(f, table + i / per_block * 8, 8);
		uint64_t count = i < clusters ? f->count[i] : 0;
		MUST((block ? counted(f, block, i % per_block) : 0) == count,
			f);
		if (!block)
			i += per_block - 1;
	}
	MUST(f->count[clusters - 1] > 0, f);
}

static void
look_at_header(const struct found *f)
{
	const struct image_create *c = &f->how->create;
	bool zstd = c->codec == IMAGE_CODEC_ZSTD;

	MUST(word(f, 0, 4) == 0x514649fb && word(f, 4, 4) == c->version, f);
	MUST(word(f, 8, 8) == 0 && word(f, 16, 4) == 0, f);
	MUST(word(f, 20, 4) == f->bits && word(f, 24, 8) == f->raw_size, f);
	MUST(word(f, 32, 4) == 0 && word(f, 60, 4) == 0, f);
	if (c->version == 2) {
		MUST(word(f, 72, 8) == 0, f);
		return;
	}
	MUST(word(f, 72, 8) == (zstd ? 8u : 0u) + (c->extended_l2 ? 16u : 0u),
		f);
	MUST(word(f, 80, 8) == 0 && word(f, 88, 8) == 0, f);
	MUST(1u << word(f, 96, 4) == c->refcount_bits, f);
	MUST(word(f, 100, 4) == (zstd ? 112 : 104), f);
	MUST(word(f, 104, 1) == (zstd ? 1 : 0), f);
	MUST(word(f, word(f, 100, 4), 8) == 0, f);
}

static const unsigned char *
in_memory(int fd, uint64_t *size)
{
	struct stat st;

	assert_ok(fstat(fd, &st));
	*size = (uint64_t)st.st_size;
	if (*size == 0)
		return NULL;
	void *at = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void
play_and_look(const struct play_how *how)
{
	struct found f = {.how = how, .cluster = how->create.cluster_size};
	int image = memfd_create("image", 0), raw = memfd_create("raw", 0);

	assert_true(image >= 0 && raw >= 0);
	play(image, raw, how);
	f.file = in_memory(image, &f.file_size);
	f.raw = in_memory(raw, &f.raw_size);
	f.bits = (unsigned)__builtin_ctzll(f.cluster);
	f.count = calloc(f.file_size / f.cluster + 1, sizeof(*f.count));
	f.alone = calloc(f.file_size / f.cluster + 1, sizeof(*f.alone));
	f.unpacked = malloc(f.cluster);
	assert_true(f.count && f.alone && f.unpacked);
	look_at_header(&f);
	look_at_l1(&f);
	look_at_counts(&f);
	image_scratch_destroy(&f.scratch);
	free(f.count);
	free(f.alone);
	free(f.unpacked);
	munmap((void *)(uintptr_t)f.file, f.file_size);
	if (f.raw)
		munmap((void *)(uintptr_t)f.raw, f.raw_size);
	close(image);
	close(raw);
}

static uint64_t seed;

/* Options that go together. */
static struct play_how
random_how(void)
{
	struct play_how how = {.create = {.version = 3}};
	struct image_create *c = &how.create;

	how.seed = support_random(&seed);
	how.dense = support_below(&seed, 99);
	c->cluster_size = 512u << support_below(&seed, 13);
	c->refcount_bits = 1u << support_below(&seed, 7);
	c->compress = support_below(&seed, 2);
	c->preallocate = !c->compress && support_below(&seed, 4) == 0;
	if (support_below(&seed, 4) == 0) {
		c->version = 2;
		c->refcount_bits = 16;
	} else {
		c->codec = support_below(&seed, 2) ? IMAGE_CODEC_ZSTD
						   : IMAGE_CODEC_ZLIB;
		c->extended_l2 = support_below(&seed, 3) == 0;
		if (c->extended_l2 && c->cluster_size < 16384)
			c->cluster_size = 16384;
	}
	uint64_t most = c->cluster_size * 1500;
	if (most > 8 << 20)
		most = 8 << 20;
	c->size = support_random(&seed) % most;
	return how;
}

TEST(random_images_are_sound_and_equal)
{
	for (unsigned i = 0; i < 12; i++) {
		struct play_how how = random_how();
		play_and_look(&how);
	}
}

/* Clusters of 512 bytes before those of the data: 64 KiB, where other formats
 * have their signatures. */
#define BEFORE_DATA 128

/* With every cluster in use, the refcount blocks just fit or just do not. */
TEST(counts_are_right_at_the_borders_of_blocks_and_tables)
{
	struct play_how how = {.create = {.version = 3,
				       .cluster_size = 512,
				       .preallocate = true}};

	for (unsigned bits = 1; bits <= 64; bits *= 8) {
		uint64_t border = 4096 / bits;
		/* the first after that of the data's first cluster */
		while (border < BEFORE_DATA + 64)
			border += 4096 / bits;
		border -= BEFORE_DATA;
		how.create.refcount_bits = bits;
		for (uint64_t n = border - 60; n < border + 5; n++) {
			how.create.size = n * 512;
			play_and_look(&how);
		}
	}
	/* 64 blocks of 64 clusters fill a cluster of the refcount table */
	how.create.refcount_bits = 64;
	for (uint64_t n = 3880; n < 4000; n++) {
		how.create.size = (n - BEFORE_DATA) * 512;
		play_and_look(&how);
	}
}

/* More than 1 MiB of L2 tables, and of refcount blocks, before the end. */
TEST(tables_between_the_data_are_right)
{
	for (int compress = 0; compress < 2; compress++) {
		struct play_how how = {.create = {.version = 3,
					       .cluster_size = 512,
					       .refcount_bits = 64,
					       .compress = compress,
					       .size = UINT64_C(90) << 20},
			.dense = 98,
			.seed = seed};
		play_and_look(&how);
	}
}

/* A table of 16-byte entries for clusters of 16 KiB covers 16 MiB. */
TEST(several_extended_tables_are_right)
{
	for (int compress = 0; compress < 2; compress++) {
		struct play_how how = {.create = {.version = 3,
					       .cluster_size = 16384,
					       .refcount_bits = 16,
					       .extended_l2 = true,
					       .compress = compress,
					       .size = UINT64_C(70) << 20},
			.dense = 50,
			.seed = seed};
		play_and_look(&how);
	}
}

int
main(void)
{
	seed = support_seed();
	return run_all_tests(NULL, NULL);
}
