/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a conversion, as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <hone/cpu.h>
#include "convert/convert.h"

/* Returns the name of the compression of DST, or NULL. */
static const char *
compression(const struct job *job)
{
	if (job_packs(job))
		return image_packing_name(job->create.packing);
	if (!job->create.compress && !image_format_is_archive(job->format))
		return NULL;
	return job->create.codec == IMAGE_CODEC_ZSTD ? "zstd" : "zlib";
}

static void
print_json(const struct job *job)
{
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "convert");
	json_string(&json, "source", job->cli->operands[0]);
	json_string(&json, "destination", job->cli->operands[1]);
	json_string(&json, "source_format", job->src->format->name);
	json_string(&json, "format", job->format->name);
	json_number(&json, "virtual_size", job->size);
	json_number(&json, "data_bytes", job->copied.data);
	json_number(&json, "zero_bytes", job->copied.zero);
	json_number(&json, "hole_bytes", job->copied.hole);
	if (compression(job)) {
		json_string(&json,
			job_packs(job) ? "packing" : "compression_type",
			compression(job));
		json_number(
			&json, "compressed_from", job->copied.compressed_from);
		json_number(&json, "compressed_to", job->copied.compressed_to);
	}
	if (job->layout.path)
		json_string(&json, "manifest", job->layout.files.manifest);
	struct image_digests reported = job->digests;
	reported.count = job->n_reported;
	if (reported.count)
		cli_digests_json(&json, &reported);
	if (job->open.expect)
		cli_expect_json(&json, job->open.expect);
	json_number(&json, "shared_bytes", job->copied.shared);
	json_number(&json, "file_size", job->output.usage.file_size);
	json_number(&json, "disk_usage", job->output.usage.disk_usage);
	json_seconds(&json, "seconds", job->seconds);
	json_number(&json, "threads", job->copied.threads);
	json_bool(&json, "verified", job->cli->option[OPTION_VERIFY]);
	json_string(&json, "zero_variant", hone_cpu_variant("zero"));
	json_end(&json, '}');
	putchar('\n');
}

static void
print_text(const struct job *job)
{
	const struct image_copied *c = &job->copied;
	char size[CLI_SIZE_TEXT], data[CLI_SIZE_TEXT], out[CLI_SIZE_TEXT];
	char disk[CLI_SIZE_TEXT], rate[CLI_SIZE_TEXT];
	double read = (double)(c->data + c->zero);
	/* an archive has the zeros that the source stores */
	uint64_t kept = image_format_is_archive(job->format) ? c->zero : 0;

	cli_print_name(stdout, job->cli->operands[1]);
	printf(": %s, %s", job->format->name, cli_size_text(size, job->size));
	if (job->size > image_source_whole_size(job->src))
		printf(" (%s from %" PRIu64 " bytes)",
			job->cli->option[OPTION_SIZE] ? "grown" : "rounded up",
			image_source_whole_size(job->src));
	if (compression(job))
		printf(" %s %s",
			job_packs(job) ? "packed by" : "compressed with",
			compression(job));
	printf("; %s of data", cli_size_text(data, c->data));
	if (kept)
		printf(", %s of zeros kept", cli_size_text(out, kept));
	printf(convert_to_stdout(job) ? ", %s of zeros; %s written"
				      : ", %s of zeros left out; %s on disk",
		cli_size_text(out, c->zero - kept + c->hole),
		cli_size_text(disk, job->output.usage.disk_usage));
	if (c->shared)
		printf(", shared with the source");
	printf("; %.2f s", job->seconds);
	if (job->seconds > 0 && !c->shared)
		printf(", %s/s",
			cli_size_text(rate, (uint64_t)(read / job->seconds)));
	if (job->cli->option[OPTION_VERIFY])
		printf("; verified");
	putchar('\n');
}

void
report_print(const struct job *job)
{
	if (job->cli->option[OPTION_JSON])
		print_json(job);
	else if (!job->cli->option[OPTION_QUIET])
		print_text(job);
	/* The header of such an image names zstd for later writes. */
	if (job->create.codec == IMAGE_CODEC_ZSTD && !job->create.compress &&
		!job->cli->option[OPTION_QUIET])
		cli_warn(job->name,
			"compression_type=zstd compresses nothing without -c");
	if (job->cli->option[OPTION_JSON] || job->cli->option[OPTION_QUIET] ||
		!job->n_printed)
		return;
	/* A raw DST has the digest, and a packed one when it is unpacked. */
	const char *name = job->cli->operands[1];
	struct image_digests printed = job->digests;
	size_t length;

	bool named =
		image_packing_by_suffix(name, &length) == job->create.packing;
	char *unpacked = job_packs(job) && named ? strndup(name, length) : NULL;
	printed.count = job->n_printed;
	cli_digests_print(unpacked ? unpacked : name, &printed);
	free(unpacked);
}
