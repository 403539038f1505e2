/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins deflate streams (RFC 1951) that were made apart. Each ends with a block
 * that is marked as the last one. The mark is the first bit of that block,
 * which is found by walking over the codes; nothing is decompressed.
 */
#include <endian.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>
#include "codec/join.h"

#define LITERALS 288
#define DISTANCES 32
#define LONGEST 15
#define END_OF_BLOCK 256

/*
 * Tables of codes, which the next bits of the stream index. An entry has the
 * bits of a code and of what follows it, and leads to the next table: that of
 * lengths, that of distances, or the one for the rest of a code that is longer
 * than ROOT. So a step is the same for each code and has no branch.
 */
#define ROOT 11
#define REST (LONGEST - ROOT)
/* Of an entry, from the lowest bit: the bits to skip, the mask of the next
 * index, the place of the next table. */
#define SKIP_BITS 6
#define MASK_BITS 12
#define SKIPPED(entry) ((entry) & ((1u << SKIP_BITS) - 1))
#define MASK(entry) ((entry) >> SKIP_BITS & ((1u << MASK_BITS) - 1))
#define PLACE(entry) ((entry) >> (SKIP_BITS + MASK_BITS))
#define LEAD(place, bits)                                                      \
	((uint32_t)(place) << (SKIP_BITS + MASK_BITS) | ((1u << (bits)) - 1)   \
								<< SKIP_BITS)

/* Places of the tables. The first two have one entry, which leads to itself:
 * there is no such code, and the block has ended. */
enum {
	NONE,
	END,
	LENGTH_TABLE,
	DISTANCE_TABLE = LENGTH_TABLE + (1 << ROOT),
	REST_TABLES = DISTANCE_TABLE + (1 << ROOT),
	ENTRIES = REST_TABLES + ((LITERALS + DISTANCES) << REST)
};

struct tables {
	/* the end of the tables for rests */
	unsigned end;
	uint32_t entries[ENTRIES];
};

const size_t image_pack_memory = sizeof(struct tables);

/* Bytes that a part grows by when another one may follow. */
#define JOIN_ROOM 5

struct walk {
	const unsigned char *bytes;
	/* bits, and the position in them */
	uint64_t end;
	uint64_t at;
};

/* Returns the next bits, 57 or more; zeros follow the end. */
static uint64_t
peek(const struct walk *w)
{
	size_t byte = (size_t)(w->at / 8), left = (size_t)(w->end / 8) - byte;
	uint64_t word = 0;

	if (left >= 8)
		memcpy(&word, w->bytes + byte, 8);
	else
		memcpy(&word, w->bytes + byte, left);
	return le64toh(word) >> (w->at % 8);
}

/* Take n bits, at most 16. Sets *value. */
static bool
take(struct walk *w, unsigned n, unsigned *value)
{
	if (w->end - w->at < n)
		return false;
	*value = (unsigned)(peek(w) & ((1u << n) - 1));
	w->at += n;
	return true;
}

static unsigned
reversed(unsigned code, unsigned bits)
{
	unsigned result = 0;

	for (; bits; bits--, code >>= 1)
		result = result << 1 | (code & 1);
	return result;
}

/* Returns the table for the rests of the codes that begin as `root` stands for.
 */
static uint32_t *
rest_table(struct tables *tables, uint32_t *root)
{
	if (PLACE(*root) < REST_TABLES) {
		*root = LEAD(tables->end, REST) + ROOT;
		memset(tables->entries + tables->end, 0, sizeof(*root) << REST);
		tables->end += 1u << REST;
	}
	return tables->entries + PLACE(*root);
}

/* Fill the table at `place`. `codes` has the entry of each symbol, to which the
 * length of its code is added. */
