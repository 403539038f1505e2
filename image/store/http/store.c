/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "loaded.h"
#include "memory.h"
#include "store/address.h"
#include "store/http/http.h"
#include "thread.h"

static void
free_all(struct http *http)
{
	while (http->queue) {
		struct http_transfer *next = http->queue->next;
		http_transfer_free(http->queue);
		http->queue = next;
	}
	if (http->multi)
		libcurl.multi_cleanup(http->multi);
	http_target_free(&http->target);
	free(http->url);
}

static void
http_close(struct image_blocks *blocks)
{
	struct http *http = (struct http *)blocks;

	pthread_mutex_lock(&blocks->lock);
	http->stop = true;
	pthread_mutex_unlock(&blocks->lock);
	http_wake(blocks);
	pthread_join(http->thread, NULL);
	free_all(http);
}

/*
 * Most bytes ahead of a sequence whose digest is expected. With the authorities
 * of the system, 4.6 MiB, a packed archive needs 21.7 MiB more than one in a
 * local file: the target is 24 MiB. A gigabit a second brings this in 84 ms.
 */
#define EXPECTED_AHEAD ((uint64_t)10 << 20)

static struct http *
allocate(const char *address, const struct image_store_how *how)
{
	static const struct block_producer producer = {
		http_request, http_wake, http_close};
	const struct image_request *request = how->request;
	struct http *http = calloc(1, sizeof(*http));
	uint64_t memory = image_memory(how->memory).blocks;

	if (!http)
		return NULL;
	/* One request takes half of the blocks at most. */
	if (memory < 2 * BLOCKS_LONG)
		memory = 2 * BLOCKS_LONG;
	if (blocks_create(&http->blocks, memory) < 0) {
		blocks_destroy(&http->blocks);
		return NULL;
	}
	http->blocks.producer = &producer;
	http->blocks.store.served = http->blocks.store.may_be_error_page = true;
	http->blocks.store.name =
		request ? strdup(request->name) : image_address_name(address);
	http->stated = request ? request->size : IMAGE_SIZE_UNKNOWN;
	http->blocks.inspect = how->inspect;
	http->whole = how->whole;
	http->expected = how->expected;
	if (http->expected && http->blocks.max_ahead > EXPECTED_AHEAD)
		http->blocks.max_ahead = EXPECTED_AHEAD;
	/* A server answers with less if the file is shorter. */
	http->queue =
		http_transfer_new(http, 0, http->whole ? BLOCKS_LONG : BLOCK);
	if (http->queue)
		/* What is posted has no ranges. */
		http->queue->whole = request && request->form;
	return http;
}

struct image_libcurl libcurl;

static const struct image_loaded_function wanted[] = {
#define IMAGE_LOADED(prefix, name) IMAGE_LOADED_FUNCTION(prefix##name),
#include "store/http/libcurl.def"
#undef IMAGE_LOADED
	{NULL, NULL},
};

static int
http_library_begin(struct image_error *err)
{
	return libcurl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
		       ? 0
		       : image_no_memory(err);
}

static struct image_loaded library = {.file = "libcurl.so.4",
	.package = "libcurl4",
	.wanted = wanted,
	.functions = &libcurl,
	.begin = http_library_begin,
	.lock = PTHREAD_MUTEX_INITIALIZER};

int
image_http_open(const char *address, const struct image_store_how *how,
	struct image_store **out, struct image_error *err)
{
	*out = NULL;
	int rc = image_load(&library, err);
	if (rc < 0)
		return rc;
	struct http *http = allocate(address, how);
	if (!http)
		return image_no_memory(err);
	struct image_blocks *b = &http->blocks;
	http->multi = libcurl.multi_init();
	if (!b->store.name || !http->multi || !http->queue)
		rc = image_no_memory(err);
	if (rc == 0)
		rc = http_target_parse(
			&http->target, address, b->store.name, how, err);
	/* libcurl goes on if it has no sockets for that. */
	if (rc == 0 && !http_wake(b))
		rc = image_fail(err, b->store.name, -EMFILE,
			"cannot be read: libcurl cannot make a pair of "
			"sockets; too many files may be open");
	if (rc == 0) {
		rc = image_thread_create(&http->thread, http_thread, http);
		if (rc != 0)
			rc = image_fail(err, b->store.name, -rc,
				"cannot be read: no thread can be started: %s",
				strerror(rc));
	}
	if (rc < 0) {
		free_all(http);
		blocks_destroy(b);
		return rc;
	}
	pthread_mutex_lock(&b->lock);
	while (!http->open && b->rc == 0)
		pthread_cond_wait(&b->changed, &b->lock);
	if (!http->open) {
		rc = b->rc;
		*err = b->err;
	}
	pthread_mutex_unlock(&b->lock);
	if (rc < 0)
		image_store_close(&b->store);
	else
		*out = &b->store;
	return rc;
}

const char *
image_http_library(void)
{
	static char version[32];
	struct image_error err;

	if (image_load(&library, &err) < 0)
		return NULL;
	const curl_version_info_data *info =
		libcurl.version_info(CURLVERSION_NOW);
	snprintf(version, sizeof(version), "%s%s", info->version,
		info->features & CURL_VERSION_HTTP2 ? "" : " (no HTTP/2)");
	return version;
}
