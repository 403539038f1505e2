/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options that several commands have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

#define DEFAULT_BLOCK 4096
#define MIN_BLOCK 512
#define MAX_BLOCK ((uint64_t)2 << 20)
/* The blocks of a server are not less. */
#define MIN_MEMORY ((uint64_t)8 << 20)
/* An hour. */
#define MAX_TIMEOUT 3600

int
cli_format(const struct cli *cli, enum option_id id,
	const struct image_format **format)
{
	const char *name = cli->option[id];

	*format = NULL;
	if (!name)
		return 0;
	*format = image_format_by_name(name);
	if (*format && id == OPTION_FORMAT && !(*format)->open)
		return cli_usage(cli,
			"'%s' is only written; without -f, the disk in such an "
			"archive is read",
			name);
	return *format ? 0 : cli_refuse_format(cli, id, name);
}

int
cli_size(const struct cli *cli, enum option_id id, uint64_t least,
	uint64_t *size)
{
	const char *text = cli->option[id];

	if (!text || (cli_parse_size(text, size) && *size >= least))
		return 0;
	return cli_usage(cli, "--%s: '%s' is not a valid size",
		cli_options[id].name, text);
}

static int
parse_block(const struct cli *cli, struct image_run *run)
{
	const char *text = cli->option[OPTION_BLOCK];
	uint64_t block = DEFAULT_BLOCK;

	int rc = cli_size(cli, OPTION_BLOCK, 0, &block);
	if (rc != 0)
		return rc;
	if (block == 0)
		return cli_usage(cli, "--sparse-size 0: zero detection cannot "
				      "be turned off; use 512 to 2M");
	if (block < MIN_BLOCK || block > MAX_BLOCK || (block & (block - 1)))
		return cli_usage(cli,
			"--sparse-size: '%s' is not a power of two from 512 "
			"to 2M",
			text);
	run->block = (size_t)block;
	return 0;
}

/* Without the option, *number becomes 0. */
static int
parse_number(
	const struct cli *cli, enum option_id id, int most, unsigned *number)
{
	const char *text = cli->option[id];
	int value = 0;

	if (text && (!cli_parse_int(text, &value) || value < 1 || value > most))
		return cli_usage(cli, "--%s: '%s' is not a number from 1 to %d",
			cli_options[id].name, text, most);
	*number = (unsigned)value;
	return 0;
}

static int
parse_memory(const struct cli *cli, size_t *size)
{
	const char *text = cli->option[OPTION_MEMORY];
	uint64_t memory = 0;

	int rc = cli_size(cli, OPTION_MEMORY, 0, &memory);
	if (rc == 0 && text && memory < MIN_MEMORY)
		rc = cli_usage(cli, "--memory: '%s' is less than 8M", text);
	*size = memory < SIZE_MAX ? (size_t)memory : SIZE_MAX;
	return rc;
}

/* With --untrusted: more than most disks have. */
#define UNTRUSTED_SIZE ((uint64_t)2 << 40)
#define UNTRUSTED_WRITTEN ((uint64_t)64 << 30)

/* Set *size to the limit, or to the default with --untrusted. */
static int
parse_max_size(const struct cli *cli, uint64_t untrusted, uint64_t *size)
{
	*size = cli->option[OPTION_UNTRUSTED] ? untrusted : 0;
	return cli_size(cli, OPTION_MAX_SIZE, 1, size);
}

static int
parse_rate(const struct cli *cli, struct image_run *run)
{
	const char *text = cli->option[OPTION_RATE];

	int rc = cli_size(cli, OPTION_RATE, 1, &run->rate);
	/* If a rate is below 1 KiB/s, its unit was probably forgotten. */
	if (rc == 0 && text && run->rate < 1024)
		return cli_usage(cli,
			"--rate-limit: '%s' is %" PRIu64
			" bytes a second; add a unit: %sM is %s MiB/s",
			text, run->rate, text, text);
	return rc;
}

