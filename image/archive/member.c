/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of a member: a map from it to the archive. A disk that an OVA has
 * in parts is one store of several members, which come in order. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"
#include "blocks/blocks.h"
#include "format/formats.h"
#include "unpack/unpack.h"

/* Shortens a name from the archive, so that the message fits. */
#define NAME "'%.200s'"

/* A store of the bytes of a member. Its name is "ARCHIVE: MEMBER". */
struct member {
	/* below it is the archive */
	struct image_store store;
	struct tar_member file;
	struct manifest manifest;
	/* all members were looked at for it */
	bool noted;
	/* how often the description was searched */
	unsigned searches;
	/* names of members, for a message, and whether no more fit */
	char seen[256];
	bool seen_all;

	/* the image is in parts, of which `file` is the first */
	bool joined;
	char *disk;
	struct archive_part *parts;
	size_t n_parts;
	uint64_t parts_room;
	/* a manifest that a stream has behind the image is an error */
	bool unread;

	/* Everything below is used under the lock. */
	pthread_mutex_t lock;
	struct tar tar;
	/* the headers behind the member were read, with this result */
	bool walked;
	int rc;
	struct image_error err;
};

static struct member *
of(struct image_store *store)
{
	return (struct member *)store;
}

const char *
archive_name(const char *name)
{
	while (strncmp(name, "./", 2) == 0 && name[2])
		name += 2;
	return name;
}

static bool
same_name(const char *a, const char *b)
{
	return strcmp(archive_name(a), archive_name(b)) == 0;
}

#define FOLDER "disk"
#define REMOVED ".wh."
#define ALL_REMOVED REMOVED REMOVED ".opq"

/* Returns the name of a member of a layer below the root. */
static const char *
below_root(const char *name)
{
	while (*name == '/' || strncmp(name, "./", 2) == 0)
		name++;
	return name;
}

/* Returns the name of a member of the folder, or NULL. */
static const char *
in_folder(const struct tar_member *file)
{
	const char *name = below_root(file->name);
	size_t length = strlen(FOLDER);

	return strncmp(name, FOLDER, length) == 0 && name[length] == '/'
		       ? below_root(name + length)
		       : NULL;
}

bool
archive_is_disk(const struct tar_member *file, const char *wanted)
{
	const char *name = in_folder(file);

	if (wanted)
		return same_name(file->name, wanted);
	return name && file->type == TAR_REGULAR && *name && *name != '.' &&
	       !strchr(name, '/');
}

bool
archive_hides_disk(const struct tar_member *file)
{
	const char *name = in_folder(file), *all = below_root(file->name);

	if (name)
		return strncmp(name, REMOVED, strlen(REMOVED)) == 0 ||
		       (file->type != TAR_REGULAR && file->type != '5' &&
			       !strchr(name, '/'));
	return strcmp(all, REMOVED FOLDER) == 0 ||
	       strcmp(all, ALL_REMOVED) == 0 ||
	       (strcmp(all, FOLDER) == 0 && file->type != '5');
}

/* Times that a description, of 4 MiB at most, is searched. */
#define MAX_SEARCHES 256

static bool
is_described(struct member *m, const struct tar_member *file)
{
	struct ovf_file found;

	return m->manifest.ovf.name && m->searches++ < MAX_SEARCHES &&
	       ovf_find(&m->manifest.ovf, file->name, &found) && found.disk;
}

/* macOS adds "._disk.raw", which has attributes of the file, to archives. */
static bool
is_image(struct member *m, const struct tar_member *file)
{
	const char *slash = strrchr(file->name, '/');
	const char *name = slash ? slash + 1 : file->name;
	int part = ovf_part(name);
	char whole[IMAGE_NAME_MAX];

	if (image_store_origin(m->store.below)->layer)
		return archive_is_disk(file, NULL);
	if (file->type != TAR_REGULAR || name[0] == '.' || part > 0)
		return false;
	snprintf(whole, sizeof(whole), "%.*s",
		(int)(strlen(name) - (part < 0 ? 0 : OVF_PART)), name);
	return image_has_suffix(whole) || is_described(m, file);
}

/* Returns whether `name` is the name of a part of this disk. */
static bool
is_part_of(const char *name, const char *disk, size_t length)
{
	name = archive_name(name);
	return ovf_part(name) >= 0 && strlen(name) == length + OVF_PART &&
	       memcmp(name, disk, length) == 0;
}

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

