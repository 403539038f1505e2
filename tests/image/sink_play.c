/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink_play IMAGE RAW SIZE SEED NAME=VALUE...: make a qcow2 image and a raw
 * file of the same bytes. Options are those of the format; also compress=0|1
 * and dense=PERCENT, how much of the disk has data. For test_sink.py, which
 * looks at what came out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "play.h"

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "sink_play: %s\n", what);
	exit(3);
}

static void
set(struct play_how *how, char *word)
{
	struct image_error err;
	char *value = strchr(word, '=');

	if (!value)
		die(word);
	*value++ = 0;
	uint64_t number = strtoull(value, NULL, 0);
	if (strcmp(word, "compress") == 0)
		how->create.compress = number;
	else if (strcmp(word, "dense") == 0)
		how->dense = (size_t)number;
	for (const struct image_option *o = qcow2_options; o->name; o++)
		if (strcmp(o->name, word) == 0 &&
			qcow2_set(&how->create, o, number, &err) < 0)
			die(err.text);
}

int
main(int argc, char **argv)
{
	struct play_how how = {
		.create = {.version = 3, .refcount_bits = 16}, .dense = 50};

	if (argc < 5)
		die("arguments");
	how.create.size = strtoull(argv[3], NULL, 0);
	how.seed = strtoull(argv[4], NULL, 0);
	for (int i = 5; i < argc; i++)
		set(&how, argv[i]);
	int image = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	int raw = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (image < 0 || raw < 0)
		die("open");
	play(image, raw, &how);
	return close(image) || close(raw);
}
