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
put_digests(struct json *json, const struct image_digests *digests)
{
	char text[2 * IMAGE_DIGEST_MAX + 1];

	json_open(json, "digests", '{');
	for (size_t i = 0; i < digests->count; i++)
		json_string(json,
			image_algorithm_name(digests->list[i].algorithm),
			hex(digests, i, text));
	json_end(json, '}');
}

static void
begin_json(struct json *json, const char *name, const struct image_source *img)
{
	json_begin(json, stdout, '{');
	json_string(json, "command", "digest");
	json_string(json, "image", name);
	json_string(
		json, "format", image_format_name(image_source_format(img)));
	json_number(json, "virtual_size", image_source_size(img));
}

static void
print_json(const char *name, const struct image_source *img,
	const struct image_digests *digests)
{
	struct json json;

	begin_json(&json, name, img);
	put_digests(&json, digests);
	json_end(&json, '}');
	putchar('\n');
}

struct listing {
	struct json json;
	size_t block;
};

static int
print_block(void *opaque, const struct image_block *block)
{
	struct listing *listing = opaque;
	struct json *json = &listing->json;

	json_open(json, NULL, '{');
	json_number(json, "index", block->offset / listing->block);
	json_number(json, "offset", block->offset);
	json_number(json, "length", block->length);
	put_digests(json, block->digests);
	json_end(json, '}');
	/* 1 ends the listing; cli_flush_stdout() then prints the message. */
	return !cli_stdout_is_good();
}

/* The blocks are printed as they come: a disk may have many. */
static int
digest_blocks(const struct cli *cli, struct image_source *img,
	const struct image_run *run, size_t block,
	struct image_digests *digests, struct image_error *err)
{
	struct listing listing = {.block = block};
	struct json *json = &listing.json;

	begin_json(json, cli->operands[0], img);
	json_number(json, "block_size", block);
	json_open(json, "blocks", '[');
	int rc = image_digest_blocks(
		img, run, block, digests, print_block, &listing, err);
	/* A list that is not complete does not end. */
	if (rc < 0)
		return rc;
	json_end(json, ']');
	json_end(json, '}');
	putchar('\n');
	return 0;
}

static int
parse_block(const struct cli *cli, size_t *block)
{
	const char *text = cli->option[OPTION_BLOCKS];
	uint64_t size = 0;

	*block = 0;
	if (!text)
		return 0;
	if (!cli_parse_size(text, &size) || size < IMAGE_BLOCK_MIN ||
		size > IMAGE_BLOCK_MAX || (size & (size - 1)))
		return cli_usage("digest",
			"--blocks: '%s' is not a power of two from 512 to 16M",
			text);
	if (!cli->option[OPTION_JSON])
		return cli_usage("digest", "--blocks needs --json");
	*block = (size_t)size;
	return 0;
}

static int
digest(const struct cli *cli, struct image_source *img, struct image_run *run,
	size_t block, struct image_digests *digests)
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
	rc = block ? digest_blocks(cli, img, run, block, digests, &err)
		   : image_digest(img, run, digests, &err);
	progress_clear(&progress);
	if (rc < 0)
		return cli_image_fail(name, &err);
	if (cli->option[OPTION_JSON] && !block)
		print_json(name, img, digests);
	else if (!block)
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
	size_t block;

	int rc = cli_open(cli, &how);
	if (rc == 0)
		rc = cli_format(cli, OPTION_FORMAT, &how.format);
	if (rc == 0)
		rc = cli_run(cli, &run);
	if (rc == 0)
		rc = parse_algorithms(
			algorithms ? algorithms : "sha256", &digests);
	if (rc == 0)
		rc = parse_block(cli, &block);
	if (rc == 0)
		rc = cache_parse_source(cli, &how);
	if (rc != 0)
		return rc;
	if (image_open(cli->operands[0], &how, &img, &err) < 0)
		return cli_image_fail(cli->operands[0], &err);
	rc = digest(cli, img, &run, block, &digests);
	image_close(img);
	return rc;
}
