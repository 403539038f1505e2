/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/blocks.h"
#include "loaded.h"
#include "store/address.h"
#include "store/http/http.h"
#include "thread.h"

static struct http *
http_of(struct image_store *store)
{
	return (struct http *)store;
}

static int
http_read(struct image_store *store, uint64_t offset, void *buf, size_t length,
	struct image_error *err)
{
	return http_blocks_read(http_of(store), offset, buf, length, err);
}

static int
http_usage(const struct image_store *store, struct image_usage *usage,
	struct image_error *err)
{
	(void)err;
	usage->file_size = usage->disk_usage = store->size;
	return 0;
}

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
	for (size_t i = 0; i < HTTP_SLOTS; i++)
		free(http->slots[i].data);
	http_target_free(&http->target);
	pthread_cond_destroy(&http->changed);
	pthread_mutex_destroy(&http->lock);
	free(http->ring.data);
	free(http->url);
	free(http->store.name);
	free(http);
}

static void
http_close(struct image_store *store)
{
	struct http *http = http_of(store);

	pthread_mutex_lock(&http->lock);
	http->stop = true;
	pthread_mutex_unlock(&http->lock);
	http_wake(http);
	pthread_join(http->thread, NULL);
	free_all(http);
}

static const struct image_store_ops http_ops = {
	.read = http_read,
	.usage = http_usage,
	.close = http_close,
};

static struct http *
allocate(const char *address)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	http->store.ops = &http_ops;
	http->store.served = http->store.may_be_error_page = true;
	http->store.name = image_address_name(address);
	pthread_mutex_init(&http->lock, NULL);
	pthread_cond_init(&http->changed, NULL);
	for (size_t i = 0; i < HTTP_SLOTS; i++)
		http->slots[i].block = UINT64_MAX;
	return http;
}

/* The first request. A server answers with less if the file is shorter. */
static bool
prepare(struct http *http)
{
	http->multi = libcurl.multi_init();
	http->queue = http_transfer_new(
		http, 0, http->whole ? HTTP_LONG : HTTP_BLOCK);
	return http->multi && http->queue;
}

static int
wait_for_answer(struct http *http, struct image_error *err)
{
	pthread_mutex_lock(&http->lock);
	while (!http->open && !http->failed)
		pthread_cond_wait(&http->changed, &http->lock);
	int rc = http->open ? 0 : http->failed;
	if (rc < 0)
		*err = http->err;
	pthread_mutex_unlock(&http->lock);
	return rc;
}

/* Without ranges the store is one over a stream. */
static int
finish_open(
	struct http *http, struct image_store **out, struct image_error *err)
{
	struct image_stream *stream;

	if (!http->ring.data) {
		*out = &http->store;
		return 0;
	}
	int rc = http_stream_open(http, &stream, err);
	if (rc == 0)
		rc = image_blocks_open(stream, 0, out, err);
	if (rc == 0)
		(*out)->served = (*out)->may_be_error_page = true;
	return rc;
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
	struct http *http = allocate(address);
	if (!http)
		return image_no_memory(err);
	http->inspect = how->inspect;
	http->whole = how->whole;
	http->expected = how->expected;
	if (!http->store.name || !prepare(http))
		rc = image_no_memory(err);
	if (rc == 0)
		rc = http_target_parse(
			&http->target, address, http->store.name, how, err);
	/* libcurl goes on if it has no sockets for that. */
	if (rc == 0 && !http_wake(http))
		rc = image_fail(err, http->store.name, -EMFILE,
			"cannot be read: libcurl cannot make a pair of "
			"sockets; too many files may be open");
	if (rc == 0) {
		rc = image_thread_create(&http->thread, http_thread, http);
		if (rc != 0)
			rc = image_fail(err, http->store.name, -rc,
				"cannot be read: no thread can be started: %s",
				strerror(rc));
	}
	if (rc < 0) {
		free_all(http);
		return rc;
	}
	rc = wait_for_answer(http, err);
	if (rc < 0)
		http_close(&http->store);
	else
		rc = finish_open(http, out, err);
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
