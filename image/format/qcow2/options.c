/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a new image, with the names of qemu-img create -o. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "format/qcow2/layout.h"
#include "format/qcow2/sink.h"

enum {
	COMPAT,
	CLUSTER_SIZE,
	COMPRESSION_TYPE,
	EXTENDED_L2,
	LAZY_REFCOUNTS,
	PREALLOCATION,
	REFCOUNT_BITS,
	OPTIONS
};

const struct image_option qcow2_options[] = {
	[COMPAT] = {"compat", IMAGE_OPTION_WORD, "0.10 1.1 v2 v3",
		"version of the format (1.1)"},
	[CLUSTER_SIZE] = {"cluster_size", IMAGE_OPTION_SIZE, NULL,
		"bytes of a cluster, 512 to 2M (64k)"},
	[COMPRESSION_TYPE] = {"compression_type", IMAGE_OPTION_WORD,
		"zlib zstd", "codec of compressed clusters (zlib)"},
	[EXTENDED_L2] = {"extended_l2", IMAGE_OPTION_FLAG, NULL,
		"allocate subclusters, 1/32 of a cluster (off)"},
	[LAZY_REFCOUNTS] = {"lazy_refcounts", IMAGE_OPTION_FLAG, NULL,
		"always off"},
	[PREALLOCATION] = {"preallocation", IMAGE_OPTION_WORD, "off metadata",
		"allocate every cluster in the file (off)"},
	[REFCOUNT_BITS] = {"refcount_bits", IMAGE_OPTION_NUMBER, NULL,
		"width of a reference count, 1 to 64 (16)"},
	[OPTIONS] = {0},
};

static bool
power_of_two(uint64_t value, uint64_t least, uint64_t most)
{
	return value >= least && value <= most && (value & (value - 1)) == 0;
}

static int
set_cluster_size(
	struct image_create *create, uint64_t value, struct image_error *err)
{
	if (!power_of_two(value, UINT64_C(1) << QCOW2_MIN_CLUSTER_BITS,
		    UINT64_C(1) << QCOW2_MAX_CLUSTER_BITS))
		return image_fail(err, NULL, -EINVAL,
			"cluster_size %" PRIu64
			" is not a power of two from 512 to 2M",
			value);
	create->cluster_size = value;
	return 0;
}

static int
set_refcount_bits(
	struct image_create *create, uint64_t value, struct image_error *err)
{
	if (!power_of_two(value, 1, 64))
		return image_fail(err, NULL, -EINVAL,
			"refcount_bits %" PRIu64
			" is not a power of two from 1 to 64",
			value);
	create->refcount_bits = (unsigned)value;
	return 0;
}

int
qcow2_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err)
{
	switch (option - qcow2_options) {
	case COMPAT:
		create->version = value % 2 ? 3 : 2;
		return 0;
	case CLUSTER_SIZE:
		return set_cluster_size(create, value, err);
	case COMPRESSION_TYPE:
		create->codec = value ? IMAGE_CODEC_ZSTD : IMAGE_CODEC_ZLIB;
		return 0;
	case EXTENDED_L2:
		create->extended_l2 = value;
		return 0;
	case LAZY_REFCOUNTS:
		if (value)
			return image_fail(err, NULL, -EINVAL,
				"lazy_refcounts can only be off: the reference "
				"counts of a new image are complete");
		return 0;
	case PREALLOCATION:
		create->preallocate = value;
		return 0;
	default:
		assert(option - qcow2_options == REFCOUNT_BITS);
		return set_refcount_bits(create, value, err);
	}
}

/* Returns a requested option that only version 3 has, or NULL. */
static const char *
only_in_version_3(const struct image_create *create)
{
	if (create->codec == IMAGE_CODEC_ZSTD)
		return "compression_type=zstd";
	if (create->extended_l2)
		return "extended_l2=on";
	if (create->refcount_bits != 16)
		return "refcount_bits other than 16";
	return NULL;
}

int
qcow2_check_create(const struct image_create *create, const char *name,
	struct image_error *err)
{
	const char *newer = only_in_version_3(create);

	if (create->version == 2 && newer)
		return image_fail(err, name, -EINVAL,
			"%s is not possible with compat=0.10", newer);
	if (create->extended_l2 && create->cluster_size &&
		create->cluster_size < 1u << QCOW2_MIN_EXTENDED_BITS)
		return image_fail(err, name, -EINVAL,
			"extended_l2=on needs a cluster_size of 16k or more, "
			"not %" PRIu64,
			create->cluster_size);
	if (create->compress && create->preallocate)
		return image_fail(err, name, -EINVAL,
			"preallocation=metadata is not possible with "
			"compression: compressed clusters have no fixed place");
	return 0;
}
