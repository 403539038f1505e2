/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a file that appears under its name when it is complete. */
#include <errno.h>
#include <fcntl.h>
#include "convert/convert.h"

/* Set err to the message of a call of output/. */
static int
take_message(const struct job *job, struct image_error *err)
{
	return image_fail(err, NULL, -EIO, "%s", job->output.text);
}

static void
new_file_abandon(struct job *job, struct image_error *err)
{
	image_source_settle(job->src, err);
	output_abandon(&job->output);
}

static int
new_file_begin(struct job *job, struct image_error *err)
{
	const struct output_how how = {.force = job->cli->option[OPTION_FORCE],
		.source = job->src,
		.folder = job->layout.path && !job->layout.how.archive};
	const char *path = job->layout.path ? job->layout.path : job->name;

	if (output_begin(&job->output, path, &how) < 0)
		return take_message(job, err);
	int rc = image_create(job->output.fd, job->name, job->format,
		&job->create, &job->write, &job->dst, err);
	if (rc < 0)
		new_file_abandon(job, err);
	return rc;
}

static int
new_file_fill(struct job *job, struct image_error *err)
{
	int rc = convert_fill(job, err);

	if (rc == 0 && job->layout.path) {
		job->layout.files = *image_sink_layout(job->dst);
		job->output.layout = &job->layout.files;
	}
	return rc < 0 ? rc : image_flush(job->dst, err);
}

static int
new_file_reopen(
	struct job *job, struct image_source **back, struct image_error *err)
{
	struct image_open how = {.format = job->format,
		.packing = job->create.packing,
		.drop_cache = true};

	if (image_format_is_archive(job->format)) {
		how.format = image_format_by_name("raw");
		how.packing = IMAGE_PACKING_GZIP;
		how.member = "disk.raw";
	} else if (job->layout.path && job->layout.how.container) {
		how.member = "disk/disk.img";
	}
	posix_fadvise(job->output.fd, 0, 0, POSIX_FADV_DONTNEED);
	return image_open_fd(job->output.fd, job->name, &how, back, err);
}

static int
new_file_commit(struct job *job, struct image_error *err)
{
	return output_commit(&job->output) < 0 ? take_message(job, err) : 0;
}

const struct target target_new_file = {
	.begin = new_file_begin,
	.fill = new_file_fill,
	.reopen = new_file_reopen,
	.commit = new_file_commit,
	.abandon = new_file_abandon,
};
