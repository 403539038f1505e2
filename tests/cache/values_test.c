/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * php_hone_value_check(): a stored value that was built is good, and one that
 * differs in a field that PHP relies on is refused, with the phrase for that
 * field.
 */
#include "value_text.h"
#include "support.h"
#include <stdio.h>

static const char *
judge(const struct text_made *made)
{
	const char *phrase = NULL;
	bool good = php_hone_value_check(
		made->bytes, made->size, TEXT_BASE, &made->root, &phrase);

	return good ? "good" : phrase;
}

static struct text_made
good_value(const char *text)
{
	struct text_made made = text_store(text);

	assert_string_equal(judge(&made), "good");
	return made;
}

TEST(what_is_built_is_good)
{
	for (const char *const *text = value_texts; *text != NULL; text++) {
		struct text_made made = text_store(*text);
		if (strcmp(judge(&made), "good") != 0)
			printf("# %s: %s\n", *text, judge(&made));
		assert_string_equal(judge(&made), "good");
		free(made.bytes);
	}
}

static bool
is_good_directory(const struct text_made *made)
{
	const char *phrase = NULL;
	bool good = php_hone_value_check_objects(
		made->bytes, made->size, TEXT_BASE, &made->root, &phrase);

	assert_int_equal(good, phrase == NULL);
	return good;
}

TEST(what_is_built_of_objects_is_good)
{
	for (const char *const *text = object_texts; *text != NULL; text++) {
		struct text_made made = text_store(*text);
		if (!is_good_directory(&made))
			fail_msg("%s", *text);
		free(made.bytes);
	}
}

/* Without the permission for markers, and cut. */
TEST(objects_are_refused_elsewhere_and_if_they_are_cut)
{
	for (const char *const *text = object_texts; *text != NULL; text++) {
		struct text_made made = text_store(*text);
		assert_string_equal(
			judge(&made), "a value has an unknown type");
		for (size_t size = 0; size < made.size; size += 8) {
			struct text_made cut = {
				malloc(size + !size), size, made.root};
			assert_non_null(cut.bytes);
			memcpy(cut.bytes, made.bytes, size);
			assert_false(is_good_directory(&cut));
			free(cut.bytes);
		}
		free(made.bytes);
	}
}

/* Add to the integer of that size at an offset. */
static void
add(unsigned char *at, size_t size, int64_t delta)
{
	uint64_t word = 0;

	memcpy(&word, at, size);
	word += (uint64_t)delta;
	memcpy(at, &word, size);
}

/* One integer of a stored value is another one. */
struct wrong {
	const char *text;
	size_t offset, size;
	int64_t delta;
	const char *phrase;
};

#define FIELD(member)                                                          \
	offsetof(zend_array, member), sizeof(((zend_array *)0)->member)
#define STRING(member)                                                         \
	offsetof(zend_string, member), sizeof(((zend_string *)0)->member)
/* The elements of a list, and those of a table of 8. */
#define LIST (sizeof(zend_array) + 8)
#define TABLE (sizeof(zend_array) + 64)
/* A pointer inside a structure, from the begin of the data. */
#define KEY(i) TABLE + (i) * sizeof(Bucket) + offsetof(Bucket, key), 8
#define H(i) TABLE + (i) * sizeof(Bucket) + offsetof(Bucket, h), 8
#define NEXT(i) TABLE + (i) * sizeof(Bucket) + offsetof(Bucket, val.u2), 4
#define VALUE(i) LIST + (i) * sizeof(zval), 8
#define TYPE(i) LIST + (i) * sizeof(zval) + 8, 4

