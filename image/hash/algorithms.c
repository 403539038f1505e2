/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of algorithms.def as a table. */
#include <string.h>
#include "hash/hash.h"

static const struct image_algorithm algorithms[] = {
#define IMAGE_ALGORITHM(name, tag, other_tags, evp, bits)                      \
	{name, tag, other_tags, evp, (bits) / 8},
#include "hash/algorithms.def"
#undef IMAGE_ALGORITHM
};

_Static_assert(sizeof(algorithms) / sizeof(algorithms[0]) == IMAGE_ALGORITHMS,
	"image.h has the number of rows");

const struct image_algorithm *
image_algorithm(size_t index)
{
	return index < IMAGE_ALGORITHMS ? &algorithms[index] : NULL;
}

const struct image_algorithm *
image_algorithm_by_name(const char *name, size_t length)
{
	for (size_t i = 0; i < IMAGE_ALGORITHMS; i++)
		if (strlen(algorithms[i].name) == length &&
			memcmp(algorithms[i].name, name, length) == 0)
			return &algorithms[i];
	return NULL;
}

const char *
image_algorithm_name(const struct image_algorithm *algorithm)
{
	return algorithm->name;
}

const char *
image_algorithm_tag(const struct image_algorithm *algorithm)
{
	return algorithm->tag;
}

size_t
image_algorithm_length(const struct image_algorithm *algorithm)
{
	return algorithm->length;
}
