/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include "loaded.h"
#include "store/nbd/libnbd.h"

struct nbd_functions libnbd;

static const char *const names[] = {
#define IMAGE_LOADED(name) #name,
#include "store/nbd/libnbd.def"
#undef IMAGE_LOADED
	NULL,
};

/* the result of load() */
static int loaded;
static struct image_error load_err;

static void
load(void)
{
	const struct image_loaded library = {"libnbd.so.0", "libnbd0", names};

	loaded = image_load(&library, &libnbd, &load_err);
}

int
libnbd_load(struct image_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (loaded < 0)
		*err = load_err;
	return loaded;
}
