/* SPDX-License-Identifier: BSD-3-Clause */
/* DST is an OCI layout, by the names that skopeo has for it. */
#include <stdlib.h>
#include <string.h>
#include "convert/convert.h"

#define FOLDER "oci:"
#define ARCHIVE "oci-archive:"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Returns what is behind the prefix of DST, or NULL. */
static const char *
behind(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

/* Returns whether this is a tag by which a registry can have the image. */
static bool
is_tag(const char *tag)
{
	size_t length = strspn(tag, LETTERS "0123456789_.-");

	return length > 0 && length <= IMAGE_LAYOUT_TAG && !tag[length] &&
	       tag[0] != '.' && tag[0] != '-';
}

/* Set path and tag. */
static int
parse_name(struct job *job, const char *name)
{
	const char *shown = job->cli->operands[1];
	char *tag;

	job->layout.path = strdup(name);
	if (!job->layout.path)
		return cli_fail(NULL, "out of memory");
	tag = strchr(job->layout.path, ':');
	if (tag)
		*tag++ = '\0';
	for (size_t n = strlen(job->layout.path);
		n > 1 && job->layout.path[n - 1] == '/';)
		job->layout.path[--n] = '\0';
	if (!*job->layout.path)
		return cli_usage(job->cli, "'%s' names no %s", shown,
			job->layout.how.archive ? "file" : "folder");
	if (tag && !is_tag(tag))
		return cli_usage(job->cli,
			"'%s': '%s' is not a tag: at most %d letters, digits, "
			"'_', '.' and '-', and none of the last two first",
			shown, tag, IMAGE_LAYOUT_TAG);
	job->layout.how.tag = tag;
	return 0;
}

/* Set the type, and refuse what a layout cannot have. */
static int
parse_type(struct job *job, const char *type)
{
	const struct cli *cli = job->cli;

	job->layout.how.container = !type || strcmp(type, "containerdisk") == 0;
	if (!job->layout.how.container && strcmp(type, "artifact") != 0)
		return cli_usage(cli,
			"--oci-type: '%s' is not containerdisk or artifact",
			type);
	if (cli->option[OPTION_PACK])
		return cli_usage(cli,
			"--pack: the layer of a containerdisk is packed "
			"by gzip, and that of an artifact by zstd");
	if (cli->option[OPTION_FORCE] && !job->layout.how.archive)
		return cli_usage(cli, "--force: the folder of a layout is not "
				      "replaced; remove it first");
	if (cli->option[OPTION_VERIFY] && job->layout.how.archive)
		return cli_usage(cli, "--verify: the archive of a layout is "
				      "not read back; oci:DIR is");
	if (!image_digest_library())
		return cli_usage(cli, "an OCI layout has digests, and this "
				      "hone was built without OpenSSL");
	return 0;
}

int
layout_parse(struct job *job)
{
	const char *type = job->cli->option[OPTION_OCI_TYPE];
	const char *name = job->cli->addresses[1];
	const char *archive = behind(name, ARCHIVE);
	const char *folder = behind(name, FOLDER);

	if (!archive && (!folder || behind(folder, "//")))
		return type ? cli_usage(job->cli,
				      "--oci-type: DST is neither "
				      "oci:DIR nor oci-archive:FILE")
			    : 0;
	job->layout.how.archive = archive;
	job->layout.how.platform = job->cli->option[OPTION_PLATFORM];
	int rc = parse_name(job, archive ? archive : folder);
	return rc ? rc : parse_type(job, type);
}
