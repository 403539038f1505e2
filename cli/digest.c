/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include "convert.h"

static int
parse_algorithm(const char *name, size_t length, struct image_digests *digests)
{
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(name, length);

	if (!algorithm)
		return cli_usage("digest", "-a: '%.*s' is not an algorithm",
			(int)length, name);
	for (size_t i = 0; i < digests->count; i++)
		if (digests->list[i].algorithm == algorithm)
			return cli_usage("digest", "-a: %s is listed twice",
				image_algorithm_name(algorithm));
	digests->list[digests->count++].algorithm = algorithm;
	return 0;
}

static int
parse_algorithms(const char *list, struct image_digests *digests)
{
	for (;;) {
		size_t length = strcspn(list, ",");
		int rc = parse_algorithm(list, length, digests);
		if (rc != 0 || !list[length])
			return rc;
		list += length + 1;
	}
}

/* The digits of digest i. */
static const char *
hex(const struct image_digests *digests, size_t i,
	char text[2 * IMAGE_DIGEST_MAX + 1])
{
	size_t length = image_algorithm_length(digests->list[i].algorithm);

	for (size_t k = 0; k < length; k++)
		snprintf(text + 2 * k, 3, "%02x", digests->list[i].bytes[k]);
	return text;
}

/* As GNU coreutils: with escapes, the line begins with a backslash. */
static void
print_name(const char *name)
{
	for (; *name; name++) {
		if (*name == '\n')
			fputs("\\n", stdout);
		else if (*name == '\\')
			fputs("\\\\", stdout);
		else
			putchar(*name);
	}
}

static void
print_text(const char *name, const struct image_digests *digests)
{
	char text[2 * IMAGE_DIGEST_MAX + 1];
	const char *escape = strpbrk(name, "\n\\") ? "\\" : "";

	if (digests->count == 1) {
		printf("%s%s  ", escape, hex(digests, 0, text));
		print_name(name);
		putchar('\n');
		return;
	}
	for (size_t i = 0; i < digests->count; i++) {
		printf("%s%s (", escape,
			image_algorithm_tag(digests->list[i].algorithm));
		print_name(name);
		printf(") = %s\n", hex(digests, i, text));
	}
}

static void
print_json(const char *name, const struct image_source *img,
	const struct image_digests *digests)
{
	char text[2 * IMAGE_DIGEST_MAX + 1];
	struct json json;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "digest");
	json_string(&json, "image", name);
	json_string(
		&json, "format", image_format_name(image_source_format(img)));
	json_number(&json, "virtual_size", image_source_size(img));
	json_open(&json, "digests", '{');
	for (size_t i = 0; i < digests->count; i++)
		json_string(&json,
			image_algorithm_name(digests->list[i].algorithm),
			hex(digests, i, text));
	json_end(&json, '}');
	json_end(&json, '}');
	putchar('\n');
}

static int
digest(const struct cli *cli, struct image_source *img, struct image_run *run,
	struct image_digests *digests)
{
	const char *name = cli->operands[0];
	struct progress progress;
	struct image_error err;

	int rc = progress_begin(&progress, cli, !cli->option[OPTION_JSON]);
	if (rc != 0)
		return rc;
	run->progress = progress_update;
	run->opaque = &progress;
	progress.total = image_source_size(img);
	rc = image_digest(img, run, digests, &err);
	progress_clear(&progress);
	if (rc < 0)
		return cli_image_fail(name, &err);
	if (cli->option[OPTION_JSON])
		print_json(name, img, digests);
	else
		print_text(name, digests);
	rc = cli_flush_stdout();
	if (rc == 0)
		progress_succeed(&progress);
	return rc;
}

int
digest_run(const struct cli *cli)
{
	const char *algorithms = cli->option[OPTION_ALGORITHM];
	struct image_digests digests = {.count = 0};
	struct image_open how;
	struct image_run run;
	struct image_error err;
	struct image_source *img;

	int rc = cli_open(cli, &how);
	if (rc == 0)
		rc = cli_format(cli, OPTION_FORMAT, &how.format);
	if (rc == 0)
		rc = cli_run(cli, &run);
	if (rc == 0)
		rc = parse_algorithms(
			algorithms ? algorithms : "sha256", &digests);
	if (rc == 0)
		rc = cache_parse_source(cli, &how);
	if (rc != 0)
		return rc;
	if (image_open(cli->operands[0], &how, &img, &err) < 0)
		return cli_image_fail(cli->operands[0], &err);
	rc = digest(cli, img, &run, &digests);
	image_close(img);
	return rc;
}