int
cli_run(const struct cli *cli, struct image_run *run)
{
	*run = (struct image_run){0};
	int rc = parse_block(cli, run);
	if (rc == 0)
		rc = parse_number(
			cli, OPTION_THREADS, IMAGE_MAX_THREADS, &run->threads);
	if (rc == 0)
		rc = parse_memory(cli, &run->memory);
	if (rc == 0)
		rc = parse_max_size(cli, UNTRUSTED_WRITTEN, &run->max_written);
	return rc ? rc : parse_rate(cli, run);
}

int
cli_cache_mode(const struct cli *cli, enum option_id id, bool *direct)
{
	const char *mode = cli->option[id];

	if (!mode)
		return 0;
	*direct = strcmp(mode, "none") == 0 || strcmp(mode, "directsync") == 0;
	if (*direct || strcmp(mode, "writeback") == 0 ||
		strcmp(mode, "writethrough") == 0 ||
		strcmp(mode, "unsafe") == 0)
		return 0;
	return cli_usage(cli,
		"-%c: '%s' is not none, writeback, writethrough, directsync or "
		"unsafe",
		cli_options[id].letter, mode);
}

static void
print_trace(void *opaque, const char *text)
{
	const uint64_t *begin_ns = opaque;

	cli_note("trace %.3f: %s", (double)(cli_now_ns() - *begin_ns) * 1e-9,
		text);
}

/* Parse "http,nbd". */
static int
parse_trace(const struct cli *cli, struct image_network *network)
{
	/* Lives as long as the image. */
	static uint64_t begin_ns;
	static const struct image_trace trace = {print_trace, &begin_ns};
	const char *text = cli->option[OPTION_TRACE];

	begin_ns = cli_now_ns();
	for (size_t length; text; text += length + 1) {
		length = strcspn(text, ",");
		if (length == 4 && strncmp(text, "http", length) == 0)
			network->http_trace = &trace;
		else if (length == 3 && strncmp(text, "nbd", length) == 0)
			network->nbd_trace = &trace;
		else
			return cli_usage(cli,
				"--trace: '%.*s' is not http or nbd",
				(int)length, text);
		if (!text[length])
			break;
	}
	return 0;
}

/* Those of oci. */
static int
parse_registry(const struct cli *cli, struct image_network *network)
{
	const char *platform = cli->option[OPTION_PLATFORM];
	const char *annotation = cli->option[OPTION_ANNOTATION];
	const char *slash = platform ? strchr(platform, '/') : NULL;

	if (platform && (!slash || slash == platform || !slash[1]))
		return cli_usage(
			cli, "--platform: '%s' is not OS/ARCH", platform);
	if (annotation && (!strchr(annotation, '=') || annotation[0] == '='))
		return cli_usage(cli, "--oci-annotation: '%s' is not KEY=VALUE",
			annotation);
	network->platform = platform;
	network->annotation = annotation;
	network->plain_http = cli->option[OPTION_PLAIN_HTTP];
	return 0;
}

/* The options of addresses. */
static int
parse_network(const struct cli *cli, struct image_network *network)
{
	const char *header = cli->option[OPTION_HTTP_HEADER];
	const char *file = cli->option[OPTION_CACERT];
	const char *directory = cli->option[OPTION_CAPATH];

	/* Others see the command line, and the header has secrets. */
	if (header && (header[0] != '@' || !header[1]))
		return cli_usage(
			cli, "--http-header takes the name of a file: @FILE");
	int rc = parse_number(
		cli, OPTION_TIMEOUT, MAX_TIMEOUT, &network->timeout);
	if (rc == 0)
		rc = parse_registry(cli, network);
	if (rc != 0)
		return rc;
	/* The variable of a script is not set. */
	if ((file && !file[0]) || (directory && !directory[0]))
		return cli_usage(cli, "--%s: the name is empty",
			file && !file[0] ? "cacert" : "capath");
	network->http_header_file = header ? header + 1 : NULL;
	network->ca_file = file;
	network->ca_directory = directory;
	network->public_redirects = cli->option[OPTION_PUBLIC_REDIRECTS] ||
				    cli->option[OPTION_UNTRUSTED];
	network->tls_certificates = cli->option[OPTION_TLS_CERTIFICATES];
	network->tls_psk = cli->option[OPTION_TLS_PSK];
	return parse_trace(cli, network);
}

