/* SPDX-License-Identifier: BSD-3-Clause */
/* --size: the disk of DST has another size than that of SRC; --move-gpt. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "convert/convert.h"

/* Sets run.growth if the size is relative, otherwise run.size. */
int
size_parse(struct job *job)
{
	const char *text = job->cli->option[OPTION_SIZE];
	bool more = text && text[0] == '+';
	uint64_t *size = more ? &job->run.growth : &job->run.size;

	if (text && (!cli_parse_size(text + more, size) || *size == 0 ||
			    *size >= IMAGE_SIZE_UNKNOWN))
		return cli_usage(
			job->cli, "--size: '%s' is not a valid size", text);
	if (!text && job->cli->option[OPTION_MOVE_GPT])
		return cli_usage(job->cli, "--move-gpt needs --size: the GPT "
					   "moves to the end that it sets");
	return 0;
}

/* Returns 0, or another exit status after a message if the size cannot be less
 * than that of SRC. */
static int
cut(struct job *job, uint64_t size)
{
	struct image_error err;

	if (job->src->forward)
		return cli_fail(job->source,
			"has a disk of %" PRIu64
			" bytes and comes as a stream: only the end of a file "
			"can be searched for data before it is cut off",
			job->src->size);
	return image_source_cut(job->src, size, &err) < 0
		       ? cli_image_fail(job->source, &err)
		       : 0;
}

int
size_check(const struct job *job, struct image_error *err)
{
	uint64_t size = image_sink_size(job->dst);

	if (!job->cli->option[OPTION_MOVE_GPT] || size == job->create.size)
		return 0;
	return image_fail(err, job->name, -EINVAL,
		"would be rounded up to %" PRIu64
		" bytes, behind the backup GPT; use --size %" PRIu64,
		size, size);
}

int
size_apply(struct job *job)
{
	uint64_t size = job->src->size;
	uint64_t wanted = job->run.size;
	struct image_error err;

	job->create.unsized = image_source_is_unsized(job->src);
	job->create.size = size;
	if (!job->cli->option[OPTION_SIZE])
		return 0;
	if (job->create.unsized && job->run.growth && convert_to_stdout(job))
		return cli_usage(job->cli,
			"--size: the size of SRC is not known before its end, "
			"and stdout needs that of DST first; leave + out");
	if (job->create.unsized && job->cli->option[OPTION_MOVE_GPT])
		return cli_fail(job->source,
			"is read once and has an unknown size, "
			"and --move-gpt needs the size first; "
			"write it to a file that is not packed");
	if (job->create.unsized)
		return 0;
	if (job->run.growth &&
		__builtin_add_overflow(size, job->run.growth, &wanted))
		return cli_fail(job->source,
			"has a disk of %" PRIu64 " bytes, and %" PRIu64
			" more are too many",
			size, job->run.growth);
	job->create.size = wanted;
	if (job->cli->option[OPTION_MOVE_GPT] &&
		image_source_move_gpt(&job->src, wanted, &err) < 0)
		return cli_image_fail(job->source, &err);
	return wanted < size ? cut(job, wanted) : 0;
}
