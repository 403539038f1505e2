/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stored values and their cold form. The decoder makes a value again that is
 * the same for a reader, and refuses all other bytes with a phrase.
 */
#include "value_text.h"
#include "graph.h"
#include "support.h"

#define LIST (sizeof(zend_array) + 8)

static struct php_hone_cold cold;

/* Make a value of bytes. The memory ends with them. */
static bool
decode(const void *bytes, size_t size, bool graph, struct text_made *made,
	const char **phrase)
{
	void *exact = malloc(size + !size);
	bool good;

	assert_non_null(exact);
	if (size != 0)
		memcpy(exact, bytes, size);
	*phrase = NULL;
	good = text_warm(&cold, exact, size, graph, made, phrase);
	assert_true(good == (*phrase == NULL));
	free(exact);
	return good;
}

static void
each_text(void (*test)(const char *text, bool graph))
{
	for (const char *const *text = value_texts; *text != NULL; text++)
		test(*text, false);
	for (const char *const *text = object_texts; *text != NULL; text++)
		test(*text, true);
}

static uint32_t
length_of(const struct text_made *made, const zval *list)
{
	return Z_TYPE_P(list) == IS_NULL
		       ? 0
		       : ((const zend_array *)(made->bytes +
					       (uintptr_t)Z_PTR_P(list) -
					       TEXT_BASE))
				 ->nNumUsed;
}

/* The parts of a directory that a fetch relies on, and value_read() does not
 * see. */
static void
is_equal_directory(const struct text_made *a, const struct text_made *b)
{
	const zval *x = (const zval *)(a->bytes + LIST);
	const zval *y = (const zval *)(b->bytes + LIST);

	assert_int_equal(
		Z_LVAL(x[PHP_HONE_SHAPES_AT]), Z_LVAL(y[PHP_HONE_SHAPES_AT]));
	assert_int_equal(
		Z_LVAL(x[PHP_HONE_DEPTH_AT]), Z_LVAL(y[PHP_HONE_DEPTH_AT]));
	for (int i = PHP_HONE_OBJECTS_AT; i <= PHP_HONE_ARRAYS_AT; i++)
		assert_int_equal(length_of(a, &x[i]), length_of(b, &y[i]));
}

/* The decoder sorts strings and shrinks tables once: what it made has this cold
 * form, and is made of it again byte for byte. */
static void
is_the_same_again(const char *text, bool graph)
{
	struct text_made made = text_store(text), warm, again;
	size_t size, estimate;

	value_read(made.bytes, &made.root, graph);
	text_cold(&cold, &made, graph);
	size = cold.bytes.used;
	estimate = cold.made;
	assert_true(text_again(&cold, graph, &warm));
	value_read(warm.bytes, &warm.root, graph);
	assert_true(warm.size <= made.size);
	assert_true(graph || warm.size == estimate);
	if (graph)
		is_equal_directory(&made, &warm);
	text_cold(&cold, &warm, graph);
	assert_int_equal(cold.bytes.used, size);
	assert_true(text_again(&cold, graph, &again));
	assert_int_equal(again.size, warm.size);
	assert_memory_equal(again.bytes, warm.bytes, warm.size);
	free(made.bytes);
	free(warm.bytes);
	free(again.bytes);
}

/* Copies the cold form of a text. Returns its size. */
static size_t
cold_of(const char *text, bool graph, unsigned char bytes[4096])
{
	struct text_made made = text_store(text);

	text_cold(&cold, &made, graph);
	assert_true(cold.bytes.used < 4096);
	memcpy(bytes, cold.bytes.bytes, cold.bytes.used);
	free(made.bytes);
	return cold.bytes.used;
}

/* Whether the value is placed before it is written makes no difference. */
static void
is_written_from_the_builder(const char *text, bool graph)
{
	unsigned char bytes[4096];
	size_t size = cold_of(text, graph, bytes);

	if (!graph && text_built(&cold, text)) {
		assert_int_equal(cold.bytes.used, size);
		assert_memory_equal(cold.bytes.bytes, bytes, size);
	}
}