static void
begin_spill(void *opaque, const char *name, const char *folder)
{
	(void)opaque;
	cli_note("%s: more of it is needed again than fits in memory: keeping "
		 "bytes in a temporary file in %s",
		name, folder);
}

static void
report_left(void *opaque, const char *name, uint64_t bytes)
{
	(void)opaque;
	cli_note("%s: %s behind the packed data %s left", name,
		IMAGE_COUNT(bytes, "byte"), image_plural(bytes, "was", "were"));
}

static void
leave_silently(void *opaque, const char *name, uint64_t bytes)
{
	(void)opaque;
	(void)name;
	(void)bytes;
}

/* Parse "xz,gzip": the packings from the outside in. Auto and none are alone.
 */
static int
parse_unpack(const struct cli *cli, struct image_open *how)
{
	const char *text = cli->option[OPTION_UNPACK];
	char name[16];

	for (unsigned i = 0; text; i++) {
		size_t length = strcspn(text, ",");
		bool alone = i == 0 && !text[length];
		/* A longer name is that of no packing, cut or not. */
		snprintf(name, sizeof(name), "%.*s", (int)length, text);
		enum image_packing packing = image_packing_by_name(name);
		if (packing == IMAGE_PACKINGS ||
			(!alone && packing <= IMAGE_PACKING_NONE))
			return cli_usage(cli,
				"--unpack: '%.*s' is not auto, none, gzip, xz, "
				"zstd or bzip2%s",
				(int)length, text,
				alone ? "" : ", and a list has the last four");
		if (i == IMAGE_ROUNDS)
			return cli_usage(cli,
				"--unpack: '%s' has more than %d packings",
				cli->option[OPTION_UNPACK], IMAGE_ROUNDS);
		if (i == 0)
			how->packing = packing;
		else
			how->inner[i - 1] = packing;
		text = text[length] ? text + length + 1 : NULL;
	}
	return 0;
}

int
cli_open(const struct cli *cli, struct image_open *how)
{
	/* Lives as long as the image. */
	static struct image_spill spill;
	static struct image_trailing trailing;

	*how = (struct image_open){
		.allow_backing = cli->option[OPTION_ALLOW_BACKING],
		.allow_data_file = cli->option[OPTION_ALLOW_DATA_FILE],
		.member = cli->option[OPTION_MEMBER],
		.snapshot = cli->option[OPTION_SNAPSHOT],
		.untrusted = cli->option[OPTION_UNTRUSTED],
		.force_share = cli->option[OPTION_FORCE_SHARE],
		.spill = &spill,
	};
	spill.folder = cli->option[OPTION_SCRATCH];
	if (!spill.folder || !*spill.folder)
		spill.folder = getenv("TMPDIR");
	if (!spill.folder || !*spill.folder)
		spill.folder = "/tmp";
	if (!cli->option[OPTION_QUIET])
		spill.begin = begin_spill;
	trailing.left =
		cli->option[OPTION_QUIET] ? leave_silently : report_left;
	if (cli->option[OPTION_TRAILING_DATA])
		how->trailing = &trailing;
	int rc = cli_format(cli, OPTION_FORMAT, &how->format);
	if (rc == 0)
		rc = parse_network(cli, &how->network);
	if (rc == 0)
		rc = parse_unpack(cli, how);
	if (rc == 0)
		rc = parse_memory(cli, &how->memory);
	if (rc == 0)
		rc = parse_number(
			cli, OPTION_THREADS, IMAGE_MAX_THREADS, &how->threads);
	if (rc == 0)
		rc = parse_max_size(cli, UNTRUSTED_SIZE, &how->max_size);
	if (rc == 0)
		rc = cli_source_choices(cli, how);
	return rc ? rc : cli_cache_mode(cli, OPTION_SOURCE_CACHE, &how->direct);
}
