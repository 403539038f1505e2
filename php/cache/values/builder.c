/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a builder: its buffers, and the table of shared arrays. */
#include "layout.h"

/* Offsets are kept in 32 bits, in units of 8 bytes. */
#define LARGEST ((size_t)UINT32_MAX * 8)

bool
php_hone_buffer_grow(struct php_hone_buffer *buffer, size_t size)
{
	size_t room = buffer->room < 4096 ? 4096 : buffer->room;
	unsigned char *bytes;

	if (size > LARGEST - buffer->used)
		return false;
	while (room < buffer->used + size)
		room *= 2;
	bytes = realloc(buffer->bytes, room);
	if (bytes == NULL)
		return false;
	buffer->bytes = bytes;
	buffer->room = room;
	return true;
}

static void
trim_buffer(struct php_hone_buffer *buffer, size_t keep)
{
	if (buffer->room > keep) {
		free(buffer->bytes);
		memset(buffer, 0, sizeof(*buffer));
	}
}

void
php_hone_builder_trim(struct php_hone_builder *builder, size_t keep)
{
	trim_buffer(&builder->arrays, keep);
	trim_buffer(&builder->strings, keep);
	trim_buffer(&builder->frames, keep);
	trim_buffer(&builder->objects, keep);
	trim_buffer(&builder->paths, keep);
	trim_buffer(&builder->calls, keep);
	/* The next request has other classes at the same addresses. */
	for (unsigned i = 0; i < PHP_HONE_CLASSES; i++)
		free(builder->classes[i].image);
	memset(builder->classes, 0, sizeof(builder->classes));
	if (builder->shared_room * sizeof(*builder->shared) > keep) {
		free(builder->shared);
		builder->shared = NULL;
		builder->shared_room = 0;
	}
	if (builder->numbered_room * sizeof(*builder->numbered) > keep) {
		free(builder->numbered);
		builder->numbered = NULL;
		builder->numbered_room = 0;
	}
}

void
php_hone_builder_free(struct php_hone_builder *builder)
{
	php_hone_builder_trim(builder, 0);
}

/*
 * The table of the arrays that have more than one reference, for one record for
 * each array. build.c finds an array that contains itself by this table. Open
 * addressing.
 */

static uint32_t
slot_of(const void *array, uint32_t room)
{
	/* Fibonacci hashing: arrays are at multiples of 56 bytes. */
	uint64_t bits =
		(uint64_t)(uintptr_t)array * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(bits >> 32) & (room - 1);
}

/* Returns the entry of an array, or a free entry for the array. */
static struct php_hone_shared *
entry_of(struct php_hone_builder *builder, const void *array)
{
	uint32_t slot = slot_of(array, builder->shared_room);

	for (;;) {
		struct php_hone_shared *entry = &builder->shared[slot];
		if (entry->build != builder->build || entry->array == array)
			return entry;
		slot = (slot + 1) & (builder->shared_room - 1);
	}
}

static bool
grow_shared(struct php_hone_builder *builder)
{
	struct php_hone_shared *old = builder->shared;
	uint32_t old_room = builder->shared_room;
	uint32_t room = old_room == 0 ? 64 : old_room * 2;
	struct php_hone_shared *shared;

	if (room < old_room)
		return false;
	shared = calloc(room, sizeof(*shared));
	if (shared == NULL)
		return false;
	builder->shared = shared;
	builder->shared_room = room;
	for (uint32_t i = 0; i < old_room; i++) {
		if (old[i].build == builder->build)
			*entry_of(builder, old[i].array) = old[i];
	}
	free(old);
	return true;
}

/* Returns true, and sets *at, if the address is in the table. Otherwise enters
 * the address, for *at. */
static zend_always_inline bool
find_or_enter(struct php_hone_builder *builder, const void *address, size_t *at)
{
	struct php_hone_shared *entry;

	if (builder->n_shared >= builder->shared_room / 2 &&
		!grow_shared(builder)) {
		builder->refused = PHP_HONE_REFUSED_MEMORY;
		return false;
	}
	entry = entry_of(builder, address);
	if (entry->build == builder->build) {
		*at = (size_t)entry->at * 8;
		return true;
	}
	entry->array = address;
	entry->build = builder->build;
	entry->at = (uint32_t)(*at / 8);
	builder->n_shared++;
	return false;
}

bool
php_hone_shared_find(
	struct php_hone_builder *builder, const zend_array *array, size_t *at)
{
	*at = builder->arrays.used;
	return find_or_enter(builder, array, at);
}

void
php_hone_shared_put(
	struct php_hone_builder *builder, const void *class, size_t at)
{
	find_or_enter(builder, class, &at);
}

/* PHP uses the handles of freed objects again, so that the largest one is near
 * the number of objects. */
bool
php_hone_numbered_grow(struct php_hone_builder *builder, uint32_t handle)
{
	size_t room = 64;
	struct php_hone_numbered *numbered;

	while (room <= handle)
		room *= 2;
	numbered = room > UINT32_MAX ? NULL : calloc(room, sizeof(*numbered));
	if (numbered == NULL) {
		builder->refused = PHP_HONE_REFUSED_MEMORY;
		return false;
	}
	if (builder->numbered != NULL)
		memcpy(numbered, builder->numbered,
			builder->numbered_room * sizeof(*numbered));
	free(builder->numbered);
	builder->numbered = numbered;
	builder->numbered_room = (uint32_t)room;
	return true;
}
