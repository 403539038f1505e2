/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manifest of an OVA: lines "SHA256(disk.vmdk)= HEX", as line.c reads them.
 * By OVF 2.1, clause 7, the description comes first, and the manifest behind it
 * or at the end. Programs that extract the files accept each order, and so does
 * this.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "archive/archive.h"
#include "hash/hash.h"
#include "unpack/unpack.h"

/* More than a description of hundreds of disks. */
#define MAX_TEXT ((uint64_t)4 << 20)

/* The algorithms of OVF. */
static const char *const names[] = {"sha256", "sha1", "sha512"};
#define ALGORITHMS (sizeof(names) / sizeof(names[0]))
#define ALL ((1u << ALGORITHMS) - 1)

struct digests {
	struct {
		/* NULL: nobody needs it */
		struct image_hash *hash;
		unsigned char bytes[IMAGE_DIGEST_MAX];
	} list[ALGORITHMS];
};

struct line {
	struct image_sum sum;
	/* of names */
	size_t algorithm;
};

/* Whether the archive is an OVA is known only with its description. */
static bool
is_there(const struct manifest *manifest)
{
	return manifest->ovf.name && manifest->mf.name;
}

int
manifest_unread(const struct manifest *manifest, const char *archive,
	struct image_error *err)
{
	if (!is_there(manifest))
		return 0;
	return image_fail(err, archive, -EINVAL,
		"cannot be verified as a stream: its manifest '%.200s' and its "
		"description '%.200s' come after the image; a file that is not "
		"packed can",
		manifest->mf.name, manifest->ovf.name);
}

/* Set what is wrong with a manifest, unless something is already. */
static void
fault(struct manifest *manifest, const struct tar *tar, int rc,
	const char *what, const char *name)
{
	if (manifest->rc == 0)
		manifest->rc = image_fail(&manifest->why, tar->store->name, rc,
			"is an OVA with a file '%.200s' that is %s", name,
			what);
}

static int
keep(struct manifest *manifest, struct manifest_file *file, struct tar *tar,
	const struct tar_member *member, struct image_error *err)
{
	bool plain = member->type == TAR_REGULAR && !member->sparse;
	bool fits = member->size <= MAX_TEXT;

	if (!plain)
		fault(manifest, tar, -EINVAL, "sparse or not a regular file",
			member->name);
	else if (!fits)
		fault(manifest, tar, -E2BIG, "larger than 4 MiB", member->name);
	file->length = plain && fits ? member->size : 0;
	file->name = strdup(member->name);
	file->text = malloc(file->length + 1);
	if (!file->name || !file->text)
		return image_no_memory(err);
	return image_store_read(
		tar->store, member->from, file->text, file->length, err);
}

/* macOS adds "._vm.mf", which has attributes of the file, to archives. */
static bool
has_suffix(const char *name, const char *suffix)
{
	const char *slash = strrchr(name, '/');

	return strncmp(slash ? slash + 1 : name, "._", 2) != 0 &&
	       image_name_ends_with(name, strlen(name), suffix);
}

int
manifest_note(struct manifest *manifest, struct tar *tar,
	const struct tar_member *member, struct image_error *err)
{
	if (!manifest->ovf.name && has_suffix(member->name, ".ovf"))
		return keep(manifest, &manifest->ovf, tar, member, err);
	if (!has_suffix(member->name, ".mf"))
		return 0;
	if (!manifest->mf.name)
		return keep(manifest, &manifest->mf, tar, member, err);
	fault(manifest, tar, -EINVAL, "a second manifest", member->name);
	return 0;
}

void
manifest_free(struct manifest *manifest)
{
	free(manifest->ovf.name);
	free(manifest->ovf.text);
	free(manifest->mf.name);
	free(manifest->mf.text);
}

/* Returns whether the line is for the member. Its name is relative to the
 * folder of the manifest, or to that of the archive. */
static bool
is_for(const struct manifest *manifest, const struct line *line,
	const char *name)
{
	const char *mf = archive_name(manifest->mf.name);
	const char *slash = strrchr(mf, '/');
	size_t folder = slash ? (size_t)(slash - mf) + 1 : 0;

	name = archive_name(name);
	if (image_sum_is_for(&line->sum, name, false))
		return true;
	return folder && strncmp(name, mf, folder) == 0 &&
	       image_sum_is_for(&line->sum, name + folder, false);
}

