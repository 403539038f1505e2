/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that are loaded by their first use: image/loaded.c. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include "support.h"
#include "loaded.h"

TEST(the_functions_are_those_of_the_library)
{
	static const char *const names[] = {"strlen", "strcmp", NULL};
	const struct image_loaded library = {"libc.so.6", "libc6", names};
	struct image_error err;
	struct {
		__typeof__(strlen) *length;
		__typeof__(strcmp) *compare;
	} functions;

	assert_int_equal(image_load(&library, &functions, &err), 0);
	assert_int_equal(functions.length("abc"), 3);
	assert_int_equal(functions.compare("abc", "abc"), 0);
}

TEST(a_missing_library_and_its_package_are_named)
{
	static const char *const names[] = {NULL};
	const struct image_loaded library = {
		"libmissing.so.4", "libmissing4", names};
	struct image_error err;

	assert_int_equal(image_load(&library, NULL, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "needs libmissing.so.4"));
	assert_non_null(strstr(err.text, "install the package libmissing4"));
}

TEST(a_missing_function_is_named)
{
	static const char *const names[] = {"strlen", "not_there", NULL};
	const struct image_loaded library = {"libc.so.6", "libc6", names};
	struct image_error err;
	void *functions[2];

	assert_int_equal(image_load(&library, functions, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "the function not_there"));
}