TEST(a_value_has_one_cold_form_before_and_after_it_is_placed)
{
	each_text(is_written_from_the_builder);
}

TEST(php_reads_what_is_built_and_its_cold_form_is_the_same)
{
	each_text(is_the_same_again);
}

/* Bytes as pairs of hexadecimal digits. */
static size_t
hex(const char *digits, unsigned char *bytes)
{
	size_t n = 0;

	for (; *digits != '\0'; digits += digits[2] == ' ' ? 3 : 2) {
		char pair[3] = {digits[0], digits[1], '\0'};
		bytes[n++] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return n;
}

/* The same on each CPU. */
static const struct {
	const char *text, *bytes;
} forms[] = {
	{"N", "01"},
	{"T", "03"},
	{"63", "7f"},
	{"64", "20 40"},
	{"300", "21 2c01"},
	{"-1", "28 00"},
	{"-300", "29 2b01"},
	{"9223372036854775807", "27 ffffffffffffff7f"},
	{"'x'", "81 78"},
	{"[]", "05"},
	{"[1 _ 3]", "3a 41 00 43"},
	{"[1 2 3 4 5 6 7 8 9]", "06 09 41 42 43 44 45 46 47 48 49"},
	{"['s' 's']", "39 8173 c0"},
	{"[[] [] [1] &]", "3b 05 05 38 41 0c 01"},
	{"{7:'v'}", "07 01 47 81 76"},
	{"[{'k':1} {'k':'k'}]", "39 07 01 816b 41 30 c0"},
	{"(O1'C' 'a':1)", "0d 00 00 8143 01 8161 01 41"},
	{"[(O1'C' 'a':_) (O1'C' 'a':#0) #1]",
		"3a 0d 00 00 8143 01 8161 01 00 0d 00 01 0e 00 0e 01"},
};

TEST(the_cold_form_has_these_bytes)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		bool graph = strchr(forms[i].text, '(') != NULL;
		unsigned char bytes[64], made[4096];
		size_t size = hex(forms[i].bytes, bytes);

		if (cold_of(forms[i].text, graph, made) != size ||
			memcmp(made, bytes, size) != 0)
			fail_msg("%s", forms[i].text);
	}
}

