/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/hone.h>
#include "cli.h"

#define CACHE_LEVELS 3

static void
print_json(uint64_t features)
{
	static const char *const levels[] = {"l1", "l2", "l3"};
	struct json json;
	const char *part, *name;

	json_begin(&json, stdout, '{');
	json_string(&json, "command", "cpu");
	json_string(&json, "version", hone_version());
	json_open(&json, "features", '[');
	for (unsigned i = 0; i < 64; i++)
		if (features & (UINT64_C(1) << i))
			json_string(&json, NULL,
				hone_cpu_feature_name(UINT64_C(1) << i));
	json_end(&json, ']');
	json_open(&json, "caches", '{');
	for (unsigned i = 0; i < CACHE_LEVELS; i++)
		json_number(&json, levels[i], hone_cpu_cache_size(i + 1));
	json_end(&json, '}');
	json_open(&json, "traits", '{');
	for (unsigned i = 0; (name = hone_cpu_trait_name(i)); i++)
		json_number(&json, name, hone_cpu_trait(i));
	json_end(&json, '}');
	json_open(&json, "variants", '{');
	for (size_t i = 0; (part = hone_cpu_part(i)); i++)
		json_string(&json, part, hone_cpu_variant(part));
	json_end(&json, '}');
	json_end(&json, '}');
	putchar('\n');
}

/* "from 27.0 KiB to 1.0 MiB"; "from 27.0 KiB" if max is SIZE_MAX. */
static void
print_range(const char *label, size_t min, size_t max)
{
	char first[CLI_SIZE_TEXT], last[CLI_SIZE_TEXT];

	printf("%-10s ", label);
	if (max < min || max == 0 || min == SIZE_MAX)
		puts("never");
	else
		printf("from %s%s%s\n", cli_size_text(first, min),
			max == SIZE_MAX ? "" : " to ",
			max == SIZE_MAX ? "" : cli_size_text(last, max));
}

static void
print_text(uint64_t features)
{
	char text[CLI_SIZE_TEXT];
	const char *part;

	printf("%-10s", "features");
	for (unsigned i = 0; i < 64; i++)
		if (features & (UINT64_C(1) << i))
			printf(" %s", hone_cpu_feature_name(UINT64_C(1) << i));
	printf("%s\n", features ? "" : " none");
	for (unsigned level = 1; level <= CACHE_LEVELS; level++) {
		size_t size = hone_cpu_cache_size(level);
		printf("cache L%u   %s\n", level,
			size ? cli_size_text(text, size) : "unknown");
	}
	size_t min = hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	print_range("own copies",
		min > HONE_DETAIL_COPY_SHORT ? min : HONE_DETAIL_COPY_SHORT + 1,
		hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX));
	print_range("streams", hone_copy_threshold(), SIZE_MAX);
	for (size_t i = 0; (part = hone_cpu_part(i)); i++)
		printf("%-10s %s\n", part, hone_cpu_variant(part));
}

int
cpu_run(const struct cli *cli)
{
	if (cli->option[OPTION_JSON])
		print_json(hone_cpu_features());
	else
		print_text(hone_cpu_features());
	return cli_flush_stdout();
}
