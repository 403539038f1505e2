/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of choices. What is accepted is, but for its line feed, what
 * hone_copy_save() writes then. What is refused changes nothing. The first byte
 * of the input chooses where in a good line the rest of the input stands; that
 * line ends with the input, or goes on.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <hone/cpu.h>
#include "copy.h"

#define MAX_INPUT 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool good)
{
	if (!good)
		abort();
}

static size_t
good_line(char *line)
{
	int n;

	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
	hone_copy_set_threshold(12345);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, 67890);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, SIZE_MAX);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, 64);
	n = hone_copy_save(line, HONE_COPY_SAVED_SIZE);
	check(n > 0 && n < HONE_COPY_SAVED_SIZE);
	return (size_t)n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char before[HONE_COPY_SAVED_SIZE], after[HONE_COPY_SAVED_SIZE];
	char text[HONE_COPY_SAVED_SIZE + MAX_INPUT], *exact;
	size_t length = good_line(before), at, n;
	int error;

	if (size == 0 || size > MAX_INPUT)
		return 0;
	at = data[0] / 2 % length;
	n = at + size - 1;
	memcpy(text, before, length);
	memcpy(text + at, data + 1, size - 1);
	if (data[0] % 2 && n < length)
		n = length;
	/* Memory that ends with the text: the sanitizer sees each byte read
	 * past it. */
	exact = malloc(n > 0 ? n : 1);
	check(exact != NULL);
	memcpy(exact, text, n);
	error = hone_copy_apply(exact, n);
	free(exact);
	length = (size_t)hone_copy_save(after, sizeof(after));
	if (error != 0) {
		check(error == -EINVAL || error == -ENODEV);
		check(strcmp(before, after) == 0);
		return 0;
	}
	n -= text[n - 1] == '\n';
	check(n + 1 == length && memcmp(text, after, n) == 0);
	return 0;
}