static const struct {
	const char *bytes;
	bool graph;
	const char *phrase;
} refused[] = {
	{"", false, "the value is cut off"},
	{"12", false, "a value has an unknown type"},
	{"11", false, "the value is cut off"},
	{"11 80", false, "the value is cut off"},
#ifdef HONE_LZ4
	{"11 00", false, "the value cannot be decompressed"},
	{"11 00 00", false, "the uncompressed size is wrong"},
	{"11 ff03 00", false, "the uncompressed size is wrong"},
	{"11 ff01 00", false, "the value cannot be decompressed"},
	/* far more than the byte makes, one byte of two, and two of one */
	{"11 81808020 00", false, "the uncompressed size is wrong"},
	{"11 02 1041", false, "the value cannot be decompressed"},
	{"11 03 304141", false, "the value cannot be decompressed"},
#else
	{"11 02 1041", false, "it needs LZ4, which this build does not have"},
#endif
	{"00", false, "an element is empty"},
	{"41 41", false, "there are bytes after the value"},
	{"04 00000000000000", false, "the value is cut off"},
	{"21 01", false, "the value is cut off"},
	{"27 ffffffffffffffff", false, "an integer is too large"},
	{"82 78", false, "a string is cut off"},
	{"0f ffffffffffffffff7f 78", false, "a string is cut off"},
	{"0f ffffffffffffffffff01 78", false, "a number is too large"},
	{"c0", false, "a number leads to nothing"},
	{"18 00", false, "a number leads to nothing"},
	{"10 00", false, "a number leads to nothing"},
	{"39 8178 c1", false, "a number leads to nothing"},
	{"38", false, "a count is larger than the value"},
	{"06 02 41", false, "a count is larger than the value"},
	{"06 ffffffff07 41", false, "a count is larger than the value"},
	{"09 01 40 41", false, "a list has a wrong next key"},
	{"09 01 01 41", false, "a next key is not an integer"},
	{"38 0c 00", false, "an array contains itself"},
	{"38 0c 01", false, "a number leads to nothing"},
	{"38 30", false, "a number leads to nothing"},
	{"38 08 00", false, "a number leads to nothing"},
	{"39 07 01 41 42 30", false, "a count is larger than the value"},
	/* bytes that the elements of the outer list need */
	{"3f 3f 01 01 01 01 01 01 01 01", false,
		"a count is larger than the value"},
	{"07 00", false, "a table has no keys"},
	{"07 02 41 42 43", false, "a count is larger than the value"},
	{"07 02 41 41 01 01", false, "a key is repeated"},
	{"07 02 816b c0 01 01", false, "a key is repeated"},
	{"07 02 816b 816b 01 01", false, "a key is repeated"},
	{"07 01 01 01", false, "a key is neither string nor integer"},
	{"07 01 41 00", false, "an element is empty"},
	{"0d 00 00 8143 00 01", false, "an object is not allowed"},
	{"0e 00", false, "an object is not allowed"},
	{"41", true, "there is no object"},
	{"0e 00", true, "a number leads to nothing"},
	{"0d 01 01 01", true, "an object has no class"},
	{"0d 00 03 8143 00 01", true, "a class has a wrong kind"},
	{"0d 00 02 8143 01 8161 01 01", true, "a class has a wrong kind"},
	{"0d 00 00 41 00 01", true, "a name is not a string"},
	{"0d 00 00 8143 01 41 01 01", true, "a name is not a string"},
	{"0d 00 00 8143 00", true, "a count is larger than the value"},
	{"0d 00 00 8143 00 00", true, "an element is empty"},
	{"0d 00 00 8143 00 38 41", true, "an object has wrong properties"},
	{"0d 00 00 8143 00 07 01 41 41", true,
		"an object has wrong properties"},
	{"0d 00 00 8143 01 8161 07 01 8162 41 41", true,
		"an object has wrong properties"},
	{"0d 00 02 8143 00 01", true, "an object has wrong properties"},
	{"0d 00 01 8143 00 01", true, "an object has wrong properties"},
	{"0d 00 01 8143 01 8161 01 41", true, "an object has wrong properties"},
};

TEST(other_bytes_are_refused_with_a_phrase)
{
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		unsigned char bytes[64];
		size_t size = hex(refused[i].bytes, bytes);
		struct text_made made;
		const char *phrase;

		if (decode(bytes, size, refused[i].graph, &made, &phrase)) {
			phrase = "accepted";
			free(made.bytes);
		}
		if (strcmp(phrase, refused[i].phrase) != 0) {
			printf("# %s: %s, not %s\n", refused[i].bytes, phrase,
				refused[i].phrase);
			failed++;
		}
	}
	assert_int_equal(failed, 0);
}

/* Cut at each byte, and longer. */
static void
are_refused_if_cut(unsigned char *bytes, size_t size, bool graph)
{
	struct text_made other;
	const char *phrase;

	for (size_t i = 0; i < size; i++)
		assert_false(decode(bytes, i, graph, &other, &phrase));
	bytes[size] = 0;
	assert_false(decode(bytes, size + 1, graph, &other, &phrase));
}

/* Each byte is each other one. What is accepted is a value. */
static void
are_a_value_or_refused(unsigned char *bytes, size_t size, bool graph)
{
	uint32_t sum = php_hone_cold_sum(bytes, size);
	struct text_made other;
	const char *phrase;

	for (size_t i = 0; i < size * 255; i++) {
		bytes[i / 255] ^= i % 255 + 1;
		assert_int_not_equal(php_hone_cold_sum(bytes, size), sum);
		if (decode(bytes, size, graph, &other, &phrase)) {
			value_read(other.bytes, &other.root, graph);
			free(other.bytes);
		}
		bytes[i / 255] ^= i % 255 + 1;
	}
}