static int
add_part(struct member *m, const struct tar_member *file,
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

/* Fail if the parts are not those that the description has. */
static int
check_parts(const struct member *m, uint64_t size, struct image_error *err)
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

static int
join_parts(struct member *m, struct image_error *err)
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
		rc = check_parts(m, size, err);
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

/* Remember the name of a member for the message that there is no image. */
static void
note_name(struct member *m, const struct tar_member *file)
{
	static const char more[] = ", ...";
	size_t length = strlen(m->seen);
	size_t room = sizeof(m->seen) - sizeof(more) - length;

	if (file->type != TAR_REGULAR || m->seen_all)
		return;
	m->seen_all = (size_t)snprintf(m->seen + length, room, "%s'%s'",
			      length ? ", " : ": ", file->name) >= room;
	if (m->seen_all)
		snprintf(m->seen + length, sizeof(more), "%s",
			length ? more : "");
}

/* Returns the index of the first piece that ends behind offset. */
static size_t
piece_at(const struct tar_member *file, uint64_t offset)
{
	size_t low = 0, high = file->n_pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct tar_piece *piece = &file->pieces[middle];
		if (piece->offset + piece->length <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define HOLE UINT64_MAX

/*
 * Returns the bytes from offset on, at most length, that are in one piece or in
 * a hole. Sets *from to where the archive has them, or to HOLE.
 */
static uint64_t
range_at(const struct member *m, uint64_t offset, uint64_t length,
	uint64_t *from)
{
	size_t i = piece_at(&m->file, offset);
	const struct tar_piece *next =
		i < m->file.n_pieces ? &m->file.pieces[i] : NULL;
	uint64_t left = length;

	*from = HOLE;
	if (next && next->offset <= offset) {
		*from = next->from + (offset - next->offset);
		left = next->offset + next->length - offset;
	} else if (next) {
		left = next->offset - offset;
	}
	return left < length ? left : length;
}

/* Read a stream up to the end of a range of a piece. A file was checked. */
static int
reach_piece(
	struct member *m, uint64_t from, size_t length, struct image_error *err)
{
	uint64_t reached = length;
	int rc = 0;

	if (m->store.below->forward && from != HOLE)
		rc = image_store_reach(
			m->store.below, from, length, &reached, err);
	if (rc < 0 || reached == length)
		return rc;
	return image_damaged(err, m->store.below->name, -EIO,
		"ends inside its member " NAME ", at offset %" PRIu64
		": the file is not complete",
		m->file.name, from + reached);
}

static int
member_read(struct image_store *store, uint64_t offset, void *buf,
	size_t length, struct image_error *err)
{
	struct member *m = of(store);
	unsigned char *to = buf;
	int rc = 0;

	if (offset > store->size || length > store->size - offset)
		return image_damaged(err, store->name, -EIO,
			"has no data at offset %" PRIu64
			": it ends at offset %" PRIu64,
			offset, store->size);
	while (rc == 0 && length) {
		uint64_t from;
		size_t n = (size_t)range_at(m, offset, length, &from);
		rc = reach_piece(m, from, n, err);
		if (from == HOLE)
			memset(to, 0, n);
		else if (rc == 0)
			rc = image_store_read(m->store.below, from, to, n, err);
		to += n;
		offset += n;
		length -= n;
	}
	return rc;
}

static int
member_extent(struct image_store *store, uint64_t offset, uint64_t limit,
	uint64_t *length, bool *hole, struct image_error *err)
{
	struct member *m = of(store);
	uint64_t from;

	*length = range_at(m, offset, limit, &from);
	*hole = from == HOLE;
	return *hole ? 0
		     : image_store_extent(m->store.below, from, *length, length,
			       hole, err);
}

/* A stream is read up to the end of the range, which it has to have. */
static int
member_reach(struct image_store *store, uint64_t offset, size_t length,
	uint64_t *reached, struct image_error *err)
{
	struct member *m = of(store);
	uint64_t left = offset < store->size ? store->size - offset : 0, from;
	int rc = 0;

	*reached = left < length ? left : length;
	for (left = *reached; rc == 0 && left;) {
		uint64_t n = range_at(m, offset, left, &from);
		rc = reach_piece(m, from, (size_t)n, err);
		offset += n;
		left -= n;
	}
	return rc;
}

/*
 * The ends of the member are not released: image_check_last() looks for
 * signatures there.
 */
static void
member_release(struct image_store *store, uint64_t offset, uint64_t length)
{
	struct member *m = of(store);
	uint64_t kept = IMAGE_BLOCKS_END, end = offset + length, from, n;

	if (store->size <= 2 * kept)
		return;
	if (end > store->size - kept)
		end = store->size - kept;
	for (offset = offset < kept ? kept : offset; offset < end;
		offset += n) {
		n = range_at(m, offset, end - offset, &from);
		if (from != HOLE)
			image_store_release(m->store.below, from, n);
	}
}

/* The headers may be read twice. */
static int
note(struct member *m, const struct tar_member *file, struct image_error *err)
{
	return m->noted ? 0 : manifest_note(&m->manifest, &m->tar, file, err);
}

/* Add a further part of the image. Fails if a member behind the image is
 * another image. */
static int
judge(struct member *m, struct tar_member *file, struct image_error *err)
{
	const char *first = archive_name(m->file.name);

	if (m->joined &&
		is_part_of(file->name, first, strlen(first) - OVF_PART))
		return add_part(m, file, err);
	if (same_name(file->name, m->file.name))
		return image_fail(err, m->store.below->name, -EINVAL,
			"has two members of the name " NAME, m->file.name);
	if (m->tar.named || !is_image(m, file))
		return 0;
	return image_fail(err, m->store.below->name, -EINVAL,
		"has two images, " NAME " and " NAME
		"; --member NAME chooses one",
		m->file.name, file->name);
}

/* Called with the lock. */
static int
walk(struct member *m, struct image_error *err)
{
	struct tar_member file;
	bool more = true;
	int rc = 0;

	while (rc == 0 && more) {
		rc = tar_next(&m->tar, &file, err);
		more = file.name;
		if (rc == 0 && more)
			rc = judge(m, &file, err);
		if (rc == 0 && more)
			rc = note(m, &file, err);
		tar_free(&file);
	}
	return rc == 0 && m->joined ? join_parts(m, err) : rc;
}

/* Read the headers behind the member. Fails if one of them is another image, or
 * has the same name. */
static int
member_walk(struct member *m, struct image_error *err)
{
	pthread_mutex_lock(&m->lock);
	if (!m->walked)
		m->rc = walk(m, &m->err);
	m->walked = true;
	int rc = m->rc;
	if (rc < 0)
		*err = m->err;
	pthread_mutex_unlock(&m->lock);
	return rc;
}

/* After a failure: if the file has a wrong digest, report the digest instead.
 */
static void
settle(const struct member *m, struct image_error *err)
{
	struct image_error other;

	if (image_store_unchanged(m->store.below, &other) < 0 && other.refused)
		*err = other;
}

static int
member_unchanged(struct image_store *store, struct image_error *err)
{
	struct member *m = of(store);

	int rc = member_walk(m, err);
	if (rc == 0 && m->unread)
		rc = manifest_unread(&m->manifest, m->store.below->name, err);
	if (rc == 0)
		return image_store_unchanged(m->store.below, err);
	settle(m, err);
	return rc;
}

static void
member_close(struct image_store *store)
{
	struct member *m = of(store);

	image_store_close(m->store.below);
	tar_free(&m->file);
	manifest_free(&m->manifest);
	for (size_t i = 0; i < m->n_parts; i++)
		free(m->parts[i].name);
	free(m->parts);
	free(m->disk);
	pthread_mutex_destroy(&m->lock);
	free(store->name);
	free(m);
}

static const struct image_store_ops member_ops = {
	.read = member_read,
	.extent = member_extent,
	.reach = member_reach,
	.release = member_release,
	.unchanged = member_unchanged,
	.close = member_close,
};

static int
not_found(const struct member *m, const char *wanted, struct image_error *err)
{
	if (wanted)
		return image_fail(err, m->store.below->name, -ENOENT,
			"has no member " NAME, wanted);
	return image_fail(err, m->store.below->name, -ENOENT,
		"has no member %s; --member NAME chooses another one%s",
		image_store_origin(m->store.below)->layer
			? "in " FOLDER
			: "with the suffix of an image",
		m->seen);
}

static int
begin_parts(struct member *m, const char *wanted, struct image_error *err)
{
	struct tar_member *file = &m->file;
	int length = (int)(strlen(file->name) - OVF_PART);

	if (wanted && same_name(file->name, wanted))
		return image_fail(err, m->store.below->name, -EINVAL,
			"its member " NAME " is one part of a disk; --member "
			"'%.*s' joins them",
			file->name, length < 200 ? length : 200, file->name);
	if (m->store.below->forward)
		return image_fail(err, m->store.below->name, -ESPIPE,
			"has '%.*s' in parts, which cannot be joined in a "
			"stream: write the archive to a file first",
			length < 200 ? length : 200, file->name);
	m->joined = true;
	return add_part(m, file, err);
}

/* Set *found to true if the member is the one to read. */
static int
choose(struct member *m, const char *wanted, bool *found,
	struct image_error *err)
{
	const struct tar_member *file = &m->file;

	const char *disk = wanted ? archive_name(wanted) : "";

	*found = wanted ? same_name(file->name, wanted) ||
				  (ovf_part(file->name) == 0 &&
					  is_part_of(file->name, disk,
						  strlen(disk)))
			: is_image(m, file);
	if (!*found) {
		note_name(m, file);
		return note(m, file, err);
	}
	if (ovf_part(file->name) >= 0)
		return begin_parts(m, wanted, err);
	if (file->type != TAR_REGULAR)
		return image_fail(err, m->store.below->name, -EINVAL,
			"its member " NAME " is %s", file->name,
			tar_type_text(file->type));
	/* The largest number stands for a size that is not known. */
	if (file->size >= IMAGE_SIZE_UNKNOWN)
		return image_fail(err, m->store.below->name, -EFBIG,
			"its member " NAME " has %" PRIu64 " bytes", file->name,
			file->size);
	return 0;
}

static int
search(struct member *m, const char *wanted, struct image_error *err)
{
	bool found = false;
	int rc = 0;

	while (rc == 0 && !found) {
		tar_free(&m->file);
		rc = tar_next(&m->tar, &m->file, err);
		if (rc == 0 && !m->file.name) {
			if (wanted || m->noted || !m->manifest.ovf.name ||
				m->store.below->forward)
				return not_found(m, wanted, err);
			/* Search for a disk that stands before the description
			 * that names it. */
			m->noted = true;
			m->searches = 0;
			m->seen[0] = '\0';
			m->seen_all = false;
			m->tar = (struct tar){
				.store = m->tar.store, .named = m->tar.named};
			continue;
		}
		if (rc == 0)
			rc = choose(m, wanted, &found, err);
	}
	return rc;
}

/* Find the member how->member, or the first one that is named as an image. *out
 * owns the archive, which is closed after a failure, too. */
static int
member_open(struct image_store *archive, const struct image_open *how,
	struct member **out, struct image_error *err)
{
	struct member *m = calloc(1, sizeof(*m));

	*out = NULL;
	if (!m) {
		image_store_close(archive);
		image_no_memory(err);
		return -ENOMEM;
	}
	pthread_mutex_init(&m->lock, NULL);
	m->store.ops = &member_ops;
	m->store.below = m->tar.store = archive;
	m->tar.named = how->member;
	int rc = search(m, how->member, err);
	if (rc == 0 && !m->joined)
		rc = append(m, &m->file, err);
	if (rc == 0 && asprintf(&m->store.name, "%s: %s", archive->name,
			       m->file.name) < 0) {
		m->store.name = NULL;
		rc = image_no_memory(err);
	}
	if (rc < 0) {
		if (how->expect || image_store_origin(archive)->layer)
			settle(m, err);
		else
			image_store_settle(archive, err);
		member_close(&m->store);
		return rc;
	}
	m->store.size = m->file.size;
	m->store.member = m->file.name;
	m->store.forward = archive->forward;
	m->store.requests = archive->requests;
	*out = m;
	return 0;
}

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

int
image_unwrap_store(struct image_store **store, const struct image_open *how,
	bool verify, struct image_error *err)
{
	bool archive = false;

	int rc = image_unpack_store(store, how, err);
	if (rc < 0)
		return rc;
	rc = decide(*store, how, &archive, err);
	if (rc < 0)
		image_store_close(*store);
	else if (archive)
		rc = open_member(store, how, verify, err);
	if (rc < 0)
		*store = NULL;
	return rc < 0 || !archive ? rc : image_unpack_store(store, how, err);
}
