/* SPDX-License-Identifier: BSD-3-Clause */
/* PHP functions for the tests of php/cache/values. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "functions.h"
#include "values/cold.h"
#include "ext/standard/info.h"
#include <hone/hone.h>
#include <time.h>

static struct php_hone_builder builder;
static struct php_hone_cold cold;

/* value_store(mixed $value): int|string: its number, or why there is none */
PHP_FUNCTION(value_store)
{
	zval *value;

	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_ZVAL(value)
	ZEND_PARSE_PARAMETERS_END();
	switch (php_hone_value_build(&builder, value)) {
	case PHP_HONE_BUILT_OBJECT:
		if (php_hone_value_is_refused(&builder, value))
			RETURN_STRING(php_hone_refused_text(builder.refused));
		RETURN_STRING("object");
	case PHP_HONE_BUILT_REFUSED:
		RETURN_STRING(php_hone_refused_text(builder.refused));
	default:
		RETURN_LONG(region_add(region_of_built(&builder)));
	}
}

static struct region *
only_number(INTERNAL_FUNCTION_PARAMETERS)
{
	zend_long number;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &number) != SUCCESS)
		return NULL;
	return region_get(number);
}

#define ONLY_NUMBER(region)                                                    \
	struct region *region = only_number(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
	if (region == NULL)                                                    \
	RETURN_THROWS()

/* value_fetch(int $id): mixed, which lies in the data */
PHP_FUNCTION(value_fetch)
{
	ONLY_NUMBER(region);
	ZVAL_COPY_VALUE(return_value, &region->stored.root);
}

/* value_unpack(int $id): mixed */
PHP_FUNCTION(value_unpack)
{
	ONLY_NUMBER(region);
	php_hone_value_unpack(&region->stored, return_value);
}

/* value_move(int $id): int: a copy; $id can no longer be read */
PHP_FUNCTION(value_move)
{
	ONLY_NUMBER(region);
	RETURN_LONG(region_add(region_copied(region, true)));
}

/* value_size(int $id): int */
PHP_FUNCTION(value_size)
{
	ONLY_NUMBER(region);
	RETURN_LONG((zend_long)region->stored.size);
}

/* value_bytes(int $id): string, with pointers as they are */
PHP_FUNCTION(value_bytes)
{
	ONLY_NUMBER(region);
	if (region->stored.data == NULL)
		RETURN_EMPTY_STRING();
	RETURN_STRINGL(region->stored.data, region->stored.size);
}

/* value_base(int $id): int: its address */
PHP_FUNCTION(value_base)
{
	ONLY_NUMBER(region);
	RETURN_LONG((zend_long)(intptr_t)region->map);
}

/* value_cold(int $id): string: the cold form */
PHP_FUNCTION(value_cold)
{
	ONLY_NUMBER(region);
	if (!php_hone_cold_write(&cold, &region->stored, false))
		zend_error_noreturn(E_ERROR, PHP_HONE_NO_MEMORY);
	RETURN_STRINGL((char *)cold.bytes.bytes, cold.bytes.used);
}

/* value_of_cold(string $bytes): int|string: its number, or why there is none */
PHP_FUNCTION(value_of_cold)
{
	const char *problem;
	zend_string *bytes;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &bytes) != SUCCESS)
		RETURN_THROWS();
	if (!php_hone_cold_read(&cold, ZSTR_VAL(bytes), ZSTR_LEN(bytes), false,
		    &builder, &problem))
		RETURN_STRING(problem);
	RETURN_LONG(region_add(region_of_built(&builder)));
}

/* value_free(int $id): void */
PHP_FUNCTION(value_free)
{
	zend_long number;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &number) != SUCCESS ||
		region_get(number) == NULL)
		RETURN_THROWS();
	region_remove(number);
}

/* value_hash(string $bytes, int $from = 0): ?int: the hash of the bytes from
 * there on; NULL if PHP's is another one */
PHP_FUNCTION(value_hash)
{
	zend_string *bytes;
	zend_long from = 0;
	zend_ulong hash;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "S|l", &bytes, &from) !=
		SUCCESS)
		RETURN_THROWS();
	hash = php_hone_string_hash(
		ZSTR_VAL(bytes) + from, ZSTR_LEN(bytes) - (size_t)from);
	if (hash != zend_inline_hash_func(ZSTR_VAL(bytes) + from,
			    ZSTR_LEN(bytes) - (size_t)from))
		RETURN_NULL();
	RETURN_LONG((zend_long)hash);
}