static void
is_checked(const char *text, bool graph)
{
	unsigned char bytes[4096];
	size_t size = cold_of(text, graph, bytes);

	are_refused_if_cut(bytes, size, graph);
	are_a_value_or_refused(bytes, size, graph);
}

TEST(a_value_that_is_cut_or_damaged_is_refused_or_is_another_value)
{
	each_text(is_checked);
}

#ifdef HONE_LZ4

/* The cold form of `made`, compressed in an entry with these other bytes. */
static size_t
compressed(const struct text_made *made, size_t others, bool *shorter)
{
	size_t size;

	text_cold(&cold, made, false);
	size = cold.bytes.used;
	php_hone_cold_compress(&cold, others);
	*shorter = cold.bytes.bytes[0] == PHP_HONE_COLD_LZ4;
	assert_true(*shorter == (cold.bytes.used < size));
	return size;
}

TEST(a_compressed_value_is_the_same)
{
	struct text_made made = text_names(64), again;
	bool shorter;

	for (unsigned i = 0; i < 2; i++) {
		size_t size = compressed(&made, 100, &shorter);
		assert_true(shorter &&
			    cold.bytes.used + 100 <= (size + 100 + 63) / 8 * 7);
		assert_true(text_again(&cold, false, &again));
		value_read(again.bytes, &again.root, false);
		text_cold(&cold, &again, false);
		assert_int_equal(cold.bytes.used, size);
		free(made.bytes);
		made = again;
	}
	free(made.bytes);
}

/* A short form, bytes that LZ4 makes no shorter, and an entry whose other bytes
 * are most of it. */
TEST(a_form_is_compressed_only_if_an_eighth_of_the_entry_is_saved)
{
	struct text_made made = text_names(64);
	bool shorter;
	size_t size, saved;

	size = compressed(&made, 0, &shorter);
	assert_true(shorter);
	saved = size - cold.bytes.used;
	compressed(&made, saved * 8, &shorter);
	assert_false(shorter);
	free(made.bytes);
	made = text_names(1);
	assert_true(compressed(&made, 0, &shorter) < 256);
	assert_false(shorter);
	free(made.bytes);
	made = text_store("''");
	text_cold(&cold, &made, false);
	free(made.bytes);
	for (uint32_t i = 0, random = 1; i < 1000; i++) {
		random = random * 1103515245 + 12345;
		cold.bytes.bytes[i] = (unsigned char)(random >> 16);
	}
	cold.bytes.used = 1000;
	php_hone_cold_compress(&cold, 0);
	assert_int_equal(cold.bytes.used, 1000);
}

TEST(a_compressed_value_that_is_cut_or_damaged_is_refused_or_is_another)
{
	struct text_made made = text_names(20);
	unsigned char bytes[4096];
	size_t size;
	bool shorter;

	compressed(&made, 0, &shorter);
	size = cold.bytes.used;
	assert_true(shorter && size < sizeof bytes);
	memcpy(bytes, cold.bytes.bytes, size);
	free(made.bytes);
	are_refused_if_cut(bytes, size, false);
	are_a_value_or_refused(bytes, size, false);
}

/* So many bytes may make more than 64 MiB. */
TEST(at_most_64_mib_are_decompressed)
{
	static const unsigned char bytes[300000] = {
		PHP_HONE_COLD_LZ4, 0x81, 0x80, 0x80, 0x20};
	struct text_made other;
	const char *phrase;

	assert_false(decode(bytes, sizeof bytes, false, &other, &phrase));
	assert_string_equal(phrase, "the uncompressed size is wrong");
}

