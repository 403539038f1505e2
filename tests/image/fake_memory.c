/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fake_memory.h"

static int
memory_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	const struct memory_store *m = (const struct memory_store *)store;

	if (offset > store->size || length > store->size - offset)
		return image_fail(err, store->name, -EIO,
			"has no data at offset %" PRIu64, offset);
	memcpy(buf, m->bytes + offset, length);
	return 0;
}

static int
memory_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	(void)err;
	*usage = (struct image_usage){store->size, store->size};
	return 0;
}

static void
memory_close(struct image_store *store)
{
	free(store->name);
	free(store);
}

const struct image_store_ops memory_store_ops = {
	.read = memory_read,
	.usage = memory_usage,
	.close = memory_close,
};

int
memory_store_open(const void *bytes, size_t length, const char *name,
	struct image_store **out, struct image_error *err)
{
	struct memory_store *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (m)
		m->store.name = strdup(name);
	if (!m || !m->store.name) {
		free(m);
		return image_no_memory(err);
	}
	m->store.ops = &memory_store_ops;
	m->store.size = length;
	m->bytes = bytes;
	*out = &m->store;
	return 0;
}
