/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens an address of the schemes nbd, nbd+unix, nbds and nbds+unix. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "loaded.h"
#include "store/address.h"
#include "store/nbd/nbd.h"

struct image_libnbd libnbd;

static const struct image_loaded_function wanted[] = {
#define IMAGE_LOADED(prefix, name) IMAGE_LOADED_FUNCTION(prefix##name),
#include "store/nbd/libnbd.def"
#undef IMAGE_LOADED
	{NULL, NULL},
};

static struct image_loaded library = {.file = "libnbd.so.0",
	.package = "libnbd0",
	.wanted = wanted,
	.functions = &libnbd,
	.lock = PTHREAD_MUTEX_INITIALIZER};

/* As long as most programs wait for a server. */
#define DEFAULT_LIMIT_S 60

const char *
image_nbd_library(void)
{
	static char version[32];
	struct image_error err;

	if (image_load(&library, &err) < 0)
		return NULL;
	struct nbd_handle *h = libnbd.create();
	if (h)
		snprintf(version, sizeof(version), "%s%s",
			libnbd.get_version(h),
			libnbd.supports_tls(h) == 1 ? "" : " (no TLS)");
	libnbd.close(h);
	return version;
}

/* The query has only the socket. libnbd has keys that name files, and one that
 * accepts any certificate. */
static int
check_address(const char *address, const struct image_store_how *how,
	struct image_error *err)
{
	const char *after = strchr(address, ':');
	const char *query = address + strcspn(address, "?");
	bool secure = strncmp(address, "nbds", 4) == 0;

	if (!after || strncmp(after, "://", 3) != 0)
		return image_fail(err, address, -EINVAL,
			"is not an address: write nbd://HOST/EXPORT or "
			"nbd+unix:///EXPORT?socket=SOCKET");
	while (*query) {
		query++;
		if (strncmp(query, "tls-", 4) == 0)
			return image_fail(err, address, -EINVAL,
				"an address names no file but a socket: use "
				"--tls-certificates or --tls-psk");
		size_t length = strcspn(query, "&;#");
		if (length && strncmp(query, "socket=", 7) != 0)
			return image_fail(err, address, -EINVAL,
				"its query has '%.*s'; only socket=SOCKET is "
				"allowed",
				(int)strcspn(query, "=&;#"), query);
		query += length;
	}
	if (!secure && (how->network.tls_certificates || how->network.tls_psk))
		return image_fail(err, address, -EINVAL,
			"is not encrypted: TLS needs nbds:// or nbds+unix://");
	return 0;
}

static struct image_nbd_store *
create(const char *address, const struct image_store_how *how)
{
	struct image_nbd_store *nbd = calloc(1, sizeof(*nbd));

	if (!nbd)
		return NULL;
	pthread_mutex_init(&nbd->lock, NULL);
	image_nbd_condition(&nbd->opened);
	pthread_mutex_init(&nbd->windows_lock, NULL);
	pthread_mutex_init(&nbd->part_lock, NULL);
	nbd->wake = -1;
	nbd->trace = how->network.nbd_trace;
	nbd->writable = how->writable;
	nbd->limit_ns = (how->network.timeout ? how->network.timeout
					      : DEFAULT_LIMIT_S) *
			UINT64_C(1000000000);
	nbd->store = (struct image_store){.ops = &image_nbd_ops,
		.name = image_address_name(address),
		.served = true,
		.device = true,
		.fixed = true,
		.requests = 8,
		.parallel_writes = true};
	nbd->address = strdup(address);
	if (how->network.tls_certificates)
		nbd->tls_certificates = strdup(how->network.tls_certificates);
	if (how->network.tls_psk)
		nbd->tls_psk = strdup(how->network.tls_psk);
	if (nbd->store.name && nbd->address &&
		!nbd->tls_certificates == !how->network.tls_certificates &&
		!nbd->tls_psk == !how->network.tls_psk)
		return nbd;
	image_store_close(&nbd->store);
	return NULL;
}

int
image_nbd_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	*out = NULL;
	int rc = check_address(address, how, err);
	if (rc == 0)
		rc = image_load(&library, err);
	if (rc < 0)
		return rc;
	struct image_nbd_store *nbd = create(address, how);
	if (!nbd)
		return image_no_memory(err);
	rc = image_nbd_start(nbd, err);
	if (rc < 0) {
		image_store_close(&nbd->store);
		return rc;
	}
	*out = &nbd->store;
	return 0;
}