static void
fill(struct tables *tables, unsigned place, const uint8_t *lengths,
	const uint32_t *codes, unsigned n)
{
	unsigned counts[LONGEST + 1] = {0}, next[LONGEST + 2] = {0};
	uint32_t *root = tables->entries + place;

	for (unsigned i = 0; i < n; i++)
		counts[lengths[i]]++;
	counts[0] = 0;
	for (unsigned bits = 1; bits <= LONGEST; bits++)
		next[bits + 1] = (next[bits] + counts[bits]) << 1;
	memset(root, 0, sizeof(*root) << ROOT);
	for (unsigned i = 0; i < n; i++) {
		unsigned bits = lengths[i], width = ROOT;
		if (bits == 0)
			continue;
		unsigned first = reversed(next[bits]++, bits);
		uint32_t *table = root;
		if (bits > ROOT) {
			table = rest_table(
				tables, &root[first & ((1u << ROOT) - 1)]);
			first >>= ROOT;
			bits -= ROOT;
			width = REST;
		}
		for (; first < 1u << width; first += 1u << bits)
			table[first] = codes[i] + bits;
	}
}

static void
fill_all(struct tables *tables, const uint8_t *lengths, unsigned n_literals,
	unsigned n_distances)
{
	uint32_t codes[LITERALS];

	tables->entries[NONE] = LEAD(NONE, 0);
	tables->entries[END] = LEAD(END, 0);
	tables->end = REST_TABLES;
	for (unsigned i = 0; i < DISTANCES; i++)
		codes[i] = LEAD(LENGTH_TABLE, ROOT) + (i < 4 ? 0 : (i - 2) / 2);
	fill(tables, DISTANCE_TABLE, lengths + n_literals, codes, n_distances);
	for (unsigned i = 0; i < END_OF_BLOCK; i++)
		codes[i] = LEAD(LENGTH_TABLE, ROOT);
	codes[END_OF_BLOCK] = LEAD(END, 0);
	for (unsigned i = END_OF_BLOCK + 1; i < LITERALS; i++)
		codes[i] = LEAD(DISTANCE_TABLE, ROOT) +
			   (i < 265 || i == 285 ? 0 : (i - 261) / 4);
	fill(tables, LENGTH_TABLE, lengths, codes, n_literals);
}

static bool
skip_stored(struct walk *w)
{
	unsigned length, complement;

	w->at = (w->at + 7) / 8 * 8;
	if (!take(w, 16, &length) || !take(w, 16, &complement) ||
		(length ^ complement) != 0xffff ||
		w->end - w->at < (uint64_t)length * 8)
		return false;
	w->at += (uint64_t)length * 8;
	return true;
}

/* Read the lengths of the codes of a block: RFC 1951, 3.2.7. */
static bool
read_lengths(
	struct walk *w, struct tables *tables, uint8_t *lengths, unsigned total)
{
	static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4,
		12, 3, 13, 2, 14, 1, 15};
	uint32_t codes[19];
	uint8_t packed[19] = {0};
	unsigned n, value, repeat;

	for (unsigned i = 0; i < 19; i++)
		codes[i] = i << SKIP_BITS;
	if (!take(w, 4, &n))
		return false;
	for (unsigned i = 0; i < n + 4; i++) {
		if (i >= 19 || !take(w, 3, &value))
			return false;
		packed[order[i]] = (uint8_t)value;
	}
	fill(tables, LENGTH_TABLE, packed, codes, 19);
	for (unsigned i = 0; i < total;) {
		uint32_t code =
			tables->entries[LENGTH_TABLE +
					(peek(w) & MASK(LEAD(0, ROOT)))];
		unsigned symbol = code >> SKIP_BITS;
		if (code == 0 || w->end - w->at < SKIPPED(code))
			return false;
		w->at += SKIPPED(code);
		value = symbol < 16 ? symbol : 0;
		repeat = 1;
		if (symbol == 16) {
			if (i == 0 || !take(w, 2, &repeat))
				return false;
			repeat += 3;
			value = lengths[i - 1];
		} else if (symbol > 16) {
			if (!take(w, symbol == 17 ? 3 : 7, &repeat))
				return false;
			repeat += symbol == 17 ? 3 : 11;
		}
		if (repeat > total - i)
			return false;
		memset(lengths + i, (int)value, repeat);
		i += repeat;
	}
	return true;
}

