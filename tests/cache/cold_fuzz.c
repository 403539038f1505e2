/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a value in the cold form, which may be compressed. What is
 * accepted is read as PHP reads it, a value with objects as a fetch reads it.
 * Its own cold form is the same value. The first byte of the input says whether
 * objects are allowed. The seeds are stored values: the program writes them to
 * its last argument, the corpus.
 */
#include "value_text.h"
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* PHP's headers name a function of PHP, which is not here. */
#undef snprintf

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct php_hone_cold cold;

static void
write_seed(const char *corpus, const char *name, unsigned i,
	struct text_made made, bool graph)
{
	char path[4096];

	text_cold(&cold, &made, graph);
	php_hone_cold_compress(&cold, 0);
	snprintf(path, sizeof path, "%s/%s-%u", corpus, name, i);
	FILE *file = fopen(path, "w");
	value_must(file != NULL && fputc(graph, file) == graph &&
		   fwrite(cold.bytes.bytes, 1, cold.bytes.used, file) ==
			   cold.bytes.used &&
		   fclose(file) == 0);
	free(made.bytes);
}

static void
write_seeds(const char *corpus, const char *name, const char *const *texts,
	bool graph)
{
	for (unsigned i = 0; texts[i] != NULL; i++)
		write_seed(corpus, name, i, text_store(texts[i]), graph);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *corpus = (*argv)[*argc - 1];
	struct stat status;

	if (*argc < 2 || stat(corpus, &status) != 0 || !S_ISDIR(status.st_mode))
		return 0;
	write_seeds(corpus, "seed", value_texts, false);
	write_seeds(corpus, "object", object_texts, true);
	for (unsigned n = 16; n <= 64; n += 16)
		write_seed(corpus, "names", n, text_names(n), false);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text_made made, again;
	const char *phrase = NULL;
	unsigned char *bytes;
	bool graph;

	if (size == 0)
		return 0;
	graph = *data & 1;
	/* Exactly these bytes, so that AddressSanitizer sees what lies after
	 * them. */
	bytes = malloc(size - 1 + (size == 1));
	memcpy(bytes, data + 1, size - 1);
	if (text_warm(&cold, bytes, size - 1, graph, &made, &phrase)) {
		value_read(made.bytes, &made.root, graph);
		text_cold(&cold, &made, graph);
		value_must(text_again(&cold, graph, &again));
		value_must(again.size <= made.size);
		text_cold(&cold, &again, graph);
		php_hone_cold_compress(&cold, 0);
		free(made.bytes);
		value_must(text_again(&cold, graph, &made));
		value_must(again.size == made.size &&
			   (made.size == 0 || memcmp(again.bytes, made.bytes,
						      made.size) == 0));
		free(again.bytes);
		free(made.bytes);
	} else {
		value_must(phrase != NULL);
	}
	free(bytes);
	return 0;
}
