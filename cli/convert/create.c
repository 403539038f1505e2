/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the new image: -O, --pack, -o, -c and related ones. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "convert/convert.h"

/* A KEY=VALUE of -o. */
static int
set_choice(
	const struct cli *cli, const char *key, const char *text, void *opaque)
{
	struct job *job = opaque;
	const struct image_option *option;
	struct image_error err;
	uint64_t value;

	/* cli_open() has the options of SRC. */
	if (cli_option_named(image_open_options(), key))
		return 0;
	int rc = cli_find_choice(cli, job->format, key, &option);
	if (rc == 0)
		rc = cli_parse_choice(cli, option, text, &value);
	if (rc == 0 && job->format->set(&job->create, option, value, &err) < 0)
		rc = cli_usage(cli, "-o %s=%s: %s", key, text, err.text);
	return rc;
}

/* The codec and its window determine the range of levels. */
static int
parse_level(struct job *job, const char *level)
{
	struct image_create *create = &job->create;
	int most = image_create_levels(create);
	bool zstd = create->codec == IMAGE_CODEC_ZSTD ||
		    create->packing == IMAGE_PACKING_ZSTD;
	bool limited = create->fast || create->small_window;

	if (cli_parse_int(level, &create->level) && create->level >= 1 &&
		create->level <= most)
		return 0;
	return cli_usage(job->cli, "--level: '%s': %s%s has 1 to %d%s", level,
		zstd ? "zstd" : "zlib",
		create->fast           ? " with --fast"
		: create->small_window ? " with --window 12"
				       : "",
		most,
		!zstd && !limited &&
				cli_option_named(
					image_format_options(job->format),
					"compression_type")
			? "; zstd (-o compression_type=zstd) has 1 to 19"
			: "");
}

/* Parts of one stream are joined, and only libdeflate makes such parts. */
static int
refuse_for_archive(const struct job *job)
{
	const struct cli *cli = job->cli;
	bool fast = cli->option[OPTION_FAST];
	const char *what = job_packs(job) ? "a packed disk" : job->format->name;

	if (cli->option[OPTION_COMPRESS])
		return cli_usage(
			cli, "-c: %s is always compressed; leave -c out", what);
	if (fast || cli->option[OPTION_WINDOW])
		return cli_usage(cli,
			"--%s: %s is always compressed by %s; --level chooses "
			"speed or size",
			fast ? "fast" : "window", what,
			job->create.packing == IMAGE_PACKING_ZSTD
				? "libzstd"
				: "libdeflate with a window of 32 KiB");
	return 0;
}

static int
parse_compression(struct job *job)
{
	const struct cli *cli = job->cli;
	struct image_create *create = &job->create;
	const char *level = cli->option[OPTION_LEVEL];
	const char *window = cli->option[OPTION_WINDOW];

	bool archive = job_packs(job) || image_format_is_archive(job->format);
	int rc = archive ? refuse_for_archive(job) : 0;
	if (rc != 0)
		return rc;
	create->compress =
		cli->option[OPTION_COMPRESS] || job->format->always_compresses;
	create->fast = cli->option[OPTION_FAST];
	if (create->compress && !job->format->compresses)
		return cli_usage(cli,
			"-c: %s cannot be compressed; -O qcow2 can, and --pack "
			"zst packs a raw DST",
			job->format->name);
	if ((level || window || create->fast) && !create->compress && !archive)
		return cli_usage(cli,
			job->format->compresses
				? "--%s has no effect without -c"
				: "--%s: %s cannot be compressed",
			level    ? "level"
			: window ? "window"
				 : "fast",
			job->format->name);
	if ((window || create->fast) && create->codec != IMAGE_CODEC_ZLIB)
		return cli_usage(cli,
			"--%s needs compression_type=zlib, but it is zstd",
			window ? "window" : "fast");
	create->small_window = window && strcmp(window, "12") == 0;
	if (window && !create->small_window && strcmp(window, "15") != 0)
		return cli_usage(
			cli, "--window: '%s' is neither 12 nor 15", window);
	return level ? parse_level(job, level) : 0;
}

/* Returns whether the name ends with one of these, which end with NULL. */
static bool
ends_with_one(const char *name, const char *const ends[])
{
	size_t length = strlen(name);

	for (size_t i = 0; ends[i]; i++) {
		size_t n = strlen(ends[i]);
		if (length > n && strcasecmp(name + length - n, ends[i]) == 0)
			return true;
	}
	return false;
}

/* The names of archives that -O gce writes. */
static const char *const gce_ends[] = {".tar.gz", ".tgz", NULL};

/* Packings and archives that hone knows by nothing else. The ends of a host's
 * name are not among them: a disk may have its name. */
static const char *const packed_ends[] = {
	".lz4", ".lzma", ".lzo", ".lz", ".7z", ".rar", ".wim", ".ovf", NULL};

/* Returns whether DST is an export or a device: none is packed by its name. */
static bool
has_fixed_size(const struct job *job)
{
	const char *path = job->cli->addresses[1];
	struct stat st;

	return image_is_address(path) ||
	       (stat(path, &st) == 0 && S_ISBLK(st.st_mode));
}

