/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a builder: its buffers, and the table of shared arrays. */
#include "layout.h"

/* Offsets are kept in 32 bits, in units of 8 bytes. */
#define LARGEST ((size_t)UINT32_MAX * 8)

bool
php_hone_buffer_grow(struct php_hone_buffer *buffer, size_t size)
{
	size_t room = buffer->room < 4096 ? 4096 : buffer->room;
	size_t most = buffer->most != 0 ? buffer->most : LARGEST;
	unsigned char *bytes;

	if (size > most || buffer->used > most - size)
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
	struct php_hone_met_arrays *arrays = &builder->met_arrays;
	struct php_hone_met_objects *objects = &builder->met_objects;

	trim_buffer(&builder->arrays, keep);
	trim_buffer(&builder->strings, keep);
	trim_buffer(&builder->graph.objects, keep);
	trim_buffer(&builder->graph.paths, keep);
	trim_buffer(&builder->graph.calls, keep);
	/* The next request has other classes at the same addresses. */
	for (unsigned i = 0; i < PHP_HONE_CLASSES; i++)
		free(builder->met_classes.known[i].image);
	memset(builder->met_classes.known, 0,
		sizeof(builder->met_classes.known));
	if (arrays->room * sizeof(*arrays->shared) > keep) {
		free(arrays->shared);
		arrays->shared = NULL;
		arrays->room = 0;
	}
	if (objects->room * sizeof(*objects->numbered) > keep) {
		free(objects->numbered);
		objects->numbered = NULL;
		objects->room = 0;
	}
}

void
php_hone_builder_free(struct php_hone_builder *builder)
{
	php_hone_builder_trim(builder, 0);
}

/* Returns the entry of an array, or a free one. Open addressing. */
static struct php_hone_shared *
entry_of(const struct php_hone_builder *builder, const void *array)
{
	const struct php_hone_met_arrays *met = &builder->met_arrays;
	/* Fibonacci hashing: arrays are at multiples of 56 bytes. */
	uint64_t bits =
		(uint64_t)(uintptr_t)array * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t slot = (uint32_t)(bits >> 32);; slot++) {
		struct php_hone_shared *entry =
			&met->shared[slot & (met->room - 1)];
		if (entry->build != builder->build || entry->array == array)
			return entry;
	}
}

/* Not inline: php_hone_shared_find() then saves fewer registers. */
static zend_never_inline bool
grow_shared(struct php_hone_builder *builder)
{
	struct php_hone_met_arrays *met = &builder->met_arrays, old = *met;
	uint32_t room = old.room == 0 ? 64 : old.room * 2;
	struct php_hone_shared *shared;

	if (room < old.room)
		return false;
	shared = calloc(room, sizeof(*shared));
	if (shared == NULL)
		return false;
	met->shared = shared;
	met->room = room;
	for (uint32_t i = 0; i < old.room; i++) {
		if (old.shared[i].build == builder->build)
			*entry_of(builder, old.shared[i].array) = old.shared[i];
	}
	free(old.shared);
	return true;
}

bool
php_hone_shared_find(
	struct php_hone_builder *builder, const void *address, size_t *at)
{
	struct php_hone_met_arrays *met = &builder->met_arrays;
	struct php_hone_shared *entry;

	if (met->n >= met->room / 2 && !grow_shared(builder)) {
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
	met->n++;
	return false;
}

/* PHP uses the handles of freed objects again, so that the largest one is near
 * the number of objects. */
bool
php_hone_numbered_grow(struct php_hone_builder *builder, uint32_t handle)
{
	struct php_hone_met_objects *met = &builder->met_objects;
	size_t room = 64;
	struct php_hone_numbered *numbered;

	while (room <= handle)
		room *= 2;
	numbered = room > UINT32_MAX ? NULL : calloc(room, sizeof(*numbered));
	if (numbered == NULL) {
		builder->refused = PHP_HONE_REFUSED_MEMORY;
		return false;
	}
	if (met->numbered != NULL)
		memcpy(numbered, met->numbered, met->room * sizeof(*numbered));
	free(met->numbered);
	met->numbered = numbered;
	met->room = (uint32_t)room;
	return true;
}
