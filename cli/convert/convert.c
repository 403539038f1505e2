/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "convert/convert.h"

static int
parse(struct job *job)
{
	const struct cli *cli = job->cli;
	bool may_draw = !cli->option[OPTION_QUIET] && !cli->option[OPTION_JSON];

	int rc = cli_open(cli, &job->open);
	job->open.whole = true;
	job->open.sized =
		job->layout.how.container || cli->option[OPTION_MOVE_GPT];
	if (rc == 0)
		rc = cli_run(cli, &job->run);
	if (rc == 0)
		rc = create_parse(job);
	if (rc == 0)
		rc = size_parse(job);
	if (rc == 0)
		rc = progress_begin(&job->progress, cli, may_draw);
	if (rc == 0)
		rc = expect_parse(job);
	if (rc != 0)
		return rc;
	job->write.in_place = cli->option[OPTION_NO_CREATE];
	job->write.is_zero = cli->option[OPTION_TARGET_IS_ZERO];
	job->write.keep_rest = cli->option[OPTION_KEEP_REST];
	rc = cache_parse(job);
	job->run.progress = progress_update;
	job->run.opaque = &job->progress;
	return rc;
}

/* The part of DST that the conversion has written. */
static uint64_t
written(const struct job *job)
{
	return job->run.size ? job->run.size : job->src->size + job->run.growth;
}

/* A stream is read once: the digest of what was written is that of the copy,
 * with zeros behind it. */
static int
compare_digest(
	struct job *job, struct image_source *back, struct image_error *err)
{
	size_t i = job->verified;
	struct image_digests found = {
		.count = 1, .list = {job->digests.list[i]}};

	if (!found.list[0].sparse)
		found.list[0].from = image_source_whole_size(job->src);
	found.list[0].sparse = true;
	int rc = image_digest(back,
		job->write.keep_rest ? written(job) : back->size, &job->run,
		&found, err);
	if (rc < 0 || memcmp(found.list[0].bytes, job->digests.list[i].bytes,
			      IMAGE_DIGEST_MAX) == 0)
		return rc;
	return image_fail(
		err, job->name, -EIO, "differs from the source when read back");
}

static int
compare(struct job *job, struct image_source *back, struct image_error *err)
{
	struct image_compared compared = {0};

	progress_phase(&job->progress, "verify", job->name, job->size);
	if (job->src->forward)
		return compare_digest(job, back, err);
	int rc = image_compare(job->src, back, &job->run, &compared, err);
	if (rc < 0 || compared.equal ||
		(job->write.keep_rest &&
			compared.first_difference >= written(job)))
		return rc;
	return image_fail(err, job->name, -EIO,
		"differs from the source at offset %" PRIu64 " when read back",
		compared.first_difference);
}

/* Read DST back from the disk and compare it with the source. */
static int
verify(struct job *job, const struct target *target, struct image_error *err)
{
	struct image_source *back;

	int rc = target->reopen(job, &back, err);
	if (rc == 0) {
		rc = compare(job, back, err);
		image_close(back);
	}
	/* It is DST that failed: the content of SRC is not refused. */
	err->damaged = false;
	return rc;
}

#define DISGUISED                                                              \
	"would be a %s file with the signature of %s at offset %" PRIu64       \
	"; %s, or add --allow-disguised"

/* A fixed VHD whose name lacks ".vhd" and the like was read as raw. */
static const char *
way_out(const struct job *job, const struct image_disguise *disguise)
{
	if (strcmp(disguise->name, "VHD") == 0 && disguise->offset > 0 &&
		!job->cli->option[OPTION_FORMAT])
		return job->layout.path
			       ? "add -f vhd if the source is a VHD"
			       : "add -f vhd if the source is a VHD, or use "
				 "-O qcow2";
	if (job->layout.path)
		return "add a qcow2 image of it by -f raw --allow-disguised";
	return "use -O qcow2";
}

bool
convert_to_stdout(const struct job *job)
{
	return strcmp(job->cli->addresses[1], "-") == 0;
}

/*
 * As refuse_disguised(), of what was written, after image_finish(): the source
 * is read once, or its server may change its answer, or a layout rounds the
 * size up, so that another sector is the last one.
 */
static int
refuse_written(struct job *job, struct image_error *err)
{
	struct image_disguise disguise;
	bool rounded =
		job->layout.path && image_sink_size(job->dst) > job->src->size;

	if (job->cli->option[OPTION_ALLOW_DISGUISED] ||
		!(job->src->forward || job->src->served || rounded))
		return 0;
	int rc = image_disguise_written(job->dst, &disguise, err);
	if (rc < 0 || !disguise.name)
		return rc;
	return image_fail(err, job->name, -EINVAL, DISGUISED, job->format->name,
		disguise.name, disguise.offset, way_out(job, &disguise));
}