static const struct wrong fields[] = {
	{"'x'", STRING(gc.refcount), -1, "a string has invalid flags"},
	{"'x'", STRING(gc.u.type_info), 1 << GC_FLAGS_SHIFT << 8,
		"a string has invalid flags"},
	{"'x'", STRING(h), 1, "a string has a wrong hash"},
	{"'x'", STRING(len), 1, "a string has a wrong hash"},
	{"'x'", STRING(len), -1, "a string does not end in zeros"},
	{"'x'", STRING(len), 8, "a string is longer than the value"},
	{"'x'", STRING(len), -2, "a string is longer than the value"},
	{"'x'", _ZSTR_HEADER_SIZE + 7, 1, 1, "a string does not end in zeros"},
	{"['x']", FIELD(gc.refcount), -1, "an array has invalid flags"},
	{"['x']", FIELD(gc.u.type_info), 1 << GC_FLAGS_SHIFT << 8,
		"an array has invalid flags"},
	{"['x']", FIELD(nInternalPointer), 1, "an array has invalid flags"},
	{"['x']", FIELD(pDestructor), 1, "an array has invalid flags"},
	{"['x']", FIELD(u.flags), HASH_FLAG_HAS_EMPTY_IND,
		"an array has invalid flags"},
	{"{'k':1}", FIELD(u.flags), -HASH_FLAG_STATIC_KEYS,
		"an array has invalid flags"},
	{"['x']", FIELD(nTableSize), 8, "an array has a wrong size"},
	{"['x']", FIELD(nTableSize), 1, "an array has a wrong size"},
	{"['x']", FIELD(nTableMask), -2, "an array has a wrong size"},
	{"{'k':1}", FIELD(nTableMask), -16, "an array has a wrong size"},
	{"{'k':1}", FIELD(nTableSize), 8, "an array has a wrong size"},
	{"['x']", FIELD(nNumUsed), 8, "an array has a wrong size"},
	{"['x']", FIELD(nNumUsed), 3, "an array is larger than the value"},
	{"['x']", FIELD(nNumUsed), 7, "an array is larger than the value"},
	{"['x']", FIELD(nNumUsed), -1, "an array has invalid flags"},
	{"['x']", offsetof(zend_array, arData), 8, 16,
		"an array has a wrong address of its elements"},
	{"['x']", FIELD(nNumOfElements), 1, "an array has a wrong count"},
	{"{'k':1}", FIELD(nNumOfElements), -1, "an array has a wrong count"},
	{"['x']", FIELD(nNextFreeElement), -1,
		"an array has a wrong next element"},
	{"['x']", sizeof(zend_array), 4, -1, "an index is not empty"},
	{"['x']", sizeof(zend_array) + 4, 4, -1, "an index is not empty"},
	{"['x']", VALUE(0), 8, "a pointer does not lead to a string"},
	{"['x']", VALUE(0), -8, "a pointer does not lead to a string"},
	{"['x']", VALUE(0), 1, "a pointer does not lead to a string"},
	{"['x']", VALUE(0), 1 << 20, "a pointer does not lead to a string"},
	{"['x']", VALUE(0), -TEXT_BASE - 200,
		"a pointer does not lead to a string"},
	{"['x']", TYPE(0), 1 << 8, "a value has invalid flags"},
	{"['x']", TYPE(0), IS_OBJECT - IS_STRING,
		"a value has an unknown type"},
	{"['x']", TYPE(0), IS_ARRAY - IS_STRING, "an array is missing"},
	{"['x']", TYPE(0), IS_NULL - IS_STRING, "a value has invalid bits"},
	{"['x']", TYPE(0), IS_UNDEF - IS_STRING, "an array has a wrong count"},
	{"['x']", LIST + 12, 4, 1, "an element has invalid flags"},
	{"[[1] 'x']", VALUE(1), -(int64_t)(LIST + sizeof(zval)),
		"a pointer does not lead to a string"},
	{"[[1]]", VALUE(0), 8, "a pointer does not lead to an array"},
	{"[[1] 'x']", TYPE(0), IS_LONG - IS_ARRAY,
		"an array is not part of the value"},
	{"[[1] &]", VALUE(0), -(int64_t)(LIST + 2 * sizeof(zval)),
		"a pointer does not lead to an array"},
	{"{'k':1}", KEY(0), 8, "a pointer does not lead to a string"},
	{"{'k':1}", H(0), 16, "a key has a wrong hash"},
	{"{'k':1}", H(0), 1, "a hash chain is broken"},
	{"{7:1}", H(0), 1, "a hash chain is broken"},
	{"{7:1 71:2}", NEXT(1), 1, "a hash chain is broken"},
	{"{7:1 71:2}", NEXT(0), 1, "a hash chain is broken"},
	{"{7:1 71:2}", NEXT(0), 2, "a hash chain is broken"},
	{"{7:1 71:2}", NEXT(1), -1, "a hash chain is incomplete"},
	{"{7:1}", TABLE + offsetof(Bucket, val) + 8, 4, IS_UNDEF - IS_LONG,
		"an element is empty"},
};

