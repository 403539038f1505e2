/* SPDX-License-Identifier: BSD-3-Clause */
/* What an image has to be: --expect-file, and of a conversion --expect-disk,
 * with --digest. image/hash/expect.c compares both. */
#include <errno.h>
#include <string.h>
#include "convert/convert.h"

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

/* Returns CLI_USAGE after a message: algorithm is NULL or a weak one. */
static int
refuse_algorithm(const struct cli *cli, const char *option, const char *text,
	size_t length, const struct image_algorithm *algorithm)
{
	char list[CLI_ALGORITHMS];

	if (algorithm)
		return cli_usage(cli,
			"--%s: another image can be made that has the same %s; "
			"use sha256",
			option, algorithm->name);
	return cli_usage(cli,
		"--%s: '%.*s' is not an algorithm; the algorithms are %s",
		option, (int)length, text, cli_list_algorithms(list, true));
}

/* Set *expect by ALGORITHM:HEX. Returns 0, or CLI_USAGE after a message. */
static int
parse_digest(
	const struct cli *cli, enum option_id id, struct image_expect *expect)
{
	const char *name = cli_options[id].name;
	const char *text = cli->option[id];
	size_t length = strcspn(text, ":");
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(text, length);

	if (!text[length])
		return cli_usage(cli, "--%s: '%s' is not ALGORITHM:HEX%s", name,
			text, id == OPTION_EXPECT_FILE ? " or @FILE" : "");
	if (!algorithm || !image_algorithm_is_safe(algorithm))
		return refuse_algorithm(cli, name, text, length, algorithm);
	const char *digits = text + length + 1;
	if (!image_expect_hex(expect, algorithm, digits, strlen(digits)))
		return cli_usage(cli,
			"--%s: '%s' is not the %zu hexadecimal digits of %s",
			name, digits, 2 * algorithm->length, algorithm->name);
	return 0;
}

int
cli_expect(const struct cli *cli, int operand, struct image_expect *expect,
	struct image_open *how)
{
	const char *text = cli->option[OPTION_EXPECT_FILE];
	struct image_error err;
	int rc;

	if (!text)
		return 0;
	how->expect = expect;
	const char *list = cli->list;
	if (!list && text[0] == '@')
		list = text + 1;
	if (list && !*list)
		return cli_usage(cli, "--expect-file: '@' is not followed by "
				      "the name of a list");
	if (list) {
		rc = image_expect_in_list(expect, list, &how->network,
			cli->addresses[operand], &err);
		return rc < 0 ? cli_image_fail(list, &err) : 0;
	}
	if (cli->command == COMMAND_digest && cli->n_operands > 1)
		return cli_usage(cli, "--expect-file: a digest is that of one "
				      "image; @FILE has those of several");
	return parse_digest(cli, OPTION_EXPECT_FILE, expect);
}

void
cli_expect_json(struct json *json, const struct image_expect *expect)
{
	char text[CLI_DIGEST_TEXT];

	json_open(json, "expect", '{');
	json_string(json, expect->algorithm->name,
		image_hash_text(
			expect->bytes, expect->algorithm->length, text));
	json_end(json, '}');
}

int
expect_parse(struct job *job)
{
	const char *list = job->cli->option[OPTION_DIGEST];
	int rc = 0;

	if (list)
		rc = cli_digests_parse(
			job->cli, OPTION_DIGEST, list, &job->digests);
	job->n_printed = job->digests.count;
	if (rc == 0 && job->cli->option[OPTION_EXPECT]) {
		rc = parse_digest(job->cli, OPTION_EXPECT, &job->expect);
		if (rc == 0)
			add_expected(job, job->expect.algorithm);
	}
	job->n_reported = job->digests.count;
	if (rc == 0)
		rc = cli_expect(job->cli, 0, &job->expect_file, &job->open);
	if (rc == 0 && job->digests.count)
		job->run.digests = &job->digests;
	return rc;
}

void
expect_stream(struct job *job)
{
	struct image_digests *digests = &job->digests;

	/* With --move-gpt, DST differs from what --digest is about. */
	if (digests->count && !job->cli->option[OPTION_MOVE_GPT])
		return;
	job->verified = digests->count;
	digests->list[digests->count].sparse = true;
	digests->list[digests->count++].algorithm =
		image_algorithm_by_name("sha256", strlen("sha256"));
	job->run.digests = digests;
}

int
expect_verify(struct job *job, struct image_error *err)
{
	return job->expect.algorithm
		       ? image_expect_check(&job->expect,
				 job->digests.list[job->expected].bytes,
				 job->source, "the content", err)
		       : 0;
}
