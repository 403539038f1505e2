/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of a store: begins requests, and drives libcurl. */
#include <errno.h>
#include "store/http/http.h"
#include "thread.h"

#define IDLE_MS 10000

/* The kernel may lack the memory for a byte, and has it at the next attempt. If
 * all fail, the thread wakes up IDLE_MS late. */
bool
http_wake(struct image_blocks *blocks)
{
	struct http *http = (struct http *)blocks;
	unsigned tries = 0;

	while (libcurl.multi_wakeup(http->multi) != CURLM_OK)
		if (++tries == HTTP_TRIES)
			return false;
	return true;
}

static void
fail(struct http *http, int code, const struct image_error *err)
{
	pthread_mutex_lock(&http->blocks.lock);
	blocks_fail(&http->blocks, code, err);
	pthread_mutex_unlock(&http->blocks.lock);
}

/* Take the first request that is due, or reduce *wait_ms until one is. */
static struct http_transfer *
next_due(struct http *http, int *wait_ms)
{
	uint64_t now = image_now_ns() / 1000000;
	struct http_transfer *found = NULL;

	pthread_mutex_lock(&http->blocks.lock);
	for (struct http_transfer **place = &http->queue; *place && !found;) {
		struct http_transfer *t = *place;
		if (t->due_ms <= now) {
			found = t;
			*place = t->next;
			t->next = NULL;
		} else {
			if (t->due_ms - now < (uint64_t)*wait_ms)
				*wait_ms = (int)(t->due_ms - now);
			place = &t->next;
		}
	}
	pthread_mutex_unlock(&http->blocks.lock);
	return found;
}

/* Go on with a paused request. Returns false if the thread has to end. */
static bool
resume(struct http *http)
{
	pthread_mutex_lock(&http->blocks.lock);
	bool goes_on = !http->stop && http->blocks.rc == 0;
	bool now = http->resume;
	http->resume = false;
	pthread_mutex_unlock(&http->blocks.lock);
	for (size_t i = 0; now && i < HTTP_TRANSFERS; i++)
		if (http->running[i])
			libcurl.easy_pause(
				http->running[i]->easy, CURLPAUSE_CONT);
	return goes_on;
}

static int
begin_due(struct http *http)
{
	int wait_ms = IDLE_MS;

	for (size_t i = 0; i < HTTP_TRANSFERS; i++) {
		if (http->running[i])
			continue;
		struct http_transfer *t = next_due(http, &wait_ms);
		if (!t)
			break;
		int rc = http_transfer_begin(t);
		if (rc == 0 && libcurl.multi_add_handle(http->multi, t->easy) !=
				       CURLM_OK)
			rc = image_no_memory(&t->err);
		if (rc == 0) {
			http->running[i] = t;
		} else {
			fail(http, rc, &t->err);
			http_transfer_free(t);
		}
	}
	return wait_ms;
}

static void
end(struct http *http, struct http_transfer *t, CURLcode result)
{
	for (size_t i = 0; i < HTTP_TRANSFERS; i++)
		if (http->running[i] == t)
			http->running[i] = NULL;
	/* The handle keeps the answer until the next request. */
	bool complete = http_transfer_end(t, result);
	libcurl.multi_remove_handle(http->multi, t->easy);
	if (!complete) {
		pthread_mutex_lock(&http->blocks.lock);
		t->next = http->queue;
		http->queue = t;
		pthread_mutex_unlock(&http->blocks.lock);
		return;
	}
	if (t->code < 0)
		fail(http, t->code, &t->err);
	http_transfer_free(t);
}

static bool
end_all(struct http *http)
{
	CURLMsg *message;
	int left;
	bool any = false;

	while ((message = libcurl.multi_info_read(http->multi, &left))) {
		struct http_transfer *t = NULL;
		CURLcode result = message->data.result;
		if (message->msg != CURLMSG_DONE)
			continue;
		libcurl.easy_getinfo(
			message->easy_handle, CURLINFO_PRIVATE, &t);
		end(http, t, result);
		any = true;
	}
	return any;
}

void *
http_thread(void *opaque)
{
	struct http *http = opaque;
	struct image_error err;

	while (resume(http)) {
		int running;
		int wait_ms = begin_due(http);
		CURLMcode code = libcurl.multi_perform(http->multi, &running);
		if (code == CURLM_OK && !end_all(http))
			code = libcurl.multi_poll(
				http->multi, NULL, 0, wait_ms, NULL);
		if (code != CURLM_OK)
			fail(http,
				image_fail(&err, http->blocks.store.name, -EIO,
					"cannot be read: %s",
					libcurl.multi_strerror(code)),
				&err);
	}
	/* Connections end now, not when the store is closed. */
	for (size_t i = 0; i < HTTP_TRANSFERS; i++) {
		if (!http->running[i])
			continue;
		libcurl.multi_remove_handle(
			http->multi, http->running[i]->easy);
		http_transfer_free(http->running[i]);
		http->running[i] = NULL;
	}
	return NULL;
}
