/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "engine/file.h"
#include "qcow2/table.h"

/* A block of most file systems: fewer zeros are not worth another write. */
#define HOLE_BYTES 4096

int
qcow2_table_init(struct qcow2_table *table, struct image *img, uint64_t offset,
	struct image_error *err)
{
	*table = (struct qcow2_table){.img = img, .err = err, .offset = offset};
	table->buffer = malloc(TABLE_BUFFER);
	if (!table->buffer)
		table->rc =
			image_fail(err, -ENOMEM, "there is not enough memory");
	return table->rc;
}

static void
drain(struct qcow2_table *table)
{
	if (table->rc == 0 && table->used)
		table->rc = image_file_write(table->img, table->offset,
			table->buffer, table->used, table->err);
	table->offset += table->used;
	table->used = 0;
}

int
qcow2_table_finish(struct qcow2_table *table)
{
	drain(table);
	free(table->buffer);
	return table->rc;
}

static void
put(struct qcow2_table *table, const void *value, size_t length)
{
	/* Entries never straddle: the buffer is a multiple of their size. */
	memcpy(table->buffer + table->used, value, length);
	table->used += length;
	if (table->used == TABLE_BUFFER)
		drain(table);
}

void
qcow2_table_put64(struct qcow2_table *table, uint64_t value)
{
	uint64_t big_endian = htobe64(value);
	put(table, &big_endian, sizeof(big_endian));
}

void
qcow2_table_put16(struct qcow2_table *table, uint16_t value)
{
	uint16_t big_endian = htobe16(value);
	put(table, &big_endian, sizeof(big_endian));
}

void
qcow2_table_pad_to(struct qcow2_table *table, uint64_t offset)
{
	assert(offset >= table->offset + table->used);
	uint64_t left = offset - table->offset - table->used;
	if (left >= HOLE_BYTES) {
		drain(table);
		table->offset += left;
		return;
	}
	while (left) {
		size_t room = TABLE_BUFFER - table->used;
		size_t n = left < room ? (size_t)left : room;
		memset(table->buffer + table->used, 0, n);
		table->used += n;
		left -= n;
		if (table->used == TABLE_BUFFER)
			drain(table);
	}
}

void
qcow2_table_pad(struct qcow2_table *table, uint64_t unit)
{
	uint64_t at = table->offset + table->used;
	qcow2_table_pad_to(table, (at + unit - 1) & ~(unit - 1));
}