TEST(each_field_is_checked)
{
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const struct wrong *w = &fields[i];
		struct text_made made = good_value(w->text);
		add(made.bytes + w->offset, w->size, w->delta);
		const char *phrase = judge(&made);
		if (strcmp(phrase, w->phrase) != 0) {
			printf("# field %zu of %s: %s, not %s\n", i, w->text,
				phrase, w->phrase);
			failed++;
		}
		free(made.bytes);
	}
	assert_int_equal(failed, 0);
}

TEST(roots_are_checked)
{
	struct text_made made = good_value("['x']");
	struct text_made other = made;
	Z_TYPE_INFO(other.root) |= 1 << 8;
	assert_string_equal(judge(&other), "the value has invalid flags");
	other = made;
	other.root.u2.next = 1;
	assert_string_equal(judge(&other), "the value has invalid flags");
	other = made;
	other.root.value.lval += 64;
	assert_string_equal(judge(&other), "the value has a wrong address");
	other = made;
	Z_TYPE_INFO(other.root) = IS_LONG;
	assert_string_equal(judge(&other), "the value has no data");
	Z_TYPE_INFO(other.root) = IS_OBJECT;
	assert_string_equal(judge(&other), "the value has a wrong type");
	other = made;
	other.size -= 4;
	assert_string_equal(judge(&other), "the value has a wrong type");
	Z_TYPE_INFO(other.root) = IS_STRING;
	other.size = made.size;
	assert_string_not_equal(judge(&other), "good");
	memset(&other, 0, sizeof other);
	assert_string_equal(judge(&other), "the value has no data");
	free(made.bytes);
}

/* Cut at each multiple of 8: the memory ends there. */
TEST(values_that_are_cut_are_refused)
{
	for (const char *const *text = value_texts; *text != NULL; text++) {
		struct text_made made = good_value(*text);
		for (size_t size = 0; size < made.size; size += 8) {
			struct text_made cut = {
				malloc(size + !size), size, made.root};
			assert_non_null(cut.bytes);
			memcpy(cut.bytes, made.bytes, size);
			assert_string_not_equal(judge(&cut), "good");
			free(cut.bytes);
		}
		free(made.bytes);
	}
}

TEST(bytes_after_a_value_are_refused)
{
	for (const char *const *text = value_texts; *text != NULL; text++) {
		struct text_made made = good_value(*text);
		struct text_made more = {
			calloc(1, made.size + 64), made.size, made.root};
		assert_non_null(more.bytes);
		if (made.size != 0)
			memcpy(more.bytes, made.bytes, made.size);
		for (unsigned i = 0; i < 8; i++) {
			more.size += 8;
			assert_string_not_equal(judge(&more), "good");
		}
		free(more.bytes);
		free(made.bytes);
	}
}

/* A copy for another address, and back, has the same bytes. */
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

TEST(a_copy_is_good)
{
	for (const char *const *text = value_texts; *text != NULL; text++) {
		const uintptr_t base = 1 << 20;
		struct text_made made = good_value(*text);
		struct text_made moved = copy_of(&made, base);
		struct text_made back = copy_of(&moved, TEXT_BASE);
		const char *phrase = NULL;
		assert_true(php_hone_value_check(
			moved.bytes, moved.size, base, &moved.root, &phrase));
		assert_string_equal(judge(&back), "good");
		assert_memory_equal(back.bytes, made.bytes, made.size);
		free(back.bytes);
		free(moved.bytes);
		free(made.bytes);
	}
}

/* An array that appears twice has one record. */
TEST(what_is_shared_is_there_once)
{
	struct text_made one = good_value("[[1 2 3] 4]");
	struct text_made two = good_value("[[1 2 3] &]");
	assert_int_equal(one.size, two.size);
	assert_memory_equal(two.bytes + LIST, two.bytes + LIST + sizeof(zval),
		sizeof(uint64_t));
	free(one.bytes);
	free(two.bytes);
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
