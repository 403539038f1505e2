/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include "cli.h"

static const char *const kinds[] = {
	[IMAGE_DATA] = "data",
	[IMAGE_ZERO] = "zero",
	[IMAGE_HOLE] = "hole",
};

#define N_KINDS 3

struct listing {
	bool as_json;
	struct json json;
	uint64_t total[N_KINDS];
	uint64_t extents;
};

static int
report(void *opaque, const struct image_extent *extent)
{
	struct listing *listing = opaque;
	struct json *json = &listing->json;

	listing->total[extent->kind] += extent->length;
	listing->extents++;
	if (!listing->as_json) {
		printf("%18" PRIu64 " %18" PRIu64 "  %s\n", extent->offset,
			extent->length, kinds[extent->kind]);
		return 0;
	}
	json_open(json, NULL, '{');
	json_number(json, "offset", extent->offset);
	json_number(json, "length", extent->length);
	json_string(json, "kind", kinds[extent->kind]);
	json_end(json, '}');
	return 0;
}

static void
print_total(const struct listing *listing, uint64_t size)
{
	char text[N_KINDS][CLI_SIZE_TEXT];
	char all[CLI_SIZE_TEXT];

	printf("total %" PRIu64 " bytes (%s) in %" PRIu64 " extents:", size,
		cli_size_text(all, size), listing->extents);
	for (int i = 0; i < N_KINDS; i++)
		printf(" %s %s%s", kinds[i],
			cli_size_text(text[i], listing->total[i]),
			i + 1 < N_KINDS ? "," : "\n");
}

static int
list(const struct cli *cli, struct image *img, const struct image_run *run)
{
	struct listing listing = {.as_json = cli->option[OPTION_JSON]};
	struct image_error err = {0};

	if (listing.as_json)
		json_begin(&listing.json, stdout, '[');
	else
		printf("%18s %18s  %s\n", "offset", "length", "kind");
	if (image_map(img, run, report, &listing, &err) < 0)
		return cli_fail(cli->operands[0], "%s", err.text);
	if (listing.as_json) {
		json_end(&listing.json, ']');
		putchar('\n');
	} else {
		print_total(&listing, img->size);
	}
	return cli_flush_stdout();
}

int
map_run(const struct cli *cli)
{
	const struct image_ops *format;
	struct image_run run;
	struct image_error err = {0};
	struct image *img;

	int rc = cli_format(cli, OPTION_FORMAT, &format);
	if (rc == 0)
		rc = cli_run(cli, &run);
	if (rc != 0)
		return rc;
	if (image_open(cli->operands[0], format, &img, &err) < 0 ||
		image_readable(img, &err) < 0)
		rc = cli_fail(cli->operands[0], "%s", err.text);
	else
		rc = list(cli, img, &run);
	image_close(img);
	return rc;
}
