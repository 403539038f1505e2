/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk that an OVA has in parts: each is a member, and they come in order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"

bool
parts_belong(const struct member *m, const char *name)
{
	if (!m->joined)
		return false;
	const char *first = archive_name(m->file.name);
	size_t length = strlen(first) - OVF_PART;

	name = archive_name(name);
	return ovf_part(name) >= 0 && strlen(name) == length + OVF_PART &&
	       memcmp(name, first, length) == 0;
}

/* Append a part to the list. */
static int
append(struct member *m, const struct tar_member *file, struct image_error *err)
{
	int rc = image_grow(&m->parts, &m->parts_room, m->n_parts + 1,
		sizeof(*m->parts), err);
	if (rc < 0)
		return rc;
	char *name = strdup(file->name);
	if (!name)
		return image_no_memory(err);
	m->parts[m->n_parts++] =
		(struct archive_part){name, file->size, file->from};
	return 0;
}

int
parts_alone(struct member *m, struct image_error *err)
{
	return m->joined ? 0 : append(m, &m->file, err);
}

int
parts_add(struct member *m, const struct tar_member *file,
	struct image_error *err)
{
	size_t count = m->n_parts;

	if (file->type != TAR_REGULAR || file->sparse)
		return image_fail(err, m->store.below->name, -EINVAL,
			"its member '%.200s' is sparse or not a file, and is "
			"a part of a disk",
			file->name);
	if ((size_t)ovf_part(file->name) != count)
		return image_damaged(err, m->store.below->name, -EINVAL,
			"has the part '%.200s' of a disk where number %zu has "
			"to be",
			file->name, count);
	return append(m, file, err);
}

void
parts_free(struct member *m)
{
	for (size_t i = 0; i < m->n_parts; i++)
		free(m->parts[i].name);
	free(m->parts);
}

/* Fail if the parts are not those that the description has. */
static int
check(const struct member *m, uint64_t size, struct image_error *err)
{
	struct ovf_file file;
	size_t last = m->n_parts - 1;

	if (!ovf_find(&m->manifest.ovf, m->disk, &file))
		return 0;
	for (size_t i = 0; file.chunk && i <= last; i++)
		if (m->parts[i].size > file.chunk ||
			(i < last && m->parts[i].size != file.chunk))
			return image_damaged(err, m->store.below->name, -EINVAL,
				"its member '%.200s' has %" PRIu64
				" bytes, and its description has parts of "
				"%" PRIu64,
				m->parts[i].name, m->parts[i].size, file.chunk);
	if (file.size == IMAGE_SIZE_UNKNOWN || file.size == size)
		return 0;
	return image_damaged(err, m->store.below->name, -EINVAL,
		"has %" PRIu64 " bytes in the parts of '%.200s', and its "
		"description has %" PRIu64 ": the archive is not complete",
		size, m->disk, file.size);
}

/* The name of the disk, and that of the store. */
static int
rename_store(struct member *m, struct image_error *err)
{
	char *name;

	m->disk = strndup(m->file.name, strlen(m->file.name) - OVF_PART);
	if (!m->disk ||
		asprintf(&name, "%s: %s", m->store.below->name, m->disk) < 0)
		return image_no_memory(err);
	free(m->store.name);
	m->store.name = name;
	m->store.member = m->disk;
	return 0;
}

int
parts_join(struct member *m, struct image_error *err)
{
	struct tar_piece *pieces = calloc(m->n_parts, sizeof(*pieces));
	uint64_t size = 0;
	size_t n = 0;
	bool fits = true;

	if (!pieces)
		return image_no_memory(err);
	int rc = rename_store(m, err);
	for (size_t i = 0; rc == 0 && fits && i < m->n_parts; i++) {
		const struct archive_part *part = &m->parts[i];
		if (part->size)
			pieces[n++] = (struct tar_piece){
				size, part->size, part->from};
		fits = !__builtin_add_overflow(size, part->size, &size) &&
		       size < IMAGE_SIZE_UNKNOWN;
	}
	if (rc == 0 && !fits)
		rc = image_fail(err, m->store.below->name, -EFBIG,
			"its parts of '%.200s' pass the largest file size",
			m->disk);
	if (rc == 0)
		rc = check(m, size, err);
	if (rc < 0) {
		free(pieces);
		return rc;
	}
	free(m->file.pieces);
	m->file.pieces = pieces;
	m->file.n_pieces = n;
	m->file.size = m->store.size = size;
	return 0;
}
