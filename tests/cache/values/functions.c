/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PHP functions for the tests of php/cache/values. Each stored value has memory
 * of its own that is made read-only: a write is a segmentation fault.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "values/cold.h"
#include "ext/standard/info.h"
#include <sys/mman.h>

/* A stored value in a mapping of its own, which nobody can write to. */
struct region {
	struct php_hone_value stored;
	void *map;
	size_t room;
};

static struct php_hone_builder builder;
static struct php_hone_cold cold;

/* What php/cache/values needs of its caller. */
uintptr_t
php_hone_stack_limit(void)
{
	return 0;
}

static struct region **regions;
static zend_long n_regions;

static struct region *
region_map(size_t size)
{
	struct region *region = calloc(1, sizeof(*region));

	region->room = (size + 4095) / 4096 * 4096 + 4096;
	region->map = mmap(NULL, region->room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region->map == MAP_FAILED)
		zend_error_noreturn(E_ERROR, "mmap of %zu bytes", size);
	/* What is not written by a stored value is not zero. */
	memset(region->map, 0xa5, region->room);
	region->stored.size = size;
	return region;
}

static void
region_protect(struct region *region)
{
	if (mprotect(region->map, region->room, PROT_READ) != 0)
		zend_error_noreturn(E_ERROR, "mprotect");
}

/* A mapping with the data of what was built; PHP's error on failure. */
static struct region *
region_of_built(void)
{
	struct region *region = region_map(builder.size);
	unsigned char *end = (unsigned char *)region->map + builder.size;

	php_hone_value_place(
		&builder, region->map, region->map, &region->stored.root);
	region->stored.data = builder.size == 0 ? NULL : region->map;
	if (*end != 0xa5)
		zend_error_noreturn(E_ERROR, "bytes after the data changed");
	region_protect(region);
	return region;
}

/* A copy at another address. The first one's memory becomes unreadable. */
static struct region *
region_moved(struct region *region)
{
	struct region *copy = region_map(region->stored.size);

	php_hone_value_copy(
		&region->stored, copy->map, copy->map, &copy->stored.root);
	copy->stored.data = region->stored.data == NULL ? NULL : copy->map;
	region_protect(copy);
	mprotect(region->map, region->room, PROT_NONE);
	return copy;
}

/* A number for scripts, and back; NULL with an exception if it is none. */
static zend_long
region_add(struct region *region)
{
	if (n_regions % 1024 == 0)
		regions = realloc(
			regions, (size_t)(n_regions + 1024) * sizeof(*regions));
	regions[n_regions] = region;
	return n_regions++;
}

static struct region *
region_get(zend_long number)
{
	if (number < 0 || number >= n_regions || regions[number] == NULL) {
		zend_throw_error(NULL, "there is no such value");
		return NULL;
	}
	return regions[number];
}

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
		RETURN_LONG(region_add(region_of_built()));
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
	RETURN_LONG(region_add(region_moved(region)));
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
	if (!php_hone_cold_write(&cold, &region->stored, NULL, false))
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
	RETURN_LONG(region_add(region_of_built()));
}

/* value_free(int $id): void */
PHP_FUNCTION(value_free)
{
	zend_long number;
	struct region *region;

	if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &number) != SUCCESS ||
		(region = region_get(number)) == NULL)
		RETURN_THROWS();
	munmap(region->map, region->room);
	free(region);
	regions[number] = NULL;
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
