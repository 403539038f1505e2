/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what an index or a manifest of OCI or of Docker has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/oci/json.h"
#include "store/oci/oci.h"
#include "unpack/unpack.h"

#define WORD 64

struct reader {
	const char *name;
	const struct oci_wanted *wanted;
	struct oci_manifest *manifest;
	struct image_error *err;
};

static bool
is_index(const char *type)
{
	return strcmp(type, "application/vnd.oci.image.index.v1+json") == 0 ||
	       strcmp(type, "application/vnd.docker.distribution.manifest."
			    "list.v2+json") == 0;
}

static bool
ends(const char *text, const char *end)
{
	return image_name_ends_with(text, strlen(text), end);
}

static int
parse_file(const struct reader *r, struct image_json item, struct oci_file *f)
{
	struct image_json size;

	if (!image_json_member(item, "digest", f->digest, sizeof(f->digest)) ||
		!oci_digest_parse(f->digest, &f->expect))
		return image_fail(r->err, r->name, -EINVAL,
			"its %s has no digest that is sha256: or sha512: with "
			"its digits",
			f->name);
	if (image_json_get(item, "size", &size) != 1 ||
		!image_json_number(size, &f->size) ||
		f->size >= IMAGE_SIZE_UNKNOWN)
		return image_fail(r->err, r->name, -EINVAL,
			"its %s has no valid size", f->name);
	return 0;
}

const char *
oci_docker_name(const char *architecture)
{
	if (strcmp(architecture, "x86_64") == 0)
		return "amd64";
	return strcmp(architecture, "aarch64") == 0 ? "arm64" : architecture;
}

const char *
oci_this_platform(void)
{
#if defined(__x86_64__)
	return "linux/amd64";
#elif defined(__aarch64__)
	return "linux/arm64";
#elif defined(__riscv)
	return "linux/riscv64";
#elif defined(__s390x__)
	return "linux/s390x";
#elif defined(__powerpc64__)
	return "linux/ppc64le";
#elif defined(__arm__)
	return "linux/arm";
#else
	return "linux/386";
#endif
}

/* Attestations have the platform unknown. */
static bool
platform_of(struct image_json entry, char *has, size_t size)
{
	char os[WORD], architecture[WORD], variant[WORD];
	struct image_json platform;

	if (image_json_get(entry, "platform", &platform) != 1 ||
		!image_json_member(platform, "os", os, WORD) ||
		!image_json_member(
			platform, "architecture", architecture, WORD) ||
		strcmp(os, "unknown") == 0)
		return false;
	const char *name = oci_docker_name(architecture);
	if (!image_json_member(platform, "variant", variant, WORD) &&
		strcmp(name, "arm64") == 0)
		snprintf(variant, WORD, "v8");
	snprintf(has, size, "%s/%s%s%s", os, name, variant[0] ? "/" : "",
		variant);
	return true;
}

/* A platform that is wanted may have no variant. */
static bool
is_platform(const char *has, const char *wanted)
{
	char os[WORD], architecture[WORD], full[IMAGE_PLATFORM_TEXT];
	int end = 0;

	if (sscanf(wanted, "%63[^/]/%63[^/]%n", os, architecture, &end) != 2)
		return false;
	int length = snprintf(full, sizeof(full), "%s/%s%s", os,
		oci_docker_name(architecture), wanted + end);
	return length < (int)sizeof(full) &&
	       strncmp(has, full, (size_t)length) == 0 &&
	       (!has[length] || (has[length] == '/' && !wanted[end]));
}

