/* SPDX-License-Identifier: BSD-3-Clause */
/* qcow2: recognised and written; its header is read for hone info. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "engine/file.h"
#include "qcow2/layout.h"
#include "qcow2/writer.h"

static uint32_t
get32(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static uint64_t
get64(const unsigned char *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static bool
qcow2_probe(const unsigned char *head, size_t length)
{
	return length >= 4 && get32(head) == QCOW2_MAGIC;
}

/* What the common part of the header says, checked. */
struct header {
	uint32_t version;
	uint32_t cluster_bits;
	uint64_t size;
};

/* Versions 2 and 3 begin with the same 72 bytes. */
#define COMMON_LENGTH 72

static int
parse_header(
	const unsigned char *raw, struct header *h, struct image_error *err)
{
	if (get32(raw) != QCOW2_MAGIC)
		return image_fail(err, -EINVAL,
			"magic 0x%08" PRIx32 " is not that of qcow2",
			get32(raw));
	h->version = get32(raw + 4);
	if (h->version != 2 && h->version != 3)
		return image_fail(err, -EINVAL,
			"version %" PRIu32 " of qcow2 is neither 2 nor 3",
			h->version);
	h->cluster_bits = get32(raw + 20);
	if (h->cluster_bits < QCOW2_MIN_CLUSTER_BITS ||
		h->cluster_bits > QCOW2_MAX_CLUSTER_BITS)
		return image_fail(err, -EINVAL,
			"cluster_bits %" PRIu32 " is not from 9 to 21",
			h->cluster_bits);
	h->size = get64(raw + 24);
	if (h->size > INT64_MAX)
		return image_fail(err, -EINVAL,
			"size %" PRIu64 " is larger than any file", h->size);
	return 0;
}

/* img->state: the writer of an image being made, or this of one opened. */
static int
qcow2_open(struct image *img, struct image_error *err)
{
	unsigned char raw[COMMON_LENGTH];
	uint64_t file_size;

	int rc = image_file_size(img, &file_size, err);
	if (rc < 0)
		return rc;
	if (file_size < sizeof(raw))
		return image_fail(err, -EINVAL,
			"its %" PRIu64 " bytes end inside the qcow2 header",
			file_size);
	rc = image_file_read(img, 0, raw, sizeof(raw), err);
	if (rc < 0)
		return rc;
	struct header *h = calloc(1, sizeof(*h));
	if (!h)
		return image_fail(err, -ENOMEM, "there is not enough memory");
	img->state = h;
	rc = parse_header(raw, h, err);
	if (rc == 0)
		img->size = h->size;
	return rc;
}

static size_t
qcow2_info(struct image *img, struct image_field *fields)
{
	const struct header *h = img->state;

	fields[0] = (struct image_field){"version", h->version};
	fields[1] = (struct image_field){
		"cluster_size", UINT64_C(1) << h->cluster_bits};
	return 2;
}

static void
qcow2_close(struct image *img)
{
	/* An opened image owns its descriptor, one being made does not. */
	if (img->owns_fd)
		free(img->state);
	else
		qcow2_writer_free(img->state);
}

const struct image_ops image_qcow2_ops = {
	.name = "qcow2",
	.suffixes = ".qcow2 .qcow",
	.probe = qcow2_probe,
	.open = qcow2_open,
	.option = qcow2_option,
	.create = qcow2_create,
	.write = qcow2_write,
	.write_zeroes = qcow2_write_zeroes,
	.finish = qcow2_finish,
	.flush = image_file_flush,
	.info = qcow2_info,
	.close = qcow2_close,
};