static bool
skip_codes(struct walk *w, const struct tables *tables)
{
	uint32_t entry = LEAD(LENGTH_TABLE, ROOT);
	uint64_t bits = peek(w);

	/* Two steps take up to 24 and 16 bits, and the next one looks at ROOT
	 * bits. It needs no bits of the next peek, so it does not wait for it.
	 * A peek behind the end would read other memory. */
	while (PLACE(entry) > END && w->at <= w->end) {
		uint64_t ahead = peek(w);
		entry = tables->entries[PLACE(entry) + (bits & MASK(entry))];
		w->at += SKIPPED(entry);
		bits = ahead >> SKIPPED(entry);
		entry = tables->entries[PLACE(entry) + (bits & MASK(entry))];
		w->at += SKIPPED(entry);
		bits >>= SKIPPED(entry);
	}
	return PLACE(entry) == END && w->at <= w->end;
}

static bool
skip_compressed(struct walk *w, struct tables *tables, bool dynamic)
{
	uint8_t lengths[LITERALS + DISTANCES];
	unsigned n_literals = LITERALS, n_distances = 30, n;

	if (dynamic) {
		if (!take(w, 5, &n_literals) || !take(w, 5, &n_distances))
			return false;
		n_literals += 257;
		n_distances += 1;
		n = n_literals + n_distances;
		if (n_literals > LITERALS ||
			!read_lengths(w, tables, lengths, n))
			return false;
	} else {
		memset(lengths, 8, 144);
		memset(lengths + 144, 9, 256 - 144);
		memset(lengths + 256, 7, 280 - 256);
		memset(lengths + 280, 8, LITERALS - 280);
		memset(lengths + LITERALS, 5, n_distances);
	}
	fill_all(tables, lengths, n_literals, n_distances);
	return skip_codes(w, tables);
}

/* Change a stream so that another one may follow. Returns the new length, or 0
 * if this is not a stream of `length` bytes. */
static size_t
join_open(unsigned char *stream, size_t length, void *memory)
{
	struct walk w = {stream, (uint64_t)length * 8, 0};
	uint64_t begin;
	unsigned last, type;
	bool valid = true;

	do {
		begin = w.at;
		valid = take(&w, 1, &last) && take(&w, 2, &type);
		if (valid && type == 0)
			valid = skip_stored(&w);
		else if (valid)
			valid = type < 3 &&
				skip_compressed(&w, memory, type == 2);
	} while (valid && !last);
	if (!valid || (w.at + 7) / 8 != length)
		return 0;
	stream[begin / 8] &= (unsigned char)~(1u << begin % 8);
	/* An empty stored block: its three bits, then whole bytes. */
	if (w.at % 8 == 0 || w.at % 8 > 5)
		stream[length++] = 0;
	memcpy(stream + length, "\0\0\xff\xff", 4);
	return length + 4;
}

int
image_pack(const struct image_codec *codec, struct image_scratch *scratch,
	const unsigned char *from, unsigned char *to, size_t room,
	struct image_packed *packed, struct image_error *err)
{
	size_t length = (size_t)packed->length;

	int64_t n = image_compress(
		codec, scratch, from, length, to, room - JOIN_ROOM);
	void *memory = image_scratch_buffer(scratch, sizeof(struct tables));
	if (n < 0 || !memory)
		return image_no_memory(err);
	packed->stored = join_open(to, (size_t)n, memory);
	packed->crc = libdeflate_crc32(0, from, length);
	if (packed->stored == 0)
		return image_fail(err, NULL, -EIO,
			"libdeflate made a stream that is not valid");
	return 0;
}

uint32_t
image_crc32(const void *bytes, size_t length)
{
	return libdeflate_crc32(0, bytes, length);
}

uint32_t
image_crc32_join(uint32_t a, uint32_t b, uint64_t length)
{
	return (uint32_t)crc32_combine(a, b, (z_off_t)length);
}
