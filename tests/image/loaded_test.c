/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that are loaded by their first use: image/loaded.c. */
#include "support.h"
#include "loaded.h"

static int begun;

static int
count(struct image_error *err)
{
	(void)err;
	begun++;
	return 0;
}

TEST(the_functions_are_those_of_the_library)
{
	static const struct image_loaded_function wanted[] = {
		{"strlen", NULL}, {"strcmp", NULL}, {NULL, NULL}};
	struct {
		__typeof__(strlen) *length;
		__typeof__(strcmp) *compare;
	} functions;
	struct image_loaded library = {.file = "libc.so.6",
		.wanted = wanted,
		.functions = &functions,
		.begin = count,
		.lock = PTHREAD_MUTEX_INITIALIZER};
	struct image_error err;

	for (int i = 0; i < 3; i++)
		assert_ok(image_load(&library, &err));
	assert_int_equal(begun, 1);
	assert_int_equal(functions.length("abc"), 3);
	assert_int_equal(functions.compare("abc", "abc"), 0);
}

TEST(a_missing_library_and_its_package_are_named)
{
	static const struct image_loaded_function wanted[] = {{NULL, NULL}};
	struct image_loaded library = {.file = "libmissing.so.4",
		.package = "libmissing4",
		.wanted = wanted,
		.lock = PTHREAD_MUTEX_INITIALIZER};
	struct image_error err;

	for (int i = 0; i < 2; i++) {
		err = (struct image_error){.again = true};
		assert_int_equal(image_load(&library, &err), -ENOTSUP);
		assert_non_null(strstr(err.text, "needs libmissing.so.4"));
		assert_non_null(
			strstr(err.text, "install the package libmissing4"));
	}
}

TEST(a_missing_function_is_named)
{
	static const struct image_loaded_function wanted[] = {
		{"strlen", NULL}, {"not_there", NULL}, {NULL, NULL}};
	void *functions[2];
	struct image_loaded library = {.file = "libc.so.6",
		.package = "libc6",
		.wanted = wanted,
		.functions = functions,
		.lock = PTHREAD_MUTEX_INITIALIZER};
	struct image_error err;

	assert_int_equal(image_load(&library, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "the function not_there"));
}

/* As in a static program, which has no libraries to load. */
TEST(linked_functions_need_no_library)
{
	static const struct image_loaded_function wanted[] = {
		{"no_name_is_looked_up", (void *)strlen}, {NULL, NULL}};
	struct {
		__typeof__(strlen) *length;
	} functions;
	struct image_loaded library = {.file = "libmissing.so.4",
		.wanted = wanted,
		.functions = &functions,
		.begin = count,
		.lock = PTHREAD_MUTEX_INITIALIZER};
	struct image_error err;

	begun = 0;
	assert_ok(image_load(&library, &err));
	assert_int_equal(begun, 1);
	assert_int_equal(functions.length("abcd"), 4);
}
