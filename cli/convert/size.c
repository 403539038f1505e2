/* SPDX-License-Identifier: BSD-3-Clause */
/* --size: the disk of DST has another size than that of SRC. */
#include <inttypes.h>
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
			"convert", "--size: '%s' is not a valid size", text);
	return 0;
}

/* Returns 0, or another exit status after a message if the size cannot be less
 * than that of SRC. */
static int
cut(struct job *job, uint64_t size)
{
	struct image_error err;

	if (image_source_is_forward(job->src))
		return cli_fail(job->source,
			"has a disk of %" PRIu64
			" bytes and comes as a stream: only the end of a file "
			"can be searched for data before it is cut off",
			image_source_size(job->src));
	return image_source_cut(job->src, size, &err) < 0
		       ? cli_image_fail(job->source, &err)
		       : 0;
}

int
size_apply(struct job *job)
{
	uint64_t size = image_source_size(job->src);
	uint64_t wanted = job->run.size;

	job->create.unsized = image_source_is_unsized(job->src);
	job->create.size = size;
	if (!job->cli->option[OPTION_SIZE])
		return 0;
	if (job->create.unsized && job->run.growth && convert_to_stdout(job))
		return cli_usage("convert",
			"--size: the size of SRC is not known before its end, "
			"and stdout needs that of DST first; leave + out");
	if (job->create.unsized)
		return 0;
	if (job->run.growth &&
		__builtin_add_overflow(size, job->run.growth, &wanted))
		return cli_fail(job->source,
			"has a disk of %" PRIu64 " bytes, and %" PRIu64
			" more are too many",
			size, job->run.growth);
	job->create.size = wanted;
	return wanted < size ? cut(job, wanted) : 0;
}