static int
choose_manifest(const struct reader *r, struct image_json list)
{
	const struct oci_wanted *w = r->wanted;
	const char *platform = w->platform ? w->platform : oci_this_platform();
	char type[OCI_TEXT], has[IMAGE_PLATFORM_TEXT], found[200] = "";
	int length = w->annotation ? (int)strcspn(w->annotation, "=") : 0;
	struct image_json entry, annotations;
	char key[OCI_TEXT];
	unsigned count = 0;
	bool nested = false;

	while (image_json_next(&list, &entry)) {
		if (++count > OCI_LAYERS)
			return image_fail(r->err, r->name, -E2BIG,
				"is an index of more than %d manifests",
				OCI_LAYERS);
		image_json_member(entry, "mediaType", type, sizeof(type));
		nested |= is_index(type);
		if (is_index(type) || !platform_of(entry, has, sizeof(has)))
			continue;
		size_t used = strlen(found), n = strlen(has) + 1;
		if (used + n + 2 < sizeof(found))
			memcpy(used ? stpcpy(found + used, ", ") : found, has,
				n);
		if (!is_platform(has, platform))
			continue;
		if (w->annotation &&
			(snprintf(key, sizeof(key), "%.*s", length,
				 w->annotation) != length ||
				!w->annotation[length] ||
				image_json_get(entry, "annotations",
					&annotations) != 1 ||
				!image_json_member(
					annotations, key, type, sizeof(type)) ||
				strcmp(type, w->annotation + length + 1) != 0))
			continue;
		r->manifest->count = 1;
		snprintf(r->manifest->platform, sizeof(r->manifest->platform),
			"%s", has);
		snprintf(r->manifest->files->name, OCI_TEXT, "manifest");
		return parse_file(r, entry, r->manifest->files);
	}
	return image_fail(r->err, r->name, -ENOENT,
		"is an index without a manifest for the platform %s%s%s%s%s%s",
		platform, w->annotation ? " and the annotation " : "",
		w->annotation ? w->annotation : "", found[0] ? "; it has " : "",
		found, nested ? "; an index in an index is not read" : "");
}