TEST(a_compressed_value_is_not_compressed_again)
{
	unsigned char *bytes;
	struct text_made other;
	const char *phrase;

	text_cold(&cold, &(struct text_made){0}, false);
	assert_true(php_hone_buffer_reserve(&cold.bytes, 1000));
	memset(cold.bytes.bytes, PHP_HONE_COLD_LZ4, 1000);
	cold.bytes.used = 1000;
	php_hone_cold_compress(&cold, 0);
	bytes = cold.bytes.bytes;
	assert_true(bytes[0] == PHP_HONE_COLD_LZ4 && cold.bytes.used < 100);
	assert_false(decode(bytes, cold.bytes.used, false, &other, &phrase));
	assert_string_equal(phrase, "a value has an unknown type");
}

#else

TEST(compressed_values)
{
	printf("# liblz4-dev is not installed\n");
	skip();
}

#endif

/* Lists in lists, around the last one. */
static bool
is_nested(unsigned n, const char *last, bool graph, const char **phrase)
{
	unsigned char *bytes = malloc(n + 64);
	struct text_made made;
	bool good;

	assert_non_null(bytes);
	memset(bytes, 0x38, n);
	good = decode(bytes, n + hex(last, bytes + n), graph, &made, phrase);
	if (good)
		free(made.bytes);
	free(bytes);
	return good;
}

TEST(only_values_with_objects_have_a_limit_of_depth)
{
	const char *object = "0d 00 00 8143 00 01", *phrase;

	assert_true(is_nested(100000, "05", false, &phrase));
	assert_true(is_nested(9999, object, true, &phrase));
	assert_false(is_nested(10000, object, true, &phrase));
	assert_string_equal(phrase, "objects are nested too deep");
}

TEST(a_value_has_a_limit_of_memory)
{
	/* a list of 512 elements */
	unsigned char bytes[3 + 512] = {PHP_HONE_COLD_LIST, 0x80, 4};
	struct php_hone_builder builder = {0};
	const char *phrase;

	memset(bytes + 3, PHP_HONE_COLD_TRUE, 512);
	builder.arrays.most = 4096;
	assert_false(php_hone_cold_read(
		&cold, bytes, sizeof bytes, false, &builder, &phrase));
	assert_string_equal(phrase, "more than fits into memory");
	builder.arrays.most = 16384;
	assert_true(php_hone_cold_read(
		&cold, bytes, sizeof bytes, false, &builder, &phrase));
	php_hone_builder_free(&builder);
}

/* A copy for another address. */
static struct text_made
copy_of(const struct text_made *made, uintptr_t base)
{
	struct php_hone_value stored = {
		made->root, made->size != 0 ? made->bytes : NULL, made->size};
	struct text_made copy = {.size = made->size};

	copy.bytes = aligned_alloc(64, (made->size + 64) / 64 * 64);
	assert_non_null(copy.bytes);
	php_hone_value_copy(
		&stored, copy.bytes, (const void *)base, &copy.root);
	return copy;
}

TEST(a_copy_of_a_copy_has_the_same_bytes)
{
	for (const char *const *text = value_texts; *text != NULL; text++) {
		const uintptr_t base = 1 << 20;
		struct text_made made = text_store(*text);
		struct text_made moved = copy_of(&made, base);
		struct text_made back = copy_of(&moved, TEXT_BASE);
		value_read(back.bytes, &back.root, false);
		assert_memory_equal(back.bytes, made.bytes, made.size);
		free(back.bytes);
		free(moved.bytes);
		free(made.bytes);
	}
}

/* The place of these bytes, or NULL. */
static unsigned char *
find(unsigned char *bytes, size_t size, const char *text)
{
	size_t len = strlen(text);
	for (size_t i = 0; i + len <= size; i++)
		if (memcmp(bytes + i, text, len) == 0)
			return bytes + i;
	return NULL;
}

