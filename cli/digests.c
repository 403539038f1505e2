/* SPDX-License-Identifier: BSD-3-Clause */
/* Digests: the lists of algorithms in options, and the output. */
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
