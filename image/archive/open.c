/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a store is an archive, and puts another store above it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "archive/archive.h"
#include "format/formats.h"
#include "blocks/blocks.h"
#include "unpack/unpack.h"

bool
image_archive_by_suffix(const char *name)
{
	size_t length = image_unpack_name(name);

	return image_name_ends_with(name, length, ".tar") ||
	       image_name_ends_with(name, length, ".ova") ||
	       image_unpack_is_tar(name);
}

/* A damaged header is an error, as in a file named .tar. */
static bool
begins(const unsigned char *head, size_t length)
{
	return tar_begins(head, length) ||
	       (tar_has_magic(head, length) &&
		       !image_format_by_magic(head, length));
}

/* Sets *archive. */
static int
decide(struct image_store *store, const struct image_open *how, bool *archive,
	struct image_error *err)
{
	enum image_layer layer = image_store_origin(store)->layer;

	*archive = layer == IMAGE_LAYER_ARCHIVE;
	if (layer)
		return 0;
	*archive = how->member || (how->packing != IMAGE_PACKING_NONE &&
					  image_archive_by_suffix(store->name));
	/* A guest chooses the first bytes of a disk, also of one that is packed
	 * in a file of such a name. */
	if (*archive || !image_bytes_decide(store, how) ||
		image_unpack_is_image(store->name) ||
		store->name[image_unpack_name(store->name)])
		return 0;
	int rc = image_store_head(store, err);
	if (rc == 0)
		*archive = begins(store->head, store->head_length);
	return rc;
}

/* Replace the member by one whose bytes are verified as they pass. */
static int
verify_member(struct member *m, const struct image_open *how,
	struct image_store **out, struct image_error *err)
{
	struct image_tap *tap = NULL;
	int rc = 0;

	if (m->file.sparse)
		rc = image_fail(err, m->store.name, -EINVAL,
			"is sparse, and the members of an OVA are not");
	if (rc == 0)
		rc = manifest_tap(m->store.name, &m->manifest, m->parts,
			m->n_parts, how->untrusted && !how->expect, &tap, err);
	if (rc < 0) {
		image_store_close(&m->store);
		return rc;
	}
	*out = &m->store;
	rc = image_blocks_once(out, how->memory, tap, err);
	/* The store below has the name. */
	if (rc == 0)
		(*out)->member = m->store.member;
	return rc;
}

/*
 * Returns whether the archive is an OVA with a manifest. A stream may be one if
 * it has a part of it before the image. Archives of other kinds have such
 * files, too, and their images may be sparse.
 */
static bool
has_manifest(const struct member *m)
{
	bool ovf = m->manifest.ovf.name, mf = m->manifest.mf.name;

	if (!m->store.forward || m->file.sparse)
		return ovf && mf;
	return ovf || mf;
}

/* Closes the store on failure. */
static int
open_member(struct image_store **store, const struct image_open *how,
	bool verify, struct image_error *err)
{
	struct member *m;

	/* A layer has a digest, and no manifest of an OVA. */
	verify &= !image_store_origin(*store)->layer;
	image_blocks_spill(*store, how->spill);
	int rc = member_open(*store, how, &m, err);
	if (rc < 0)
		return rc;
	/* Only the headers of a file are read; a stream is read to its end. */
	if (!m->store.below->forward)
		rc = member_walk(m, err);
	if (rc < 0) {
		image_store_settle(&m->store, err);
		image_store_close(&m->store);
		return rc;
	}
	if (verify && has_manifest(m))
		return verify_member(m, how, store, err);
	m->unread = verify && m->store.below->forward;
	*store = &m->store;
	return 0;
}

/* Closes the store on failure. */
static int
archive_store(struct image_store **store, const struct image_open *how,
	bool verify, struct image_error *err)
{
	bool archive;

	int rc = decide(*store, how, &archive, err);
	if (rc < 0)
		image_store_close(*store);
	else if (archive)
		rc = open_member(store, how, verify, err);
	return rc < 0 || !archive ? rc : image_unpack_store(store, how, err);
}

int
image_unwrap_store(struct image_store **store, const struct image_open *how,
	bool verify, struct image_error *err)
{
	int rc = image_unpack_store(store, how, err);

	if (rc == 0)
		rc = archive_store(store, how, verify, err);
	if (rc < 0)
		*store = NULL;
	return rc;
}