/* The kept key is another one, so that the next value shows which it has. */
TEST(the_keys_of_a_first_table_are_copied_to_the_next_value)
{
	static struct php_hone_builder builder;
	struct text_made made = text_store("{'kept':1 'other':2}"), again;
	const char *phrase;
	unsigned n = 0;
	text_cold(&cold, &made, false);
	assert_true(text_again(&cold, false, &again));
	for (unsigned i = 0; i < PHP_HONE_COLD_FIRSTS; i++) {
		struct php_hone_cold_first *first = &cold.firsts[i];
		if (first->n != 2)
			continue;
		unsigned char *key = find(first->bytes.bytes + first->key_bytes,
			first->record_bytes + first->string_bytes, "kept");
		if (key != NULL) {
			key[0] = 'w';
			n++;
		}
	}
	assert_int_equal(n, 1);
	unsigned char *at = malloc(again.size);
	assert_non_null(at);
	assert_true(php_hone_cold_read_to(&cold, cold.bytes.bytes,
		cold.bytes.used, &builder, at, again.size, &phrase));
	assert_non_null(find(at, again.size, "wept"));
	assert_null(find(at, again.size, "kept"));
	php_hone_cold_free(&cold);
	free(at);
	free(again.bytes);
	free(made.bytes);
}

/* An array that appears twice has one record. */
TEST(what_is_shared_is_there_once)
{
	struct text_made one = text_store("[[1 2 3] 4]");
	struct text_made two = text_store("[[1 2 3] &]");
	assert_int_equal(one.size, two.size);
	assert_memory_equal(two.bytes + LIST, two.bytes + LIST + sizeof(zval),
		sizeof(uint64_t));
	free(one.bytes);
	free(two.bytes);
}

/* All keys of 7 pairs of letters have one hash: there are 128. */
#define KEY 14

static size_t
put_colliding(unsigned char *bytes, unsigned number)
{
	bytes[0] = PHP_HONE_COLD_SMALL_STRING + KEY;
	for (unsigned i = 0; i < KEY / 2; i++) {
		bytes[1 + 2 * i] = number >> i & 1 ? 'F' : 'E';
		bytes[2 + 2 * i] = number >> i & 1 ? 'Y' : 'z';
	}
	return KEY + 1;
}

/* A table of all these keys, or with another one at the end. */
static size_t
crowded_table(unsigned char *bytes, unsigned last)
{
	size_t at = hex("07 8001", bytes);

	for (unsigned i = 0; i < 128; i++)
		at += put_colliding(bytes + at, i < 127 ? i : last);
	memset(bytes + at, PHP_HONE_COLD_SMALL_INT, 128);
	return at + 128;
}

/* The oldest key of a long chain is found by a sort. */
TEST(keys_of_one_hash_are_not_repeated)
{
	unsigned char bytes[8192];
	struct text_made made;
	const char *phrase;

	assert_true(decode(
		bytes, crowded_table(bytes, 127), false, &made, &phrase));
	value_read(made.bytes, &made.root, false);
	free(made.bytes);
	assert_false(
		decode(bytes, crowded_table(bytes, 0), false, &made, &phrase));
	assert_string_equal(phrase, "a key is repeated");
}

/* The first 64 strings of one hash are found again; the search for others ends
 * before, and they are written again. */
TEST(strings_of_one_hash_take_bytes_and_no_time)
{
	unsigned char bytes[8192];
	struct text_made made, again;
	size_t at = hex("06 8002", bytes);
	const char *phrase;

	for (unsigned i = 0; i < 256; i++)
		at += put_colliding(bytes + at, i % 128);
	assert_true(decode(bytes, at, false, &made, &phrase));
	text_cold(&cold, &made, false);
	assert_int_equal(
		cold.bytes.used, 3 + 128 * (KEY + 1) + 64 + 64 * (KEY + 1));
	assert_true(text_again(&cold, false, &again));
	value_read(again.bytes, &again.root, false);
	free(again.bytes);
	free(made.bytes);
}

/* PHP's own definition, for each length and all alignments. */
TEST(hashes_are_those_of_php)
{
	char text[400];
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * 37 + 5);
	for (size_t from = 0; from < 8; from++) {
		uint64_t hash = 5381;
		for (size_t len = 0; len < 390; len++) {
			assert_true(php_hone_string_hash(text + from, len) ==
				    (hash | (uint64_t)1 << 63));
			hash = hash * 33 + (uint64_t)(int64_t)text[from + len];
		}
	}
}
