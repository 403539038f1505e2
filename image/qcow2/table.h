/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_QCOW2_TABLE_H
#define HONE_IMAGE_QCOW2_TABLE_H
/* Tables written one after the other through one buffer. */
#include "image.h"

/* A multiple of every cluster size. */
#define TABLE_BUFFER ((size_t)2 << 20)

struct qcow2_table {
	struct image *img;
	struct image_error *err;
	uint64_t offset;
	size_t used;
	/* the first failure; later calls do nothing */
	int rc;
	unsigned char *buffer;
};

int qcow2_table_init(struct qcow2_table *table, struct image *img,
	uint64_t offset, struct image_error *err);
/* Writes what is left; returns 0 or the first failure. */
int qcow2_table_finish(struct qcow2_table *table);

void qcow2_table_put64(struct qcow2_table *table, uint64_t value);
void qcow2_table_put16(struct qcow2_table *table, uint16_t value);
/*
 * Zeros up to the next multiple of unit, a power of two. Where there are many
 * they are left out, which is a hole; at the end of the file, the caller has
 * to make it long enough.
 */
void qcow2_table_pad(struct qcow2_table *table, uint64_t unit);
/* The same up to this offset of the file. */
void qcow2_table_pad_to(struct qcow2_table *table, uint64_t offset);

#endif
