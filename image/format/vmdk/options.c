/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a new image, with the names of qemu-img create -o. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include "format/vmdk/vmdk.h"

enum { ADAPTER_TYPE, HWVERSION, SUBFORMAT, OPTIONS };

const struct image_option vmdk_options[] = {
	[ADAPTER_TYPE] = {"adapter_type", IMAGE_OPTION_WORD,
		"ide lsilogic buslogic legacyESX pvscsi",
		"adapter of the virtual machine (ide)"},
	[HWVERSION] = {"hwversion", IMAGE_OPTION_NUMBER, NULL,
		"version of the virtual hardware, 3 to 99 (4)"},
	[SUBFORMAT] = {"subformat", IMAGE_OPTION_WORD, "streamOptimized",
		"always streamOptimized"},
	[OPTIONS] = {0},
};

const char *
vmdk_adapter(const struct image_create *create)
{
	static const char *const names[] = {
		"ide", "lsilogic", "buslogic", "legacyESX", "pvscsi"};
	return names[create->adapter_type];
}

int
vmdk_set(struct image_create *create, const struct image_option *option,
	uint64_t value, struct image_error *err)
{
	switch (option - vmdk_options) {
	case ADAPTER_TYPE:
		create->adapter_type = (unsigned)value;
		return 0;
	case SUBFORMAT:
		return 0;
	default:
		assert(option - vmdk_options == HWVERSION);
		if (value < 3 || value > 99)
			return image_fail(err, NULL, -EINVAL,
				"hwversion %" PRIu64 " is not from 3 to 99",
				value);
		create->hw_version = (unsigned)value;
		return 0;
	}
}
