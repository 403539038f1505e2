/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the other files of an image: its backing file and its external data
 * file. An attacker may have chosen their names, so each file must lie in a
 * directory that the user allowed.
 */
#include <errno.h>
#include <inttypes.h>
#include "format/named.h"
#include "format/qcow2/source.h"

/* Files of a chain; each costs a descriptor and an L1 table. */
#define MAX_DEPTH 64

/* Bytes of the L1 tables of a chain. */
#define MAX_CHAIN_L1 ((uint64_t)96 << 20)

/* Fail if the store is a file that the chain has already. */
static int
check_loop(const struct qcow2_source *q, const struct image_store *store,
	const struct qcow2_chain *chain, struct image_error *err)
{
	for (; chain; chain = chain->above)
		if (image_store_same(chain->source->base.store, store))
			return image_fail(err, q->base.store->name, -EPERM,
				"its backing_file '%s' is already in the "
				"backing chain: the chain is a loop",
				IMAGE_NAME(q->header.backing_file));
	return 0;
}

int
qcow2_open_data_file(struct qcow2_source *q, const struct image_open *how,
	struct image_error *err)
{
	const char *name = q->header.data_file;

	if (!name)
		return image_fail(err, q->base.store->name, -ENOTSUP,
			"has an external data file, but does not name it");
	if (!how->allow_data_file)
		return image_fail(err, q->base.store->name, -EPERM,
			"its data_file '%s' is not opened without "
			"--allow-data-file DIR",
			IMAGE_NAME(name));
	struct image_store *store;
	int rc = image_named_open(q->base.store, "data_file", name,
		how->allow_data_file, how, &store, err);
	if (rc == 0)
		q->base.data = store;
	return rc;
}

/*
 * Set *out to the backing_format. A missing one is never guessed to be raw;
 * QEMU does not guess either.
 */
static int
parse_format(const struct qcow2_source *q, struct image_store *store,
	const struct image_format **out, struct image_error *err)
{
	const char *format = q->header.backing_format;
	unsigned char head[4];

	if (!format) {
		int rc = 0;
		if (store->size >= sizeof(head))
			rc = image_store_read(
				store, 0, head, sizeof(head), err);
		if (rc < 0)
			return rc;
		*out = q->base.format;
		if (store->size >= sizeof(head) &&
			image_be32(head) == QCOW2_MAGIC)
			return 0;
		return image_fail(err, q->base.store->name, -EPERM,
			"its backing_file '%s' has no qcow2 header, and the "
			"image has no backing_format",
			IMAGE_NAME(q->header.backing_file));
	}
	*out = image_format_by_name(format);
	if (*out && (*out)->open)
		return 0;
	return image_fail(err, q->base.store->name, -ENOTSUP,
		"its backing_format '%s' is not qcow2, vmdk, vpc or raw",
		format);
}

int
qcow2_open_backing_store(const struct qcow2_source *q,
	const struct image_open *how, const struct qcow2_chain *chain,
	struct image_store **out, const struct image_format **format,
	struct image_error *err)
{
	const char *name = q->header.backing_file;

	if (!how->allow_backing)
		return image_fail(err, q->base.store->name, -EPERM,
			"its backing_file '%s' is not opened without "
			"--allow-backing DIR",
			IMAGE_NAME(name));
	if (chain->depth == MAX_DEPTH - 1)
		return image_fail(err, q->base.store->name, -EPERM,
			"its backing_file '%s' is file %d of the chain; "
			"64 are allowed",
			IMAGE_NAME(name), MAX_DEPTH + 1);
	if (chain->l1_bytes > MAX_CHAIN_L1)
		return image_fail(err, q->base.store->name, -ENOTSUP,
			"the L1 tables of its chain have %" PRIu64 " bytes, "
			"which is more than 96 MiB",
			chain->l1_bytes);
	int rc = image_named_open(q->base.store, "backing_file", name,
		how->allow_backing, how, out, err);
	if (rc < 0)
		return rc;
	rc = check_loop(q, *out, chain, err);
	if (rc == 0)
		rc = parse_format(q, *out, format, err);
	if (rc < 0)
		image_store_close(*out);
	return rc;
}
