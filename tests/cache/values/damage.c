/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Damaged stored values. A copy of the bytes ends where unreadable memory
 * begins. What php_hone_value_check() accepts is given to a callback, which
 * reads all of it.
 */
#include "functions.h"
#include <sys/mman.h>

struct damage {
	struct php_hone_value stored;
	unsigned char *bytes; /* the copy that is damaged */
	unsigned char *map;
	size_t room;
	zend_fcall_info call;
	zend_fcall_info_cache cache;
	zend_long accepted, refused;
};

static void
begin(struct damage *damage, const struct region *region)
{
	size_t size = region->stored.size;

	damage->room = (size + 4095) / 4096 * 4096 + 4096;
	damage->map = mmap(NULL, damage->room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (damage->map == MAP_FAILED)
		zend_error_noreturn(E_ERROR, "mmap");
	mprotect(damage->map + damage->room - 4096, 4096, PROT_NONE);
	damage->bytes = damage->map + damage->room - 4096 - size;
	memcpy(damage->bytes, region->stored.data, size);
	damage->stored = region->stored;
	damage->stored.data = damage->bytes;
}

static void
end(struct damage *damage, zval *return_value)
{
	munmap(damage->map, damage->room);
	array_init(return_value);
	add_next_index_long(return_value, damage->accepted);
	add_next_index_long(return_value, damage->refused);
}

/* The value moved to another address, read by the callback, and unpacked. */
static void
read_all(struct damage *damage)
{
	struct region whole = {.stored = damage->stored};
	struct region *moved = region_copied(&whole, false);
	zval argument, result;

	ZVAL_COPY_VALUE(&argument, &moved->stored.root);
	damage->call.params = &argument;
	damage->call.param_count = 1;
	damage->call.retval = &result;
	ZVAL_UNDEF(&result);
	zend_call_function(&damage->call, &damage->cache);
	zval_ptr_dtor(&result);
	php_hone_value_unpack(&moved->stored, &argument);
	zval_ptr_dtor(&argument);
	region_free(moved);
}

static void
try(struct damage *damage)
{
	const char *problem = NULL;

	if (php_hone_value_check(damage->bytes, damage->stored.size,
		    (uintptr_t)Z_PTR(damage->stored.root), &damage->stored.root,
		    &problem)) {
		damage->accepted++;
		read_all(damage);
	} else {
		damage->refused++;
		if (problem == NULL)
			zend_throw_error(NULL, "refused without a reason");
	}
}

/* value_flips(int $id, callable $read): each bit of it, one at a time. */
PHP_FUNCTION(value_flips)
{
	struct damage damage = {0};
	struct region *region;
	zend_long number;

	ZEND_PARSE_PARAMETERS_START(2, 2)
	Z_PARAM_LONG(number)
	Z_PARAM_FUNC(damage.call, damage.cache)
	ZEND_PARSE_PARAMETERS_END();
	if ((region = region_get(number)) == NULL)
		RETURN_THROWS();
	begin(&damage, region);
	for (size_t i = 0; i < region->stored.size * 8 && !EG(exception); i++) {
		damage.bytes[i / 8] ^= 1 << i % 8;
		try(&damage);
		damage.bytes[i / 8] ^= 1 << i % 8;
	}
	end(&damage, return_value);
}

static uint64_t
random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A word becomes a likely one: another word of the data, or a near number. */
static void
damage_word(struct damage *damage, uint64_t *state)
{
	size_t words = damage->stored.size / 8;
	size_t at = random_next(state) % words;
	uint64_t word;

	memcpy(&word, damage->bytes + at * 8, 8);
	switch (random_next(state) % 6) {
	case 0:
		memcpy(&word, damage->bytes + random_next(state) % words * 8,
			8);
		break;
	case 1:
		word += random_next(state) % 129 - 64;
		break;
	case 2:
		word = (uintptr_t)Z_PTR(damage->stored.root) +
		       random_next(state) % (words + 2) * 8;
		break;
	case 3:
		word ^= random_next(state) & UINT32_MAX;
		break;
	case 4:
		word ^= random_next(state) << 32;
		break;
	default:
		word = random_next(state);
	}
	memcpy(damage->bytes + at * 8, &word, 8);
}

/* value_damage(int $id, callable $read, int $seed, int $times) */
PHP_FUNCTION(value_damage)
{
	struct damage damage = {0};
	struct region *region;
	zend_long number, seed, times;
	uint64_t state;

	ZEND_PARSE_PARAMETERS_START(4, 4)
	Z_PARAM_LONG(number)
	Z_PARAM_FUNC(damage.call, damage.cache)
	Z_PARAM_LONG(seed)
	Z_PARAM_LONG(times)
	ZEND_PARSE_PARAMETERS_END();
	if ((region = region_get(number)) == NULL)
		RETURN_THROWS();
	begin(&damage, region);
	state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	while (times-- > 0 && !EG(exception)) {
		unsigned n = 1 + random_next(&state) % 3;
		memcpy(damage.bytes, region->stored.data, region->stored.size);
		while (n-- > 0)
			damage_word(&damage, &state);
		try(&damage);
	}
	end(&damage, return_value);
}

/* value_cut(int $id, callable $read): the first bytes of it, each length. */
PHP_FUNCTION(value_cut)
{
	struct damage damage = {0};
	struct region *region;
	zend_long number;

	ZEND_PARSE_PARAMETERS_START(2, 2)
	Z_PARAM_LONG(number)
	Z_PARAM_FUNC(damage.call, damage.cache)
	ZEND_PARSE_PARAMETERS_END();
	if ((region = region_get(number)) == NULL)
		RETURN_THROWS();
	begin(&damage, region);
	for (size_t size = 0; size < region->stored.size; size += 8) {
		damage.stored.size = size;
		damage.bytes = damage.map + damage.room - 4096 - size;
		memmove(damage.bytes, region->stored.data, size);
		damage.stored.data = damage.bytes;
		try(&damage);
	}
	end(&damage, return_value);
}
