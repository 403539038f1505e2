/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes into a destination that exists: a block device, an export, or with -n
 * a regular file. It has no other name to appear under, so that it is guarded
 * in another way: its first and last MiB are written last.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "convert/convert.h"

static int
refuse_absent(const struct job *job, const struct image_path *path)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "/proc/self/fd/%d", path->directory);
	return cli_fail(job->name, "does not exist%s",
		output_is_of_devices(folder)
			? ""
			: "; without -n, hone makes the file");
}

/*
 * Returns CLI_FAILED after a message if DST is a file or device of SRC. For a
 * new file, output/ has the message.
 */
static int
refuse_source(const struct job *job)
{
	struct image_path path;
	struct image_error err;

	if (convert_to_stdout(job))
		return 0;
	if (image_is_address(job->cli->addresses[1]))
		return image_address_is_same(
			       job->cli->addresses[1], job->cli->addresses[0])
			       ? cli_fail(job->name, "is the source itself")
			       : 0;
	if (image_path_find(job->name, &path, &err) < 0)
		return 0;
	bool absent =
		job->write.in_place && path.fd < 0 && path.code == -ENOENT;
	bool same = path.fd >= 0 &&
		    (S_ISBLK(path.st.st_mode) || job->write.in_place) &&
		    image_source_uses(job->src, path.fd);
	int rc = absent ? refuse_absent(job, &path) : 0;
	image_path_close(&path);
	if (rc != 0)
		return rc;
	return same ? cli_fail(job->name, "is the source, or a file of it") : 0;
}

int
in_place_open(struct job *job)
{
	struct image_error err;

	job->write.allow_disguised = job->cli->option[OPTION_ALLOW_DISGUISED] ||
				     job_packs(job) ||
				     !image_format_begins_as_disk(job->format);
	job->write.network = job->open.network;
	int rc = refuse_source(job);
	if (rc == 0 && image_target_open(job->cli->addresses[1], &job->write,
			       &job->store, &err) < 0)
		rc = cli_image_fail(job->name, &err);
	if (rc == 0 && convert_to_stdout(job)) {
		/* Only the image is written to stdout, whose reader may end
		 * early. */
		signal(SIGPIPE, SIG_IGN);
		fflush(stdout);
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	return rc;
}

static int
in_place_reopen(
	struct job *job, struct image_source **back, struct image_error *err)
{
	/* Its own locks do not count. */
	struct image_open how = {.format = job->format,
		.packing = IMAGE_PACKING_NONE,
		.direct = job->write.direct,
		.drop_cache = true,
		.force_share = true,
		.network = job->open.network};

	return image_open(job->cli->addresses[1], &how, back, err);
}

/*
 * No comparison of names shows that a device and an export of it, or two names
 * of a host, are one disk. Such a disk is written over with its own bytes, and
 * keeps them.
 */
static bool
may_be_source(const struct job *job)
{
	const struct image_format *raw = image_format_by_name("raw");

	return (job->src->served || image_is_address(job->cli->addresses[1])) &&
	       job->src->format == raw && job->format == raw;
}

/*
 * The ends of DST are written last. They have zeros until then: the copy may
 * fail at any byte, and DST then has neither a new partition table in front of
 * old data nor an old one in front of new data.
 */
static bool
is_cleared_first(const struct job *job)
{
	return job->expect.algorithm || job->open.expect || job->src->forward ||
	       !may_be_source(job);
}

static int
in_place_begin(struct job *job, struct image_error *err)
{
	if (!convert_to_stdout(job)) {
		int rc = image_target_hold(&job->store, job->create.size, err);
		if (rc < 0) {
			image_store_close(job->store);
			return rc;
		}
	}
	return image_create_on(
		job->store, job->format, &job->create, &job->dst, err);
}

/* After a failure of convert_fill(). */
static const char *
state_of_failed_copy(const struct job *job, bool is_whole)
{
	if (!is_cleared_first(job))
		return "; DST is incomplete now";
	return is_whole ? "; DST has that content now, but zeros in its first "
			  "and last MiB"
			: "; DST is incomplete now, with zeros in its first "
			  "and last MiB";
}

/*
 * Write DST, its ends last. A failure at the ends leaves open which bytes are
 * on the disk.
 */
static int
in_place_fill(struct job *job, struct image_error *err)
{
	bool held = !convert_to_stdout(job);
	int rc = 0;

	job->state = "; DST may be incomplete now";
	if (held && is_cleared_first(job))
		rc = image_target_clear(job->store, err);
	if (rc < 0)
		return rc;
	rc = convert_fill(job, err);
	if (rc < 0) {
		job->state = state_of_failed_copy(job, err->refused);
		image_source_settle(job->src, err);
		return rc;
	}
	if (held)
		rc = image_target_release(job->store, err);
	if (rc == 0)
		rc = image_flush(job->dst, err);
	if (rc < 0)
		return rc;
	job->state = "; DST was written to its end";
	/* Only the report has the usage. To find it, a server is asked about
	 * all of DST, which may have EiB. */
	const struct cli *cli = job->cli;

	if (cli->option[OPTION_QUIET] && !cli->option[OPTION_JSON])
		return 0;
	return image_store_usage(job->store, &job->output.usage, err);
}

/*
 * Append what DST has now to the message of a failure, at the expense of its
 * end if it is too long.
 */
static void
in_place_abandon(struct job *job, struct image_error *err)
{
	size_t most = sizeof(err->text) - strlen(job->state) - 1;
	size_t length = strnlen(err->text, most);

	if (!convert_to_stdout(job))
		memcpy(err->text + length, job->state, strlen(job->state) + 1);
}

const struct target target_in_place = {
	.begin = in_place_begin,
	.fill = in_place_fill,
	.reopen = in_place_reopen,
	.abandon = in_place_abandon,
};
