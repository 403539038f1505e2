/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_VALUES_FUNCTIONS_H
#define HONE_VALUES_FUNCTIONS_H
/* What the files of the tests' extension share. */
#include "values/values.h"

/* A stored value in a mapping of its own, which nobody can write to. */
struct region {
	struct php_hone_value stored;
	void *map;
	size_t room;
};

/* A mapping with the data of what was built; PHP's error on failure. */
struct region *region_of_built(const struct php_hone_builder *builder);
/* A copy at another address. The first one's memory is overwritten and made
 * unreadable if `consume`. */
struct region *region_copied(struct region *region, bool consume);
void region_free(struct region *region);

/* A number for scripts, and back; NULL with an exception if it is none. */
zend_long region_add(struct region *region);
struct region *region_get(zend_long number);
void region_remove(zend_long number);

#endif