/* The lines of a manifest that are not read yet. */
struct rest {
	struct image_span text;
	/* of the last line that was read */
	unsigned number;
};

/*
 * Read the next line that is not empty. Returns 1, 0 if there is none, or
 * -EINVAL if it has no digest by an algorithm of OVF.
 */
static int
next_line(struct rest *rest, struct line *line)
{
	struct image_span text = {NULL, 0};

	while (!text.length) {
		if (!image_span_line(&rest->text, &text))
			return 0;
		rest->number++;
		image_span_trim(&text, " \t\r");
	}
	if (!image_sum_parse(text.at, text.length, &line->sum) ||
		!line->sum.name)
		return -EINVAL;
	for (size_t i = 0; i < ALGORITHMS; i++)
		if (strcmp(names[i], line->sum.expect.algorithm->name) == 0) {
			line->algorithm = i;
			return 1;
		}
	return -EINVAL;
}

/* Returns the algorithms of the manifest for a file, a bit for each. A manifest
 * that is still to come may have any. */
static unsigned
needed(const struct manifest *manifest, const char *name)
{
	struct line line;
	unsigned bits = 0;

	if (!manifest->mf.name)
		return ALL;
	struct rest rest = {.text = {manifest->mf.text, manifest->mf.length}};
	while (next_line(&rest, &line) > 0)
		if (is_for(manifest, &line, name))
			bits |= 1u << line.algorithm;
	return bits;
}

static int
begin(struct digests *digests, unsigned algorithms, struct image_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ALGORITHMS; i++)
		if (algorithms >> i & 1)
			rc = image_hash_create(&digests->list[i].hash,
				image_algorithm_by_name(
					names[i], strlen(names[i])),
				err);
	return rc;
}

static int
add(struct digests *digests, const void *bytes, size_t length,
	struct image_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ALGORITHMS; i++)
		if (digests->list[i].hash)
			rc = image_hash_add(
				digests->list[i].hash, bytes, length, err);
	return rc;
}

static int
end(struct digests *digests, struct image_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ALGORITHMS; i++)
		if (digests->list[i].hash)
			rc = image_hash_end(digests->list[i].hash,
				digests->list[i].bytes, err);
	return rc;
}

static void
destroy(struct digests *digests)
{
	for (size_t i = 0; i < ALGORITHMS; i++)
		image_hash_destroy(digests->list[i].hash);
}

struct verified {
	struct image_tap tap;
	/* of the member */
	const char *name;
	const struct manifest *manifest;
	/* the disk, or its parts, of which one is read */
	const struct archive_part *parts;
	size_t count;
	size_t at;
	/* bytes of the part that are to come; without an end if it is alone */
	uint64_t left;
	const char *disk;
	struct digests digests;
	/* SHA-1 alone does not do */
	bool strict;
	bool ended;
};

static int
refuse(int rc, struct image_error *err)
{
	err->refused = true;
	return rc;
}

/* Bytes of lines that are read for all parts of a disk: some 30 s. */
#define MAX_LINES ((uint64_t)32 << 30)

static int
check_line(const struct verified *v, const struct line *line,
	const struct digests *digests, struct image_error *err)
{
	if (memcmp(digests->list[line->algorithm].bytes, line->sum.expect.bytes,
		    line->sum.expect.algorithm->length) == 0)
		return 0;
	int rc = image_fail(err, v->name, -EINVAL,
		"the file is refused: the %s of '%.*s' is not that of the "
		"manifest '%.200s'",
		names[line->algorithm],
		(int)(line->sum.length < 200 ? line->sum.length : 200),
		line->sum.name, v->manifest->mf.name);
	return refuse(rc, err);
}

static int
check_lines(const struct verified *v, const struct digests *ovf,
	struct image_error *err)
{
	const struct manifest_file *mf = &v->manifest->mf;
	struct rest rest = {.text = {mf->text, mf->length}};
	struct line line;
	bool named = false, proven = !v->strict;
	int rc = 0, more;