/* value_limit(?string $feature): the one feature that libhone may use; NULL:
 * any;
 * "": none */
PHP_FUNCTION(value_limit)
{
	char *name = NULL;
	size_t length = 0;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "s!", &name, &length) !=
		SUCCESS)
		RETURN_THROWS();
	hone_cpu_limit(name == NULL ? HONE_CPU_ALL
				    : hone_cpu_feature_by_name(name, length));
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *
room_for(size_t size)
{
	size_t whole = (size + 64) / 64 * 64;
	void *to = aligned_alloc(64, whole);

	memset(to, 0, whole);
	return to;
}

/* value_time(mixed $value, int $times, int $rounds): array: nanoseconds of a
 * build, of a build and a place, of a copy, of an unpack, of a cold form, and
 * of a value of it; minima */
PHP_FUNCTION(value_time)
{
	zval *value, root, copy;
	zend_long times, rounds;
	double best[6] = {1e30, 1e30, 1e30, 1e30, 1e30, 1e30};
	const char *problem;
	void *to, *other;

	if (zend_parse_parameters(
		    ZEND_NUM_ARGS(), "zll", &value, &times, &rounds) != SUCCESS)
		RETURN_THROWS();
	if (php_hone_value_build(&builder, value) != PHP_HONE_BUILT_FLAT ||
		builder.size == 0)
		RETURN_NULL();
	to = room_for(builder.size);
	other = room_for(builder.size);
	while (rounds-- > 0) {
		double t[7];
		struct php_hone_value stored = {
			.data = to, .size = builder.size};
		t[0] = now();
		for (zend_long i = 0; i < times; i++)
			php_hone_value_build(&builder, value);
		t[1] = now();
		for (zend_long i = 0; i < times; i++) {
			php_hone_value_build(&builder, value);
			php_hone_value_place(&builder, to, to, &stored.root);
		}
		stored.size = builder.size;
		t[2] = now();
		for (zend_long i = 0; i < times; i++)
			php_hone_value_copy(&stored, other, other, &root);
		t[3] = now();
		for (zend_long i = 0; i < times; i++) {
			php_hone_value_unpack(&stored, &copy);
			zval_ptr_dtor(&copy);
		}
		t[4] = now();
		for (zend_long i = 0; i < times; i++)
			php_hone_cold_write(&cold, &stored, false);
		t[5] = now();
		for (zend_long i = 0; i < times; i++) {
			php_hone_cold_read(&cold, cold.bytes.bytes,
				cold.bytes.used, false, &builder, &problem);
			php_hone_value_place(&builder, other, other, &root);
		}
		t[6] = now();
		for (int i = 0; i < 6; i++)
			best[i] = MIN(best[i], (t[i + 1] - t[i]) / times);
	}
	free(to);
	free(other);
	array_init(return_value);
	for (int i = 0; i < 6; i++)
		add_next_index_double(return_value, best[i]);
}

ZEND_BEGIN_ARG_INFO_EX(any, 0, 0, 0)
ZEND_END_ARG_INFO()

/* clang-format off */
static const zend_function_entry functions[] = {
	PHP_FE(value_store, any)
	PHP_FE(value_fetch, any)
	PHP_FE(value_unpack, any)
	PHP_FE(value_move, any)
	PHP_FE(value_size, any)
	PHP_FE(value_bytes, any)
	PHP_FE(value_base, any)
	PHP_FE(value_cold, any)
	PHP_FE(value_of_cold, any)
	PHP_FE(value_free, any)
	PHP_FE(value_hash, any)
	PHP_FE(value_limit, any)
	PHP_FE(value_time, any)
	PHP_FE_END
};
/* clang-format on */

static PHP_MSHUTDOWN_FUNCTION(hone_values)
{
	php_hone_builder_free(&builder);
	php_hone_cold_free(&cold);
	return SUCCESS;
}

static zend_module_entry hone_values_module_entry = {STANDARD_MODULE_HEADER,
	"hone_values", functions, NULL, PHP_MSHUTDOWN(hone_values), NULL, NULL,
	NULL, "1", STANDARD_MODULE_PROPERTIES};

ZEND_GET_MODULE(hone_values)
