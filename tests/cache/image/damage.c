/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Damaged images. A copy of the bytes ends where unreadable memory begins. What
 * php_hone_image_check() accepts is given to a callback, which reads all of it.
 */
#include "functions.h"
#include <sys/mman.h>

struct damage {
	struct php_hone_image image;
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
	size_t size = region->image.size;

	damage->room = (size + 4095) / 4096 * 4096 + 4096;
	damage->map = mmap(NULL, damage->room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (damage->map == MAP_FAILED)
		zend_error_noreturn(E_ERROR, "mmap");
	mprotect(damage->map + damage->room - 4096, 4096, PROT_NONE);
	damage->bytes = damage->map + damage->room - 4096 - size;
	memcpy(damage->bytes, region->image.bytes, size);
	damage->image = region->image;
	damage->image.bytes = damage->bytes;
}

static void
end(struct damage *damage, zval *return_value)
{
	munmap(damage->map, damage->room);
	array_init(return_value);
	add_next_index_long(return_value, damage->accepted);
	add_next_index_long(return_value, damage->refused);
}

/* The image moved to another address, read by the callback, and unpacked. */
static void
read_all(struct damage *damage)
{
	struct region whole = {.image = damage->image};
	struct region *moved = region_copied(&whole, false);
	zval argument, result;

	ZVAL_COPY_VALUE(&argument, &moved->image.root);
	damage->call.params = &argument;
	damage->call.param_count = 1;
	damage->call.retval = &result;
	ZVAL_UNDEF(&result);
	zend_call_function(&damage->call, &damage->cache);
	zval_ptr_dtor(&result);
	php_hone_image_unpack(&moved->image, &argument);
	zval_ptr_dtor(&argument);
	region_free(moved);
}

static void
try(struct damage *damage)
{
	const char *problem = NULL;

	if (php_hone_image_check(damage->bytes, damage->image.size,
		    (uintptr_t)Z_PTR(damage->image.root), &damage->image.root,
		    &problem)) {
		damage->accepted++;
		read_all(damage);
	} else {
		damage->refused++;
		if (problem == NULL)
			zend_throw_error(NULL, "refused without a reason");
	}
}

/* image_flips(int $image, callable $read): each bit of it, one at a time. */
PHP_FUNCTION(image_flips)
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
	for (size_t i = 0; i < region->image.size * 8 && !EG(exception); i++) {
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

/* A word becomes a likely one: another word of the image, or a near number. */
static void
damage_word(struct damage *damage, uint64_t *state)
{
	size_t words = damage->image.size / 8;
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
		word = (uintptr_t)Z_PTR(damage->image.root) +
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

/* image_damage(int $image, callable $read, int $seed, int $times) */
PHP_FUNCTION(image_damage)
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
		memcpy(damage.bytes, region->image.bytes, region->image.size);
		while (n-- > 0)
			damage_word(&damage, &state);
		try(&damage);
	}
	end(&damage, return_value);
}

/* image_cut(int $image, callable $read): the first bytes of it, each length. */
PHP_FUNCTION(image_cut)
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
	for (size_t size = 0; size < region->image.size; size += 8) {
		damage.image.size = size;
		damage.bytes = damage.map + damage.room - 4096 - size;
		memmove(damage.bytes, region->image.bytes, size);
		damage.image.bytes = damage.bytes;
		try(&damage);
	}
	end(&damage, return_value);
}
