/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verdicts_play FORMAT FILE...: compares the verdicts of each image in a file
 * with those on each other way. Prints what differs, and the number of images
 * that were compared. FORMAT - is that of the bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verdicts.h"

/* Most bytes of an image. Larger ones are left out. */
#define LARGEST ((size_t)16 << 20)

/* Prints a difference. Returns 1 if there is one. */
static unsigned
compare(const char *file, enum way way, const char *what, const int verdict[2],
	const char *const text[2])
{
	if (verdict[0] == verdict[1])
		return 0;
	printf("%s: %s: a file %d '%s', %s %d '%s'\n", file, what, verdict[0],
		text[0], way_name(way), verdict[1], text[1]);
	return 1;
}

/* Returns the number of verdicts that differ. */
static unsigned
compare_all(const char *file, enum way way, const struct verdicts *first,
	const struct verdicts *other)
{
	const int checks[2] = {(int)first->check, (int)other->check};
	const char *const texts[2] = {first->text, other->text};
	unsigned wrong = compare(file, way, "check", checks, texts);

	for (int i = 0; i < VERDICT_TRIES; i++) {
		const struct outcome *a = &first->read[i], *b = &other->read[i];
		const int verdict[2] = {(int)a->status, (int)b->status};
		const char *const text[2] = {a->text, b->text};
		/* Alone, a stream is read though a table that the disk does not
		 * need lies past its end, which comes last. */
		if (i != PLAIN)
			wrong += compare(
				file, way, verdict_try(i), verdict, text);
		if (a->status == READS && b->status == READS &&
			memcmp(a->digest, b->digest, sizeof(a->digest)) != 0)
			wrong += compare(file, way, "the digest",
				(const int[2]){0, 1}, text);
	}
	return wrong;
}

/* Returns the bytes of a file, or NULL if there are too many. */
static void *
load(const char *path, size_t *length)
{
	char *bytes = malloc(LARGEST);
	FILE *file = fopen(path, "rb");

	if (!file || !bytes) {
		perror(path);
		exit(2);
	}
	*length = fread(bytes, 1, LARGEST, file);
	fclose(file);
	if (*length < LARGEST)
		return bytes;
	free(bytes);
	return NULL;
}

static unsigned
play(const char *path, const char *format, const void *bytes, size_t length)
{
	static struct verdicts first, other;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	unsigned wrong = 0;

	verdicts_of(&first, WAY_FILE, name, format, bytes, length);
	for (enum way way = WAY_FILE + 1; way < WAYS; way++) {
		if (way_is_served(way) && !image_http_library())
			continue;
		verdicts_of(&other, way, name, format, bytes, length);
		wrong += compare_all(path, way, &first, &other);
	}
	return wrong;
}

int
main(int argc, char **argv)
{
	unsigned wrong = 0, played = 0;

	if (argc < 3)
		return 2;
	const char *format = strcmp(argv[1], "-") == 0 ? NULL : argv[1];
	ways_begin();
	for (int i = 2; i < argc; i++) {
		size_t length;
		void *bytes = load(argv[i], &length);
		if (!bytes)
			continue;
		wrong += play(argv[i], format, bytes, length);
		played++;
		free(bytes);
	}
	ways_end();
	printf("%u images, %u differences\n", played, wrong);
	return wrong > 0;
}