/*
 * Set *packing to what the suffix of DST says, and return the format that the
 * name has without the suffix. NULL if a suffix means neither.
 */
static const struct image_format *
format_of_name(const struct job *job, enum image_packing *packing)
{
	size_t length;
	const struct image_format *format;

	if (job->layout.path) {
		*packing = job->layout.how.container ? IMAGE_PACKING_GZIP
						     : IMAGE_PACKING_ZSTD;
		return image_format_by_name("raw");
	}
	*packing = image_packing_by_suffix(job->name, &length);
	if (!image_packing_writable(*packing) || has_fixed_size(job))
		*packing = IMAGE_PACKING_NONE;
	if (ends_with_one(job->name, packed_ends) && !has_fixed_size(job))
		return NULL;
	if (*packing == IMAGE_PACKING_NONE)
		return image_format_by_suffix(job->name);
	char *name = strndup(job->name, length);
	format = name ? image_format_by_suffix(name) : NULL;
	free(name);
	return format;
}

/* Set the format by -O or by the name, and *packing by the name. */
static int
parse_format(struct job *job, enum image_packing *packing)
{
	const struct image_format *raw = image_format_by_name("raw");
	const struct image_format *named = format_of_name(job, packing);

	int rc = cli_format(job->cli, OPTION_OUTPUT_FORMAT, &job->format);
	if (rc != 0)
		return rc;
	if (job->layout.path && job->format && job->format != raw)
		return cli_usage(job->cli,
			"-O: the disk of an OCI layout is raw; -f raw "
			"--allow-disguised adds an image as it is");
	/* With -O, "disk.tar.gz" and "disk.qcow2.gz" are names only. */
	if (job->format && (job->format != raw || named != raw))
		*packing = IMAGE_PACKING_NONE;
	if (job->format)
		return 0;
	job->format = named;
	if (named && *packing > IMAGE_PACKING_NONE && named != raw)
		return cli_fail(job->name,
			"a %s image is not packed: leave '%s' out%s",
			named->name, strrchr(job->name, '.'),
			named->compresses ? " and add -c" : "");
	if (named)
		return 0;
	char list[CLI_FORMATS];
	if (ends_with_one(job->name, gce_ends))
		return cli_fail(job->name,
			"the name does not say which format; add one of: %s "
			"(gce is the archive that Google imports)",
			cli_list_formats(list, "-O ", true));
	size_t length;
	enum image_packing by_name =
		image_packing_by_suffix(job->name, &length);
	bool writable = image_packing_writable(by_name);
	bool packs = by_name != IMAGE_PACKING_NONE && !writable;
	/* the one before a packing that is written */
	const char *suffix =
		memrchr(job->name, '.', writable ? length : strlen(job->name));
	if (!suffix || strchr(suffix, '/'))
		suffix = strrchr(job->name, '.');
	return cli_fail(job->name,
		"suffix '%s' means a %s that hone cannot write; %s one of: %s",
		suffix, packs ? "packing" : "format",
		packs ? "a name with '.zst' or '.gz' is packed; or add" : "add",
		cli_list_formats(list, "-O ", true));
}

/* Set create.packing by --pack, or by the name. */
static int
parse_packing(struct job *job, enum image_packing named)
{
	const char *text = job->cli->option[OPTION_PACK];

	job->create.packing = named;
	if (!text)
		return 0;
	enum image_packing packing = image_packing_by_name(text);
	if (packing != IMAGE_PACKING_NONE && !image_packing_writable(packing))
		return cli_usage(
			job->cli, "--pack: '%s' is not zst, gz or none", text);
	job->create.packing = packing;
	if (job_packs(job) && job->format != image_format_by_name("raw"))
		return cli_usage(job->cli,
			"--pack: only a raw disk is packed, not %s",
			job->format->name);
	return 0;
}

/*
 * A qcow2 image has its own layout: Hone writes new ones, and does not change
 * the clusters of one that exists.
 */
static int
parse_in_place(const struct job *job)
{
	const char *format = job_packs(job) ? "packed" : job->format->name;
	bool raw = strcmp(format, "raw") == 0;

	if (job->cli->option[OPTION_NO_CREATE] && !raw)
		return cli_usage(job->cli,
			"-n: only a raw DST is written in place, not %s",
			format);
	if (job->cli->option[OPTION_KEEP_REST] && !raw)
		return cli_usage(job->cli,
			"--keep-rest: the end of a %s image is not known "
			"before it is written",
			format);
	return 0;
}

int
create_parse(struct job *job)
{
	enum image_packing packing;

	image_create_init(&job->create);
	job->create.layout = job->layout.path ? &job->layout.how : NULL;
	int rc = parse_format(job, &packing);
	if (rc == 0)
		rc = parse_packing(job, packing);
	if (rc == 0)
		rc = parse_in_place(job);
	if (rc == 0)
		rc = cli_each_choice(job->cli, OPTION_CREATE, set_choice, job);
	return rc ? rc : parse_compression(job);
}
