/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of a variant, the same for every part. */
#include "part.h"

const struct hone_variant *
hone_part_best(const struct hone_part *part)
{
	const char *table = part->variants;
	size_t i = part->n_variants - 1;

	for (;; i--) {
		const struct hone_variant *variant =
			(const void *)(table + i * part->variant_size);

		if (hone_cpu_has(variant->needs)) /* the first needs nothing */
			return variant;
	}
}

/*
 * Sequentially consistent, together with the store of the limit and the
 * install(NULL) that follows it in hone_cpu_limit(). If hone_part_best() still
 * sees the old limit after the stores of install(), then install(NULL) comes
 * after those stores and overwrites them.
 */
const struct hone_variant *
hone_part_choose(const struct hone_part *part)
{
	const struct hone_variant *variant;

	do {
		variant = hone_part_best(part);
		part->install(variant);
	} while (variant != hone_part_best(part));
	return variant;
}