/* Layers that are not distributed have other types. */
static const char *
archive_suffix(const char *type)
{
	static const struct {
		const char *type, *suffix;
	} rows[] = {
		{"application/vnd.oci.image.layer.v1.tar", ".tar"},
		{"application/vnd.oci.image.layer.v1.tar+gzip", ".tar.gz"},
		{"application/vnd.oci.image.layer.v1.tar+zstd", ".tar.zst"},
		{"application/vnd.docker.image.rootfs.diff.tar", ".tar"},
		{"application/vnd.docker.image.rootfs.diff.tar.gzip",
			".tar.gz"},
		{"application/vnd.docker.image.rootfs.diff.tar.zstd",
			".tar.zst"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(type, rows[i].type) == 0)
			return rows[i].suffix;
	return NULL;
}

/* Set the name of a layer whose type may be that of a disk:
 * application/vnd.kubevirt.disk.raw+zstd. Returns false for another type. */
static bool
name_disk(struct oci_file *f, char *type, const char *title, unsigned number)
{
	const char *packing = ends(type, "+zstd")   ? ".zst"
			      : ends(type, "+gzip") ? ".gz"
						    : "";

	if (packing[0])
		*strrchr(type, '+') = '\0';
	if (image_unpack_is_image(title)) {
		/* The title has the suffix, or the name of what is packed. */
		if (packing[0] && ends(title, packing))
			packing = "";
		return snprintf(f->name, sizeof(f->name), "%s%s", title,
			       packing) < (int)sizeof(f->name);
	}
	const char *suffix = ends(type, "raw")     ? ".raw"
			     : ends(type, "qcow2") ? ".qcow2"
						   : NULL;
	if (suffix)
		snprintf(f->name, sizeof(f->name), "layer-%u%s%s", number,
			suffix, packing);
	return suffix;
}

static enum image_layer
classify(const struct reader *r, struct image_json item, struct oci_file *f,
	unsigned number)
{
	struct image_json annotations, urls, url;
	char type[OCI_TEXT], title[OCI_TEXT] = "";

	image_json_member(item, "mediaType", type, sizeof(type));
	if (image_json_get(item, "annotations", &annotations) == 1)
		image_json_member(annotations, "org.opencontainers.image.title",
			title, sizeof(title));
	/* The layer is on other servers. */
	if (image_json_get(item, "urls", &urls) && image_json_next(&urls, &url))
		return IMAGE_LAYER_NONE;
	const char *suffix = archive_suffix(type);
	/* ORAS gives each file the type of an archive. */
	if (suffix && !image_unpack_is_image(title)) {
		snprintf(
			f->name, sizeof(f->name), "layer-%u%s", number, suffix);
		return IMAGE_LAYER_ARCHIVE;
	}
	if (!name_disk(f, type, title, number))
		return IMAGE_LAYER_NONE;
	return r->wanted->member && strcmp(r->wanted->member, title) != 0
		       ? IMAGE_LAYER_NONE
		       : IMAGE_LAYER_DISK;
}

/* A layer that is a disk is the image. Without one, it is in an archive: the
 * top layer becomes the first. */
static int
order(const struct reader *r)
{
	struct oci_manifest *m = r->manifest;
	struct oci_file *disk = NULL, file;

	for (size_t i = 0; i < m->count; i++) {
		if (m->files[i].layer != IMAGE_LAYER_DISK)
			continue;
		if (disk)
			return image_fail(r->err, r->name, -EINVAL,
				"has two images, '%.150s' and '%.150s'; "
				"--member NAME chooses one",
				disk->name, m->files[i].name);
		disk = &m->files[i];
	}
	if (disk) {
		file = *disk;
		m->files[0] = file;
		m->count = 1;
	}
	for (size_t i = 0; i < m->count / 2; i++) {
		file = m->files[i];
		m->files[i] = m->files[m->count - 1 - i];
		m->files[m->count - 1 - i] = file;
	}
	return 0;
}

static int
list_layers(const struct reader *r, struct image_json list)
{
	struct oci_manifest *m = r->manifest;
	struct image_json item;
	unsigned number = 0;
	int rc = 0;

	while (rc == 0 && image_json_next(&list, &item)) {
		struct oci_file *f = &m->files[m->count];
		if (number == OCI_LAYERS)
			return image_fail(r->err, r->name, -E2BIG,
				"has more than %d layers", OCI_LAYERS);
		f->layer = classify(r, item, f, ++number);
		if (f->layer == IMAGE_LAYER_NONE)
			continue;
		rc = parse_file(r, item, f);
		m->count++;
	}
	if (rc == 0 && m->count == 0)
		return image_fail(r->err, r->name, -ENOENT,
			"has %u %s, and none is a disk or an archive of a "
			"container",
			number, image_plural(number, "layer", "layers"));
	return rc < 0 ? rc : order(r);
}

/* Programs may read what has both as the one or as the other. */
static int
parse_root(const struct reader *r, struct image_json root)
{
	struct image_json version, layers, manifests;
	char type[OCI_TEXT];
	uint64_t number = 0;

	if (image_json_get(root, "schemaVersion", &version) == 1)
		image_json_number(version, &number);
	if (number != 2)
		return image_fail(r->err, r->name, -ENOTSUP,
			"its manifest has no schemaVersion 2");
	unsigned n_layers = image_json_get(root, "layers", &layers);
	unsigned n_manifests = image_json_get(root, "manifests", &manifests);
	if (n_layers + n_manifests != 1)
		return image_fail(r->err, r->name, -EINVAL,
			"its manifest has %s of layers and manifests",
			n_layers + n_manifests ? "more than one list"
					       : "no list");
	r->manifest->index = n_manifests;
	if (image_json_member(root, "mediaType", type, sizeof(type)) &&
		is_index(type) != r->manifest->index)
		return image_fail(r->err, r->name, -EINVAL,
			"its manifest has another content than its mediaType "
			"'%.100s'",
			type);
	return n_manifests ? choose_manifest(r, manifests)
			   : list_layers(r, layers);
}

int
oci_manifest_parse(const char *text, size_t length, const char *name,
	const struct oci_wanted *wanted, struct oci_manifest *manifest,
	struct image_error *err)
{
	const struct reader reader = {name, wanted, manifest, err};
	struct image_json root;

	/* Most of it is never touched. */
	*manifest = (struct oci_manifest){
		.files = calloc(OCI_LAYERS, sizeof(struct oci_file))};
	if (!manifest->files)
		return image_no_memory(err);
	if (!image_json_parse(text, length, &root))
		return image_fail(
			err, name, -EINVAL, "its manifest is not valid JSON");
	return parse_root(&reader, root);
}

void
oci_manifest_free(struct oci_manifest *manifest)
{
	free(manifest->files);
	*manifest = (struct oci_manifest){.files = NULL};
}
