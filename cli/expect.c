/* SPDX-License-Identifier: BSD-3-Clause */
/* The digests of a conversion: --digest and --expect-content. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "convert.h"

/* Set job->expected to the algorithm, which is added if it is new. */
static void
add_expected(struct job *job, const struct image_algorithm *algorithm)
{
	struct image_digests *digests = &job->digests;
	size_t i = 0;

	while (i < digests->count && digests->list[i].algorithm != algorithm)
		i++;
	if (i == digests->count)
		digests->list[digests->count++].algorithm = algorithm;
	job->expected = i;
}

static int
parse_expected(struct job *job, const char *text)
{
	size_t length = strcspn(text, ":");
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(text, length);

	if (!algorithm || !text[length])
		return cli_usage("convert",
			"--expect-content: '%s' is not ALGORITHM:HEX", text);
	const char *digits = text + length + 1;
	size_t wanted = 2 * image_algorithm_length(algorithm);
	if (strlen(digits) != wanted ||
		strspn(digits, "0123456789abcdefABCDEF") != wanted)
		return cli_usage("convert",
			"--expect-content: '%s' is not the %zu hexadecimal "
			"digits of %s",
			digits, wanted, image_algorithm_name(algorithm));
	add_expected(job, algorithm);
	job->expected_text = digits;
	return 0;
}

int
expect_parse(struct job *job)
{
	const char *list = job->cli->option[OPTION_DIGEST];
	const char *expected = job->cli->option[OPTION_EXPECT];
	int rc = 0;

	if (list)
		rc = cli_digests_parse(
			job->cli, OPTION_DIGEST, list, &job->digests);
	job->n_printed = job->digests.count;
	if (rc == 0 && expected)
		rc = parse_expected(job, expected);
	if (rc == 0 && job->digests.count)
		job->run.digests = &job->digests;
	return rc;
}

int
expect_verify(struct job *job, struct image_error *err)
{
	char text[CLI_DIGEST_TEXT];

	if (!job->expected_text)
		return 0;
	cli_digest_text(&job->digests, job->expected, text);
	if (strcasecmp(text, job->expected_text) == 0)
		return 0;
	job->refused = true;
	err->again = false;
	snprintf(err->file, sizeof(err->file), "%s", job->source);
	snprintf(err->text, sizeof(err->text),
		"the content is refused: its %s is %s, not %s",
		image_algorithm_name(
			job->digests.list[job->expected].algorithm),
		text, job->expected_text);
	return -EINVAL;
}
