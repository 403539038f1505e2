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
		return !cli_stdout_is_good();
	}
	json_open(json, NULL, '{');
	json_number(json, "offset", extent->offset);
	json_number(json, "length", extent->length);
	json_string(json, "kind", kinds[extent->kind]);
	if (extent->compressed)
		json_bool(json, "compressed", true);
	if (extent->zero_cluster)
		json_bool(json, "zero_cluster", true);
	if (extent->depth)
		json_number(json, "depth", extent->depth);
	if (extent->host != IMAGE_NO_HOST)
		json_number(json, "host_offset", extent->host);
	json_end(json, '}');
	/* 1 ends the listing; cli_flush_stdout() then prints the message. */
	return !cli_stdout_is_good();
}

static void
print_total(const struct listing *listing, uint64_t size)
{
	char text[N_KINDS][CLI_SIZE_TEXT];
	char all[CLI_SIZE_TEXT];

	printf("total %s (%s) in %s:", IMAGE_COUNT(size, "byte"),
		cli_size_text(all, size),
		IMAGE_COUNT(listing->extents, "extent"));
	for (int i = 0; i < N_KINDS; i++)
		printf(" %s %s%s", kinds[i],
			cli_size_text(text[i], listing->total[i]),
			i + 1 < N_KINDS ? "," : "\n");
}

static int
list(const struct cli *cli, struct image_source *img,
	const struct image_run *run)
{
	struct listing listing = {.as_json = cli->option[OPTION_JSON]};
	struct image_error err;

	if (listing.as_json)
		json_begin(&listing.json, stdout, '[');
	else
		printf("%18s %18s  %s\n", "offset", "length", "kind");
	if (image_map(img, run, !listing.as_json, report, &listing, &err) < 0) {
		image_source_settle(img, &err);
		return cli_image_fail(cli->operands[0], &err);
	}
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
	struct image_open how;
	struct image_run run;
	struct image_source *img;

	int rc = cli_open(cli, &how);
	if (rc == 0)
		rc = cli_run(cli, &run);
	if (rc == 0)
		rc = cli_image_open(cli, 0, &how, &img);
	if (rc != 0)
		return rc;
	rc = list(cli, img, &run);
	image_close(img);
	return rc;
}
