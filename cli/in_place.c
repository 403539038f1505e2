/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes into a destination that exists: a block device, an export, or with -n
 * a regular file. It has no other name to appear under, so that it is guarded
 * in another way: its first and last MiB are written last.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "convert.h"

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
	bool same = path.fd >= 0 &&
		    (S_ISBLK(path.st.st_mode) || job->write.in_place) &&
		    image_source_uses(job->src, path.fd);
	image_path_close(&path);
	return same ? cli_fail(job->name, "is the source, or a file of it") : 0;
}

/* The image has stdout for itself. Its reader may end early. */
static void
report_to_stderr(void)
{
	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

int
in_place_open(struct job *job, struct image_store **target)
{
	struct image_error err;

	*target = NULL;
	job->write.allow_disguised = job->cli->option[OPTION_ALLOW_DISGUISED] ||
				     !image_format_begins_as_disk(job->format);
	job->write.network = job->open.network;
	int rc = refuse_source(job);
	if (rc == 0 && image_target_open(job->cli->addresses[1], &job->write,
			       target, &err) < 0)
		rc = cli_image_fail(job->name, &err);
	if (rc == 0 && convert_to_stdout(job))
		report_to_stderr();
	return rc;
}

/* Read DST again and compare it with the source. */
static int
verify(struct job *job, struct image_error *err)
{
	/* Its own locks do not count. */
	struct image_open how = {.format = job->format,
		.packing = IMAGE_PACKING_NONE,
		.direct = job->write.direct,
		.drop_cache = true,
		.force_share = true,
		.network = job->open.network};
	struct image_source *back;

	int rc = image_open(job->cli->addresses[1], &how, &back, err);
	if (rc == 0) {
		rc = convert_compare(job, back, err);
		image_close(back);
	}
	/* It is the target that failed: the content of SRC is not refused. */
	err->damaged = false;
	return rc;
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

	return (image_source_is_served(job->src) ||
		       image_is_address(job->cli->addresses[1])) &&
	       image_source_format(job->src) == raw && job->format == raw;
}

/*
 * The ends of DST are written last. They have zeros until then: the copy may
 * fail at any byte, and DST then has neither a new partition table in front of
 * old data nor an old one in front of new data.
 */
static bool
is_cleared_first(const struct job *job)
{
	return job->expect.algorithm || job->open.expect ||
	       image_source_is_forward(job->src) || !may_be_source(job);
}

/* Write DST, but for the ends that are held. */
static int
fill(struct job *job, struct image_error *err)
{
	int rc = image_copy(job->src, job->dst, &job->run, &job->copied, err);

	if (rc == 0)
		rc = expect_verify(job, err);
	job->size = image_sink_size(job->dst);
	progress_phase(&job->progress, "flush", job->name, job->size);
	if (rc == 0)
		rc = image_finish(job->dst, err);
	if (rc == 0)
		rc = convert_refuse_written(job, err);
	return rc;
}

/*
 * Append what DST has now to the message of a failure, at the expense of its
 * end if it is too long.
 */
static void
add_state(const struct job *job, const char *state, struct image_error *err)
{
	size_t most = sizeof(err->text) - strlen(state) - 1;
	size_t length = strnlen(err->text, most);

	if (!convert_to_stdout(job))
		memcpy(err->text + length, state, strlen(state) + 1);
}

/* After a failure of fill(). */
static void
fail_filled(struct job *job, struct image_error *err)
{
	bool is_whole = err->refused;

	image_source_settle(job->src, err);
	if (!is_cleared_first(job))
		add_state(job, "; DST is incomplete now", err);
	else if (is_whole)
		add_state(job,
			"; DST has that content now, but zeros in its first "
			"and last MiB",
			err);
	else
		add_state(job,
			"; DST is incomplete now, with zeros in its first and "
			"last MiB",
			err);
}

/*
 * Write DST, its ends last. After a failure, the message says what DST has. A
 * failure at the ends leaves open which bytes are on the disk.
 */
static int
fill_held(struct job *job, struct image_store *held, struct image_error *err)
{
	int rc = held && is_cleared_first(job) ? image_target_clear(held, err)
					       : 0;
	if (rc == 0) {
		rc = fill(job, err);
		if (rc < 0) {
			fail_filled(job, err);
			return rc;
		}
		if (held)
			rc = image_target_release(held, err);
		if (rc == 0)
			rc = image_flush(job->dst, err);
	}
	if (rc < 0)
		add_state(job, "; DST may be incomplete now", err);
	return rc;
}

/* Only the report has the usage. A server is asked about all of DST for that,
 * which may have EiB. */
static int
find_usage(struct job *job, struct image_store *target, struct image_error *err)
{
	const struct cli *cli = job->cli;

	if (cli->option[OPTION_QUIET] && !cli->option[OPTION_JSON])
		return 0;
	return image_target_usage(target, &job->output.usage, err);
}

static int
write_target(
	struct job *job, struct image_store *target, struct image_error *err)
{
	struct image_store *held = NULL;

	if (!convert_to_stdout(job)) {
		int rc = image_target_hold(&target, job->create.size, err);
		if (rc < 0) {
			image_store_close(target);
			return rc;
		}
		held = target;
	}
	int rc = image_create_on(
		target, job->format, &job->create, &job->dst, err);
	if (rc < 0)
		return rc;
	rc = fill_held(job, held, err);
	job->size = image_sink_size(job->dst);
	bool is_filled = rc == 0;
	if (is_filled)
		rc = find_usage(job, target, err);
	/* A server may serve one client at a time. */
	image_sink_close(job->dst);
	if (rc == 0 && job->cli->option[OPTION_VERIFY])
		rc = verify(job, err);
	if (rc < 0 && is_filled)
		add_state(job, "; DST was written to its end", err);
	return rc;
}

int
in_place_write(struct job *job, struct image_store *target)
{
	struct image_error err;

	if (write_target(job, target, &err) == 0)
		return 0;
	progress_clear(&job->progress);
	return cli_image_fail(job->name, &err);
}
