/* SPDX-License-Identifier: BSD-3-Clause */
/* Images in memory that is made read-only: a write is a segmentation fault. */
#include "functions.h"
#include <sys/mman.h>

static struct region **regions;
static zend_long n_regions;

static struct region *
region_map(size_t size)
{
	struct region *region = calloc(1, sizeof(*region));

	region->room = (size + 4095) / 4096 * 4096 + 4096;
	region->map = mmap(NULL, region->room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region->map == MAP_FAILED)
		zend_error_noreturn(E_ERROR, "mmap of %zu bytes", size);
	/* What is not written by a stored value is not zero. */
	memset(region->map, 0xa5, region->room);
	region->stored.size = size;
	return region;
}

static void
region_protect(struct region *region)
{
	if (mprotect(region->map, region->room, PROT_READ) != 0)
		zend_error_noreturn(E_ERROR, "mprotect");
}

struct region *
region_of_built(const struct php_hone_builder *builder)
{
	struct region *region = region_map(builder->size);
	unsigned char *end = (unsigned char *)region->map + builder->size;

	php_hone_value_place(
		builder, region->map, region->map, &region->stored.root);
	region->stored.data = builder->size == 0 ? NULL : region->map;
	if (*end != 0xa5)
		zend_error_noreturn(E_ERROR, "bytes after the data changed");
	region_protect(region);
	return region;
}

struct region *
region_copied(struct region *region, bool consume)
{
	struct region *copy = region_map(region->stored.size);

	php_hone_value_copy(
		&region->stored, copy->map, copy->map, &copy->stored.root);
	copy->stored.data = region->stored.data == NULL ? NULL : copy->map;
	region_protect(copy);
	if (consume)
		mprotect(region->map, region->room, PROT_NONE);
	return copy;
}

void
region_free(struct region *region)
{
	munmap(region->map, region->room);
	free(region);
}

zend_long
region_add(struct region *region)
{
	if (n_regions % 1024 == 0)
		regions = realloc(
			regions, (size_t)(n_regions + 1024) * sizeof(*regions));
	regions[n_regions] = region;
	return n_regions++;
}

struct region *
region_get(zend_long number)
{
	if (number < 0 || number >= n_regions || regions[number] == NULL) {
		zend_throw_error(NULL, "there is no such value");
		return NULL;
	}
	return regions[number];
}

void
region_remove(zend_long number)
{
	region_free(regions[number]);
	regions[number] = NULL;
}
