/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli.h"

struct facts {
	const char *name;
	struct image_source *source;
	struct image_usage usage;
};

struct listing {
	struct json json;
	/* lists and items that enclose the field */
	int depth;
};

static void
json_field(void *opaque, const struct image_field *field)
{
	struct listing *listing = opaque;
	struct json *json = &listing->json;

	switch (field->type) {
	case IMAGE_FIELD_NUMBER:
		json_number(json, field->name, field->number);
		break;
	case IMAGE_FIELD_TEXT:
		json_string(json, field->name, field->text);
		break;
	case IMAGE_FIELD_FLAG:
		json_bool(json, field->name, field->number);
		break;
	case IMAGE_FIELD_LIST:
		json_open(json, field->name, '[');
		break;
	case IMAGE_FIELD_ITEM:
		json_open(json, NULL, '{');
		break;
	case IMAGE_FIELD_END:
		/* the end of an item, or of its list */
		json_end(json, listing->depth % 2 ? ']' : '}');
		break;
	}
	if (field->type == IMAGE_FIELD_LIST || field->type == IMAGE_FIELD_ITEM)
		listing->depth++;
	else if (field->type == IMAGE_FIELD_END)
		listing->depth--;
}

/* The length of a stream is known at its end only. */
static bool
is_stream(const struct facts *facts)
{
	return facts->usage.file_size == IMAGE_SIZE_UNKNOWN &&
	       facts->source->forward;
}

static void
json_size(struct json *json, const char *key, uint64_t size, bool known)
{
	if (known)
		json_number(json, key, size);
	else
		json_null(json, key);
}

static void
print_json(const struct facts *facts)
{
	const struct image_error *fault = facts->source->fault;
	const char *member = facts->source->member;
	const struct image_registry *registry = facts->source->registry;
	struct listing listing = {0};
	struct json *json = &listing.json;

	json_begin(json, stdout, '{');
	json_string(json, "command", "info");
	json_string(json, "file", facts->name);
	if (registry) {
		json_string(json, "manifest", registry->manifest);
		json_string(json, "platform", registry->platform);
		json_string(json, "layer", registry->layer);
	}
	if (member)
		json_string(json, "member", member);
	json_string(json, "format", facts->source->format->name);
	json_size(json, "virtual_size", facts->source->size,
		!image_source_is_unsized(facts->source));
	json_size(json, "file_size", facts->usage.file_size, !is_stream(facts));
	json_size(
		json, "disk_usage", facts->usage.disk_usage, !is_stream(facts));
	image_info(facts->source, json_field, &listing);
	if (fault)
		json_string(json, "fault", fault->text);
	json_end(json, '}');
	putchar('\n');
}

static void
put_size(uint64_t size)
{
	char text[CLI_SIZE_TEXT];

	fputs(cli_size_text(text, size), stdout);
	if (size >= 1024)
		printf(" (%" PRIu64 " bytes)", size);
	putchar('\n');
}

static void
print_size(const char *label, uint64_t size, bool known)
{
	printf("%-18s ", label);
	if (known)
		put_size(size);
	else
		puts("not known before the end of the stream");
}

static void
put_date(uint64_t seconds)
{
	time_t time = (time_t)seconds;
	struct tm tm;
	char text[32];

	if (gmtime_r(&time, &tm) &&
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		puts(text);
	else
		printf("%" PRIu64 "\n", seconds);
}

static void
put_number(const struct image_field *field)
{
	/* A number always has a name; the test is for the static analyzer. */
	const char *name = field->name ? field->name : "";
	size_t length = strlen(name);

	putchar(' ');
	if (strcmp(name, "date") == 0)
		put_date(field->number);
	else if (length > 5 && strcmp(name + length - 5, "_size") == 0)
		put_size(field->number);
	else
		printf("%" PRIu64 "\n", field->number);
}

static void
text_field(void *opaque, const struct image_field *field)
{
	int *depth = opaque;
	int indent = *depth * 2;

	if (field->name) {
		int n = printf("%*s%s:", indent, "", field->name);
		if (field->type != IMAGE_FIELD_LIST)
			printf("%*s", n < 18 ? 18 - n : 0, "");
	}
	switch (field->type) {
	case IMAGE_FIELD_NUMBER:
		put_number(field);
		break;
	case IMAGE_FIELD_TEXT:
		putchar(' ');
		cli_print_name(stdout, field->text);
		putchar('\n');
		break;
	case IMAGE_FIELD_FLAG:
		printf(" %s\n", field->number ? "yes" : "no");
		break;
	case IMAGE_FIELD_LIST:
		putchar('\n');
		++*depth;
		break;
	case IMAGE_FIELD_ITEM:
		printf("%*s-\n", indent, "");
		++*depth;
		break;
	case IMAGE_FIELD_END:
		--*depth;
		break;
	}
}

static void
print_name(const char *label, const char *name)
{
	printf("%-18s ", label);
	cli_print_name(stdout, name);
	putchar('\n');
}

static void
print_text(const struct facts *facts)
{
	const char *member = facts->source->member;
	const struct image_registry *registry = facts->source->registry;
	static bool follows;
	int depth = 0;

	/* An empty line between two images. */
	if (follows)
		putchar('\n');
	follows = true;
	print_name("file:", facts->name);
	if (registry) {
		print_name("manifest:", registry->manifest);
		if (registry->platform[0])
			print_name("platform:", registry->platform);
		print_name("layer:", registry->layer);
	}
	if (member)
		print_name("member:", member);
	printf("%-18s %s\n", "format:", facts->source->format->name);
	print_size("virtual size:", facts->source->size,
		!image_source_is_unsized(facts->source));
	print_size("file size:", facts->usage.file_size, !is_stream(facts));
	print_size("disk usage:", facts->usage.disk_usage, !is_stream(facts));
	image_info(facts->source, text_field, &depth);
}

static int
show(const struct cli *cli, int operand)
{
	struct facts facts = {.name = cli->operands[operand]};
	struct image_open how;
	struct image_error err;

	int rc = cli_open(cli, &how);
	how.inspect = true;
	if (rc == 0)
		rc = cli_image_open(cli, operand, &how, &facts.source);
	if (rc != 0)
		return rc;
	if (image_store_usage(facts.source->store, &facts.usage, &err) < 0)
		rc = cli_image_fail(facts.name, &err);
	else if (cli->option[OPTION_JSON])
		print_json(&facts);
	else
		print_text(&facts);
	if (rc == 0)
		rc = cli_flush_stdout();
	/* After the fields of the header. */
	if (rc == 0 && facts.source->fault)
		rc = cli_image_fail(facts.name, facts.source->fault);
	image_close(facts.source);
	return rc;
}

int
info_run(const struct cli *cli)
{
	return cli_for_each(cli, show);
}