int
convert_fill(struct job *job, struct image_error *err)
{
	int rc = size_check(job, err);

	if (rc == 0)
		rc = image_copy(
			job->src, job->dst, &job->run, &job->copied, err);
	if (rc == 0)
		rc = expect_verify(job, err);
	job->size = image_sink_size(job->dst);
	progress_phase(&job->progress, "flush", job->name, job->size);
	if (rc == 0)
		rc = image_finish(job->dst, err);
	if (rc == 0)
		rc = refuse_written(job, err);
	return rc;
}

static int
write_target(
	struct job *job, const struct target *target, struct image_error *err)
{
	int rc = target->begin(job, err);
	if (rc < 0)
		return rc;
	job->size = image_sink_size(job->dst);
	rc = target->fill(job, err);
	/* A server may serve one client at a time. */
	image_sink_close(job->dst);
	if (rc == 0 && job->cli->option[OPTION_VERIFY])
		rc = verify(job, target, err);
	if (rc < 0)
		target->abandon(job, err);
	else if (target->commit)
		rc = target->commit(job, err);
	return rc;
}

static int
write_output(struct job *job)
{
	struct image_error err;

	int rc = job->layout.path ? 0 : in_place_open(job);
	if (rc != 0)
		return rc;
	if (job->write.keep_rest && (!job->store || convert_to_stdout(job))) {
		image_store_close(job->store);
		return cli_usage(job->cli, "--keep-rest: DST is new, and has "
					   "nothing behind the image");
	}
	rc = write_target(
		job, job->store ? &target_in_place : &target_new_file, &err);
	if (rc == 0)
		return 0;
	/* The message has its own line. */
	progress_clear(&job->progress);
	return cli_image_fail(job->name, &err);
}

/*
 * A guest writes the first and last bytes of its disk: other programs must not
 * detect another format in DST.
 */
static int
refuse_disguised(struct job *job)
{
	struct image_disguise disguise;
	struct image_error err;

	if (job->cli->option[OPTION_ALLOW_DISGUISED] || job->src->forward)
		return 0;
	if (image_disguise(job->src, job->format, &disguise, &err) < 0)
		return cli_image_fail(job->source, &err);
	if (!disguise.name)
		return 0;
	return cli_fail(job->name, DISGUISED, job->format->name, disguise.name,
		disguise.offset, way_out(job, &disguise));
}

/* Returns CLI_USAGE after a message if stdout cannot have an option. */
static int
refuse_stdout(const struct job *job)
{
	if (!convert_to_stdout(job))
		return 0;
	if (job->create.compress && !job->format->always_compresses)
		return cli_usage(job->cli,
			"-c: an image on stdout cannot be compressed: its "
			"tables come first, and have the compressed lengths");
	if (!job->format->streams)
		return cli_usage(job->cli,
			"'-': a %s image cannot be written to stdout",
			job->format->name);
	if (job->cli->option[OPTION_VERIFY])
		return cli_usage(job->cli, "--verify: what was written to "
					   "stdout cannot be read back");
	return 0;
}

static int
convert(struct job *job)
{
	uint64_t start = cli_now_ns();

	if (job->cli->option[OPTION_VERIFY] && job->src->forward) {
		if (!image_digest_library())
			return cli_usage(job->cli,
				"--verify: the source comes as a stream, whose "
				"digest is compared; this hone was built "
				"without OpenSSL");
		expect_stream(job);
	}
	int rc = size_apply(job);
	if (rc != 0)
		return rc;
	progress_phase(&job->progress, "read", job->source, job->src->size);
	rc = refuse_disguised(job);
	if (rc != 0)
		return rc;
	rc = write_output(job);
	job->seconds = (double)(cli_now_ns() - start) * 1e-9;
	if (rc != 0)
		return rc;
	progress_clear(&job->progress);
	report_print(job);
	rc = cli_flush_stdout();
	if (rc == 0)
		progress_succeed(&job->progress);
	return rc;
}

static const char *
shown(const char *operand, const char *stream)
{
	return strcmp(operand, "-") == 0 ? stream : operand;
}

int
convert_run(const struct cli *cli)
{
	struct job job = {.cli = cli,
		.source = shown(cli->operands[0], "stdin"),
		.name = shown(cli->operands[1], "stdout")};

	int rc = layout_parse(&job);
	if (rc == 0)
		rc = parse(&job);
	if (rc == 0)
		rc = refuse_stdout(&job);
	if (rc == 0)
		rc = cli_image_open(cli, 0, &job.open, &job.src);
	if (rc == 0)
		rc = convert(&job);
	image_close(job.src);
	free(job.layout.path);
	return rc;
}