	while (rc == 0 && (more = next_line(&rest, &line)) != 0) {
		if (more < 0)
			return image_damaged(err, v->name, -EINVAL,
				"its manifest '%.200s' has no digest of a file "
				"on line %u",
				v->manifest->mf.name, rest.number);
		if (is_for(v->manifest, &line, v->disk)) {
			named = true;
			proven |= image_algorithm_is_safe(
				line.sum.expect.algorithm);
			rc = check_line(v, &line, &v->digests, err);
		} else if (v->at == 0 &&
			   is_for(v->manifest, &line, v->manifest->ovf.name)) {
			rc = check_line(v, &line, ovf, err);
		}
	}
	if (rc < 0 || (named && proven))
		return rc;
	rc = image_fail(err, v->name, -EINVAL,
		"the file is refused: the manifest '%.200s' has no digest of "
		"'%.200s'%s",
		v->manifest->mf.name, v->disk,
		named ? " but SHA-1, which proves nothing; --expect-file does"
		      : "");
	return refuse(rc, err);
}

static int
check_fault(const struct manifest *manifest, struct image_error *err)
{
	if (is_there(manifest) && manifest->rc < 0) {
		*err = manifest->why;
		return manifest->rc;
	}
	return 0;
}

static int
verify(struct verified *v, struct image_error *err)
{
	const struct manifest_file *ovf = &v->manifest->ovf;
	struct digests digests = {0};

	if (!is_there(v->manifest))
		return 0;
	int rc = check_fault(v->manifest, err);
	if (rc == 0)
		rc = end(&v->digests, err);
	if (rc == 0)
		rc = begin(&digests, v->at == 0 ? ALL : 0, err);
	if (rc == 0)
		rc = add(&digests, ovf->text, ovf->length, err);
	if (rc == 0)
		rc = end(&digests, err);
	if (rc == 0)
		rc = check_lines(v, &digests, err);
	destroy(&digests);
	return rc;
}

static int
begin_part(struct verified *v, struct image_error *err)
{
	const struct archive_part *part = &v->parts[v->at];

	v->disk = part->name;
	v->left = v->count == 1 ? UINT64_MAX : part->size;
	destroy(&v->digests);
	v->digests = (struct digests){0};
	return begin(&v->digests, needed(v->manifest, v->disk), err);
}

/* Verify the parts that have ended, an empty one, too. */
static int
end_parts(struct verified *v, bool last, struct image_error *err)
{
	int rc = 0;

	while (rc == 0 && !v->ended && (v->left == 0 || last)) {
		rc = verify(v, err);
		v->ended = ++v->at == v->count;
		if (rc == 0 && !v->ended)
			rc = begin_part(v, err);
	}
	return rc;
}

static int
manifest_see(struct image_tap *tap, const void *bytes, size_t length,
	struct image_error *err)
{
	struct verified *v = (struct verified *)tap;
	const unsigned char *at = bytes;
	int rc = length ? 0 : end_parts(v, true, err);

	while (rc == 0 && length) {
		rc = end_parts(v, false, err);
		size_t n = !v->ended && length > v->left ? (size_t)v->left
							 : length;
		if (rc == 0)
			rc = add(&v->digests, at, n, err);
		v->left -= n;
		at += n;
		length -= n;
	}
	return rc;
}

static void
manifest_close(struct image_tap *tap)
{
	struct verified *v = (struct verified *)tap;

	destroy(&v->digests);
	free(v);
}

int
manifest_tap(const char *name, const struct manifest *manifest,
	const struct archive_part *parts, size_t count, bool strict,
	struct image_tap **out, struct image_error *err)
{
	struct verified *v = calloc(1, sizeof(*v));

	*out = NULL;
	if (!v)
		return image_no_memory(err);
	v->tap.see = manifest_see;
	v->tap.close = manifest_close;
	v->name = name;
	v->parts = parts;
	v->count = count;
	v->manifest = manifest;
	v->strict = strict;
	int rc = check_fault(manifest, err);
	if (rc == 0 && count * (uint64_t)manifest->mf.length > MAX_LINES)
		rc = image_fail(err, name, -E2BIG,
			"has %zu parts, too many for a manifest of %zu bytes",
			count, manifest->mf.length);
	if (rc == 0)
		rc = begin_part(v, err);
	if (rc < 0) {
		manifest_close(&v->tap);
		return rc;
	}
	*out = &v->tap;
	return 0;
}
