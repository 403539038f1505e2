/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of algorithms and digests as text, also for convert; the command. */
#include <string.h>
#include "cli.h"

const char *
cli_list_algorithms(char *list, bool safe)
{
	const struct image_algorithm *algorithm;
	size_t used = 0;

	for (size_t i = 0; (algorithm = image_algorithm(i)); i++)
		if (!safe || image_algorithm_is_safe(algorithm))
			used += (size_t)snprintf(list + used,
				CLI_ALGORITHMS - used, "%s%s", used ? ", " : "",
				algorithm->name);
	return list;
}

static int
parse_algorithm(const struct cli *cli, enum option_id id, const char *name,
	size_t length, struct image_digests *digests)
{
	const struct image_algorithm *algorithm =
		image_algorithm_by_name(name, length);
	char text[CLI_ALGORITHMS];

	if (!algorithm)
		return cli_usage(cli,
			"--%s: '%.*s' is not an algorithm; the algorithms are "
			"%s",
			cli_options[id].name, (int)length, name,
			cli_list_algorithms(text, false));
	for (size_t i = 0; i < digests->count; i++)
		if (digests->list[i].algorithm == algorithm)
			return cli_usage(cli, "--%s: %s is listed twice",
				cli_options[id].name, algorithm->name);
	digests->list[digests->count++].algorithm = algorithm;
	return 0;
}

int
cli_digests_parse(const struct cli *cli, enum option_id id, const char *list,
	struct image_digests *digests)
{
	for (;;) {
		size_t length = strcspn(list, ",");
		int rc = parse_algorithm(cli, id, list, length, digests);
		if (rc != 0 || !list[length])
			return rc;
		list += length + 1;
	}
}

static const char *
digest_text(const struct image_digests *digests, size_t i, char *text)
{
	return image_hash_text(digests->list[i].bytes,
		digests->list[i].algorithm->length, text);
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

void
cli_digests_print(const char *name, const struct image_digests *digests)
{
	char text[CLI_DIGEST_TEXT];
	const char *escape = strpbrk(name, "\n\\") ? "\\" : "";

	if (digests->count == 1) {
		printf("%s%s  ", escape, digest_text(digests, 0, text));
		print_name(name);
		putchar('\n');
		return;
	}
	for (size_t i = 0; i < digests->count; i++) {
		printf("%s%s (", escape, digests->list[i].algorithm->tag);
		print_name(name);
		printf(") = %s\n", digest_text(digests, i, text));
	}
}

void
cli_digests_json(struct json *json, const struct image_digests *digests)
{
	char text[CLI_DIGEST_TEXT];

	json_open(json, "digests", '{');
	for (size_t i = 0; i < digests->count; i++)
		json_string(json, digests->list[i].algorithm->name,
			digest_text(digests, i, text));
	json_end(json, '}');
}

static void
begin_json(struct json *json, const char *name, const struct image_source *img)
{
	json_begin(json, stdout, '{');
	json_string(json, "command", "digest");
	json_string(json, "image", name);
	json_string(json, "format", img->format->name);
	if (image_source_is_unsized(img))
		json_null(json, "virtual_size");
	else
		json_number(json, "virtual_size", img->size);
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
	cli_digests_json(json, block->digests);
	json_end(json, '}');
	/* 1 ends the listing; cli_flush_stdout() then prints the message. */
	return !cli_stdout_is_good();
}

/* The blocks are printed as they come: a disk may have many. */
static int
digest_blocks(const char *name, struct image_source *img,
	const struct image_run *run, size_t block,
	struct image_digests *digests, struct image_error *err)
{
	struct listing listing = {.block = block};
	struct json *json = &listing.json;

	begin_json(json, name, img);
	json_number(json, "block_size", block);
	json_open(json, "blocks", '[');
	int rc = image_digest_blocks(
		img, run, block, digests, print_block, &listing, err);
	/* Without a bracket at its end, the list is not complete. */
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
		return cli_usage(cli,
			"--blocks: '%s' is not a power of two from 512 to 16M",
			text);
	if (!cli->option[OPTION_JSON])
		return cli_usage(cli, "--blocks needs --json");
	/* After a failure the list of blocks has no end. */
	if (cli->n_operands > 1)
		return cli_usage(cli, "--blocks is for one image");
	*block = (size_t)size;
	return 0;
}

static int
digest(const struct cli *cli, const char *name, struct image_source *img,
	struct image_run *run, size_t block, struct image_digests *digests)
{
	struct progress *progress = run->opaque;
	struct image_error err;

	progress_phase(progress, "read", name, img->size);
	int rc = block ? digest_blocks(name, img, run, block, digests, &err)
		       : image_digest(img, UINT64_MAX, run, digests, &err);
	progress_clear(progress);
	if (rc < 0) {
		image_source_settle(img, &err);
		return cli_image_fail(name, &err);
	}
	if (cli->option[OPTION_JSON] && !block) {
		struct json json;

		begin_json(&json, name, img);
		cli_digests_json(&json, digests);
		json_end(&json, '}');
		putchar('\n');
	} else if (!block)
		cli_digests_print(name, digests);
	rc = cli_flush_stdout();
	if (rc == 0)
		progress_succeed(progress);
	return rc;
}

static int
digest_one(const struct cli *cli, int operand)
{
	const char *algorithms = cli->option[OPTION_ALGORITHM];
	struct image_digests digests = {.count = 0};
	struct image_expect expect;
	struct image_open how;
	struct image_run run;
	struct progress progress;
	struct image_source *img;
	size_t block;

	int rc = cli_open(cli, &how);
	how.whole = true;
	if (rc == 0)
		rc = cli_run(cli, &run);
	if (rc == 0)
		rc = cli_digests_parse(cli, OPTION_ALGORITHM,
			algorithms ? algorithms : "sha256", &digests);
	if (rc == 0)
		rc = parse_block(cli, &block);
	if (rc == 0)
		rc = cli_cache(cli, operand, &how);
	if (rc == 0)
		rc = progress_begin(&progress, cli, !cli->option[OPTION_JSON]);
	run.progress = progress_update;
	run.opaque = &progress;
	if (rc == 0)
		rc = cli_expect(cli, operand, &expect, &how);
	if (rc == 0)
		rc = cli_image_open(cli, operand, &how, &img);
	if (rc != 0)
		return rc;
	rc = digest(cli, cli->operands[operand], img, &run, block, &digests);
	image_close(img);
	return rc;
}

int
digest_run(const struct cli *cli)
{
	return cli_for_each(cli, digest_one);
}
