/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of a store: it sends requests and receives the answers.
 *
 * The states of a connection, by `handle` and `ready`:
 *
 *	    image_nbd_connect()          became_ready()
 *	none ---------------> handshake ---------------> ready
 *	 ^                        |                        |
 *	 +------------------------+------------------------+
 *	    close_connection(), from lost(), check(), fail_all() or leave_all()
 *
 * loop() makes the first connection again after due_ns. The loss of
 * MAX_LOSSES of them without an answer fails all calls. connect_more() makes
 * the others once after the first one has become ready.
 *
 * The states of a slot, by `call` and `connection`:
 *
 *	      fill_slot()            send_slot()
 *	free ------------> to be sent ---------> under way
 *	 ^ ^                 |   ^                 |   |
 *	 | |                 |   +---- lose() -----+   |
 *	 | +-- free_slot() --+                         |
 *	 |     call failed                             |
 *	 +---- free_slot() <---- answered() -----------+
 *
 * lose() frees a slot that has ended MAX_REQUEST_LOSSES connections.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "store/nbd/nbd.h"
#include "thread.h"

/* Time for handshakes that are under way at the end. */
#define HANDSHAKE_NS UINT64_C(5000000000)

/* Losses in a row, without an answer: 13 seconds with the waits. */
#define MAX_LOSSES 8
#define FIRST_WAIT_NS UINT64_C(100000000)
/* Between two looks at what is late or due. */
#define TICK_MS 100
#define MAX_REQUEST_LOSSES 5
#define FLUSH_LIMITS 10
/* Bytes may come, and no part of an answer, for so many times the limit: a
 * slow network has 256 KiB of an answer in 4 minutes. */
#define PROGRESS_LIMITS 4
/* Most parts of an answer: one for each sector, and some errors. */
#define CHUNKS_LEAST 64
#define CHUNK_BYTES 512

static unsigned char zeros[NBD_PIECE];

static void
wake(struct image_nbd_store *nbd)
{
	while (eventfd_write(nbd->wake, 1) < 0 && errno == EINTR)
		;
}

/* Begin, or with ns 0 end, a call of libnbd that may read without an end. */
static void
set_watched(struct image_nbd_store *nbd, int fd, uint64_t ns)
{
	pthread_mutex_lock(&nbd->lock);
	nbd->watched_fd = fd;
	nbd->watched_ns = ns;
	pthread_mutex_unlock(&nbd->lock);
}

/*
 * Wait for a change, or at most for the time limit. With the lock.
 *
 * libnbd reads as long as bytes come, and a server that is faster sends errors
 * without an end: then the thread does not come back from libnbd. All requests
 * that are under way have 4 MiB, so that more than the time limit in one call
 * is never an answer.
 */
static void
await(struct image_nbd_store *nbd, pthread_cond_t *changed)
{
	uint64_t until = image_now_ns() + nbd->limit_ns;
	const struct timespec time = {.tv_sec = (time_t)(until / 1000000000),
		.tv_nsec = (long)(until % 1000000000)};

	if (pthread_cond_timedwait(changed, &nbd->lock, &time) != ETIMEDOUT ||
		nbd->watched_ns == 0 ||
		image_now_ns() - nbd->watched_ns <= nbd->limit_ns)
		return;
	__atomic_store_n(&nbd->stuck, 1, __ATOMIC_RELAXED);
	shutdown(nbd->watched_fd, SHUT_RDWR);
}

void
image_nbd_condition(pthread_cond_t *condition)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &clock);
	pthread_condattr_destroy(&clock);
}

int
image_nbd_run(struct image_nbd_store *nbd, struct image_nbd_call *call,
	struct image_error *err)
{
	call->next = call->offset;
	call->under_way = 0;
	call->rc = 0;
	call->err = err;
	call->listed = true;
	call->done = false;
	image_nbd_condition(&call->changed);
	pthread_mutex_lock(&nbd->lock);
	TAILQ_INSERT_TAIL(&nbd->queue, call, later);
	wake(nbd);
	while (!call->done)
		await(nbd, &call->changed);
	pthread_mutex_unlock(&nbd->lock);
	pthread_cond_destroy(&call->changed);
	return call->rc;
}

/* Remove the call from the list of those that have pieces to be sent. */
static void
unlist(struct image_nbd_store *nbd, struct image_nbd_call *call)
{
	if (call->listed)
		TAILQ_REMOVE(&nbd->calls, call, later);
	call->listed = false;
}

/* The caller may free the call after that. */
static void
end_call(struct image_nbd_store *nbd, struct image_nbd_call *call)
{
	unlist(nbd, call);
	pthread_mutex_lock(&nbd->lock);
	call->done = true;
	pthread_cond_signal(&call->changed);
	pthread_mutex_unlock(&nbd->lock);
}

static void
fail_call(struct image_nbd_store *nbd, const struct image_nbd_slot *slot,
	int code)
{
	static const char *const verbs[] = {[NBD_READ] = "read",
		[NBD_WRITE] = "written",
		[NBD_ZERO] = "zeroed"};
	struct image_nbd_call *call = slot->call;
	const char *name = nbd->store.name;

	if (call->rc < 0)
		return;
	if (nbd->rc < 0) {
		*call->err = nbd->err;
		call->rc = nbd->rc;
		return;
	}
	bool refused = code == ENOTSUP || code == EOPNOTSUPP || code == EINVAL;
	if (call->kind == NBD_FLUSH)
		call->rc = image_fail(call->err, name, -code,
			"cannot be flushed: the server reports: %s",
			strerror(code));
	else if (call->kind == NBD_STATUS ||
		 (call->kind == NBD_ZERO && refused))
		/* The caller of image_nbd_run() tries another way. */
		call->rc = -EOPNOTSUPP;
	else
		call->rc = image_fail(call->err, name, -code,
			"cannot be %s at offset %" PRIu64
			": the server reports: %s",
			verbs[call->kind], slot->offset, strerror(code));
}

static void
free_slot(struct image_nbd_slot *slot)
{
	struct image_nbd_call *call = slot->call;

	slot->call = NULL;
	slot->connection = NULL;
	call->under_way--;
	if (call->under_way == 0 && (call->rc < 0 || call->next == call->end))
		end_call(slot->nbd, call);
}

static void
lose(struct image_nbd_slot *slot)
{
	struct image_nbd_store *nbd = slot->nbd;
	struct image_nbd_call *call = slot->call;

	slot->connection = NULL;
	if (call->rc == 0 && nbd->rc == 0 &&
		++slot->losses < MAX_REQUEST_LOSSES) {
		/* An answer may have come in part. */
		if (call->kind == NBD_STATUS) {
			call->window->count = 0;
			call->window->room = NBD_RANGES;
		}
		return;
	}
	if (call->rc == 0 && nbd->rc == 0)
		call->rc = image_fail(call->err, nbd->store.name, -ECONNRESET,
			"the connection was lost %u times at offset %" PRIu64,
			slot->losses, slot->offset);
	fail_call(nbd, slot, ECONNRESET);
	free_slot(slot);
}

/* An answer without an end: libnbd goes on as long as bytes come, and a
 * callback cannot stop it. */
static void
cut(const struct image_nbd_slot *slot)
{
	shutdown(slot->connection->fd, SHUT_RDWR);
}

/*
 * A part of the answer to a read is in its place. Parts may come in any order:
 * zeros fill what was passed, so that the buffer shows nothing that it had.
 */
static int
receive(void *opaque, const void *bytes, size_t count, uint64_t offset,
	unsigned status, int *error)
{
	struct image_nbd_slot *slot = opaque;
	unsigned char *begin =
		slot->call->bytes + (slot->offset - slot->call->offset);
	uint64_t at = offset - slot->offset;

	(void)bytes;
	(void)error;
	if (++slot->chunks > CHUNKS_LEAST + slot->length / CHUNK_BYTES)
		cut(slot);
	if (status == LIBNBD_READ_ERROR)
		return 0;
	if (count)
		slot->connection->progress_ns = image_now_ns();
	if (at > slot->reached)
		memset(begin + slot->reached, 0, (size_t)(at - slot->reached));
	if (at + count > slot->reached)
		slot->reached = at + count;
	slot->received += count;
	if (slot->received > slot->length)
		cut(slot);
	return 0;
}

static void
trace_slot(const struct image_nbd_slot *slot, const char *what)
{
	static const char *const kinds[] = {[NBD_READ] = "read",
		[NBD_WRITE] = "write",
		[NBD_ZERO] = "zero",
		[NBD_STATUS] = "block status",
		[NBD_FLUSH] = "flush"};

	if (!slot->nbd->trace)
		return;
	image_trace(slot->nbd->trace,
		"connection %d, %s of %s at %" PRIu64 "%s%s",
		image_nbd_number(slot->connection), kinds[slot->call->kind],
		IMAGE_COUNT(slot->length, "byte"), slot->offset,
		*what ? ": " : "", what);
}

/* libnbd calls this for each request, also if a handle is closed. */
static int
answered(void *opaque, int *error)
{
	struct image_nbd_slot *slot = opaque;
	struct image_nbd_call *call = slot->call;
	struct image_nbd_connection *connection = slot->connection;

	connection->under_way--;
	connection->progress_ns = image_now_ns();
	connection->flushes -= call->kind == NBD_FLUSH;
	connection->leaving |= *error == ESHUTDOWN;
	/* The server never sends ENOTCONN. */
	if (*error == ENOTCONN || connection->leaving || !connection->ready) {
		trace_slot(slot, "lost");
		lose(slot);
		return 1;
	}
	slot->nbd->losses = 0;
	trace_slot(slot, *error ? strerror(*error) : "answered");
	if (*error)
		fail_call(slot->nbd, slot, *error);
	else if (call->kind == NBD_READ && call->rc == 0 &&
		 (slot->received != slot->length ||
			 slot->reached != slot->length))
		call->rc = image_fail(call->err, slot->nbd->store.name, -EPROTO,
			"cannot be read at offset %" PRIu64
			": the server sent %" PRIu64 " of %s",
			slot->offset, slot->received,
			IMAGE_COUNT(slot->length, "byte"));
	free_slot(slot);
	return 1;
}

static int
add_extents(void *opaque, const char *context, uint64_t offset,
	uint32_t *entries, size_t count, int *error)
{
	struct image_nbd_slot *slot = opaque;
	struct image_nbd_window *window = slot->call->window;

	(void)offset;
	(void)error;
	/* There is one list for each context. */
	if (slot->received++)
		cut(slot);
	if (strcmp(context, "base:allocation") != 0)
		return 0;
	for (size_t i = 0; i + 1 < count; i += 2)
		image_nbd_window_add(window, entries[i],
			entries[i + 1] & UINT32_C(2) /* NBD_STATE_ZERO */);
	return 0;
}

static int64_t
issue(struct nbd_handle *h, struct image_nbd_slot *slot)
{
	const struct image_nbd_call *call = slot->call;
	nbd_completion_callback done = {
		.callback = answered, .user_data = slot};
	nbd_extent_callback extent = {
		.callback = add_extents, .user_data = slot};
	nbd_chunk_callback chunk = {.callback = receive, .user_data = slot};
	size_t at = (size_t)(slot->offset - call->offset);
	size_t length = (size_t)slot->length;

	slot->received = slot->chunks = 0;
	switch (call->kind) {
	case NBD_READ:
		slot->reached = 0;
		return libnbd.aio_pread_structured(h, call->bytes + at, length,
			slot->offset, chunk, done, 0);
	case NBD_WRITE:
		return libnbd.aio_pwrite(h,
			call->bytes ? call->bytes + at : zeros, length,
			slot->offset, done, 0);
	case NBD_ZERO:
		return libnbd.aio_zero(h, slot->length, slot->offset, done, 0);
	case NBD_STATUS:
		return libnbd.aio_block_status(
			h, slot->length, slot->offset, extent, done, 0);
	default:
		return libnbd.aio_flush(h, done, 0);
	}
}

static bool
is_lost(const struct image_nbd_connection *connection)
{
	struct nbd_handle *h = connection->handle;

	return h && (connection->leaving || libnbd.aio_is_dead(h) > 0 ||
			    libnbd.aio_is_closed(h) > 0);
}

static void
send_slot(struct image_nbd_connection *connection, struct image_nbd_slot *slot)
{
	struct image_nbd_store *nbd = slot->nbd;
	struct image_nbd_call *call = slot->call;
	bool flush = call->kind == NBD_FLUSH;

	if (connection->under_way == 0)
		connection->heard_ns = connection->progress_ns = image_now_ns();
	slot->connection = connection;
	connection->under_way++;
	connection->flushes += flush;
	trace_slot(slot, "");
	if (issue(connection->handle, slot) >= 0)
		return;
	/* answered() is not called. */
	image_nbd_explain(connection);
	connection->under_way--;
	connection->flushes -= flush;
	slot->connection = NULL;
	/* check() closes a connection that is lost; the slot waits. */
	if (is_lost(connection))
		return;
	if (call->rc == 0)
		call->rc = image_fail(call->err, nbd->store.name,
			-connection->code, "a request cannot be sent: %s",
			connection->why);
	free_slot(slot);
}

static bool
fill_slot(struct image_nbd_store *nbd, struct image_nbd_slot *slot)
{
	struct image_nbd_call *call;

	/* A call that failed ends with its last request. */
	while ((call = TAILQ_FIRST(&nbd->calls)) && call->rc < 0)
		unlist(nbd, call);
	if (!call)
		return false;
	uint64_t length = call->end - call->next;
	uint64_t most = UINT64_MAX;
	if (call->kind == NBD_READ || call->kind == NBD_WRITE)
		most = nbd->piece;
	else if (call->kind == NBD_ZERO)
		most = NBD_ZERO_PIECE;
	if (length > most)
		length = most - call->next % most;
	*slot = (struct image_nbd_slot){.nbd = nbd,
		.call = call,
		.offset = call->next,
		.length = length};
	call->next += length;
	call->under_way++;
	if (call->next == call->end)
		unlist(nbd, call);
	return true;
}

static void
connect_more(struct image_nbd_store *nbd)
{
	struct image_error ignored;

	nbd->may_connect = false;
	for (int i = 1; i < NBD_CONNECTIONS; i++)
		if (!nbd->connections[i].handle &&
			image_nbd_connect(&nbd->connections[i], &ignored) < 0)
			return;
}

static void
send_all(struct image_nbd_store *nbd)
{
	for (int i = 0; i < NBD_SLOTS; i++) {
		struct image_nbd_slot *slot = &nbd->slots[i];
		if (slot->connection ||
			(!slot->call && TAILQ_EMPTY(&nbd->calls)))
			continue;
		/* the connection with the fewest requests under way */
		struct image_nbd_connection *connection = NULL;
		for (int k = 0; k < NBD_CONNECTIONS; k++) {
			struct image_nbd_connection *c = &nbd->connections[k];
			if (c->ready && c->under_way < NBD_DEPTH &&
				!is_lost(c) &&
				(!connection ||
					c->under_way < connection->under_way))
				connection = c;
		}
		if (!connection)
			return;
		if (connection->under_way && nbd->may_connect)
			connect_more(nbd);
		if (slot->call && slot->call->rc < 0)
			free_slot(slot);
		if (slot->call || fill_slot(nbd, slot))
			send_slot(connection, slot);
	}
}

/* answered() sees that the handle is not ready. */
static void
close_connection(struct image_nbd_connection *connection)
{
	connection->ready = false;
	libnbd.close(connection->handle);
	connection->handle = NULL;
}

static void
fail_all(struct image_nbd_store *nbd, int rc, const struct image_error *err)
{
	pthread_mutex_lock(&nbd->lock);
	if (nbd->rc == 0)
		image_trace(nbd->trace, "all requests fail: %s", err->text);
	nbd->rc = rc;
	nbd->err = *err;
	nbd->open = true;
	pthread_cond_signal(&nbd->opened);
	pthread_mutex_unlock(&nbd->lock);
	for (int i = 0; i < NBD_CONNECTIONS; i++)
		close_connection(&nbd->connections[i]);
	for (int i = 0; i < NBD_SLOTS; i++) {
		if (!nbd->slots[i].call)
			continue;
		fail_call(nbd, &nbd->slots[i], EIO);
		free_slot(&nbd->slots[i]);
	}
	struct image_nbd_call *call;
	while ((call = TAILQ_FIRST(&nbd->calls))) {
		*call->err = nbd->err;
		call->rc = nbd->rc;
		end_call(nbd, call);
	}
}

static void
lost(struct image_nbd_connection *connection, int rc,
	const struct image_error *err)
{
	struct image_nbd_store *nbd = connection->nbd;
	bool first = connection == &nbd->connections[0];

	image_trace(nbd->trace, "connection %d is lost: %s",
		image_nbd_number(connection), err->text);
	close_connection(connection);
	if (!first)
		return;
	if (!nbd->open || ++nbd->losses >= MAX_LOSSES) {
		fail_all(nbd, rc, err);
		return;
	}
	nbd->due_ns = image_now_ns() + (FIRST_WAIT_NS << (nbd->losses - 1));
}

static void
became_ready(struct image_nbd_connection *connection)
{
	struct image_nbd_store *nbd = connection->nbd;
	struct image_error err;

	int rc = image_nbd_accept(connection, &err);
	if (rc < 0) {
		fail_all(nbd, rc, &err);
		return;
	}
	image_trace(nbd->trace,
		"connection %d is ready: %s, block status %s, zeroing %s, more "
		"connections %s",
		image_nbd_number(connection),
		IMAGE_COUNT(nbd->store.size, "byte"),
		nbd->can_status ? "yes" : "no", nbd->can_zero ? "yes" : "no",
		nbd->multi ? "yes" : "no");
	if (connection != &nbd->connections[0])
		return;
	pthread_mutex_lock(&nbd->lock);
	nbd->open = true;
	pthread_cond_signal(&nbd->opened);
	pthread_mutex_unlock(&nbd->lock);
	nbd->may_connect = nbd->multi;
}

/* Returns the time at which the connection is late; UINT64_MAX: never. */
static uint64_t
late_ns(const struct image_nbd_connection *connection)
{
	uint64_t limit = connection->nbd->limit_ns;

	if (!connection->handle ||
		(connection->ready && connection->under_way == 0))
		return UINT64_MAX;
	if (connection->flushes)
		limit *= FLUSH_LIMITS;
	uint64_t heard = connection->heard_ns + limit;
	uint64_t progress = connection->progress_ns + PROGRESS_LIMITS * limit;
	return connection->ready && progress < heard ? progress : heard;
}

static void
check(struct image_nbd_connection *connection)
{
	struct image_nbd_store *nbd = connection->nbd;
	struct nbd_handle *h = connection->handle;
	bool gone = is_lost(connection);
	bool stuck = gone && __atomic_load_n(&nbd->stuck, __ATOMIC_RELAXED);
	uint64_t now = image_now_ns();
	struct image_error err;
	int rc;

	if (!h)
		return;
	if (gone && !stuck) {
		rc = connection->leaving || !connection->why[0]
			     ? image_fail(&err, nbd->store.name, -ECONNRESET,
				       "the server closed the connection")
			     : image_fail(&err, nbd->store.name,
				       -connection->code, "%s: %s",
				       nbd->open ? "the connection was lost"
						 : "cannot be opened",
				       connection->why);
		lost(connection, rc, &err);
	} else if (!gone && !connection->ready && libnbd.aio_is_ready(h)) {
		became_ready(connection);
	} else if (!gone && now < late_ns(connection)) {
		return;
	} else if (!gone && !connection->ready &&
		   connection != &nbd->connections[0]) {
		/* It may wait for a server that serves fewer. */
		close_connection(connection);
	} else {
		rc = stuck || now < connection->heard_ns + nbd->limit_ns
			     ? image_fail(&err, nbd->store.name, -ETIMEDOUT,
				       "the server sends an answer without an "
				       "end")
			     : image_fail(&err, nbd->store.name, -ETIMEDOUT,
				       "the server did not answer for %s",
				       IMAGE_COUNT(nbd->limit_ns / 1000000000,
					       "second"));
		fail_all(nbd, rc, &err);
	}
}

static void
notify(struct image_nbd_connection *connection, short happened)
{
	struct nbd_handle *h = connection->handle;
	unsigned direction = libnbd.aio_get_direction(h);

	int rc = 0;

	/* A handshake has the time limit as a whole. */
	if (connection->ready)
		connection->heard_ns = image_now_ns();
	if ((direction & LIBNBD_AIO_DIRECTION_READ) &&
		(happened & (POLLIN | POLLHUP | POLLERR))) {
		set_watched(connection->nbd, connection->fd, image_now_ns());
		rc = libnbd.aio_notify_read(h);
		set_watched(connection->nbd, -1, 0);
	} else if ((direction & LIBNBD_AIO_DIRECTION_WRITE) &&
		   (happened & (POLLOUT | POLLHUP | POLLERR))) {
		rc = libnbd.aio_notify_write(h);
	}
	/* The handle is dead then, which check() finds. */
	if (rc < 0)
		image_nbd_explain(connection);
}

/* Wait for sockets or a call, and receive. -1: without a limit. */
static void
wait_and_receive(struct image_nbd_store *nbd, int ms)
{
	struct pollfd fds[1 + NBD_CONNECTIONS] = {
		{.fd = nbd->wake, .events = POLLIN}};
	eventfd_t count;

	for (int i = 0; i < NBD_CONNECTIONS; i++) {
		struct nbd_handle *h = nbd->connections[i].handle;
		unsigned direction = h ? libnbd.aio_get_direction(h) : 0;
		fds[1 + i].fd = h ? libnbd.aio_get_fd(h) : -1;
		nbd->connections[i].fd = fds[1 + i].fd;
		if (direction & LIBNBD_AIO_DIRECTION_READ)
			fds[1 + i].events |= POLLIN;
		if (direction & LIBNBD_AIO_DIRECTION_WRITE)
			fds[1 + i].events |= POLLOUT;
	}
	if (poll(fds, 1 + NBD_CONNECTIONS, ms) < 0)
		return;
	if (fds[0].revents)
		while (eventfd_read(nbd->wake, &count) < 0 && errno == EINTR)
			;
	for (int i = 0; i < NBD_CONNECTIONS; i++) {
		struct image_nbd_connection *c = &nbd->connections[i];
		if (c->handle && fds[1 + i].revents)
			notify(c, fds[1 + i].revents);
	}
}

static void *
loop(void *opaque)
{
	struct image_nbd_store *nbd = opaque;
	struct image_nbd_connection *first = &nbd->connections[0];
	struct image_error err;

	for (;;) {
		pthread_mutex_lock(&nbd->lock);
		bool quit = nbd->quit;
		TAILQ_CONCAT(&nbd->calls, &nbd->queue, later);
		pthread_mutex_unlock(&nbd->lock);
		if (nbd->rc < 0 && !TAILQ_EMPTY(&nbd->calls)) {
			err = nbd->err;
			fail_all(nbd, nbd->rc, &err);
		}
		if (quit)
			return NULL;
		bool is_any_lost = false;
		int wait_ms = -1;
		for (int i = 0; i < NBD_CONNECTIONS; i++)
			check(&nbd->connections[i]);
		if (!first->handle && nbd->rc == 0 &&
			image_now_ns() >= nbd->due_ns) {
			int rc = image_nbd_connect(first, &err);
			if (rc < 0)
				lost(first, rc, &err);
		}
		send_all(nbd);
		if (!first->handle && nbd->rc == 0)
			wait_ms = TICK_MS;
		for (int i = 0; i < NBD_CONNECTIONS; i++) {
			is_any_lost |= is_lost(&nbd->connections[i]);
			if (late_ns(&nbd->connections[i]) < UINT64_MAX)
				wait_ms = TICK_MS;
		}
		if (!is_any_lost)
			wait_and_receive(nbd, wait_ms);
	}
}

int
image_nbd_start(struct image_nbd_store *nbd, struct image_error *err)
{
	TAILQ_INIT(&nbd->queue);
	TAILQ_INIT(&nbd->calls);
	for (int i = 0; i < NBD_CONNECTIONS; i++)
		nbd->connections[i].nbd = nbd;
	for (int i = 0; i < NBD_SLOTS; i++)
		nbd->slots[i].nbd = nbd;
	nbd->wake = eventfd(0, EFD_CLOEXEC);
	if (nbd->wake < 0)
		return image_fail(err, nbd->store.name, -errno,
			"cannot be opened: %s", strerror(errno));
	int rc = image_nbd_connect(&nbd->connections[0], err);
	if (rc < 0)
		return rc;
	rc = image_thread_create(&nbd->thread, loop, nbd);
	if (rc != 0)
		return image_fail(err, nbd->store.name, -rc,
			"cannot be opened: no thread can be started: %s",
			strerror(rc));
	nbd->started = true;
	pthread_mutex_lock(&nbd->lock);
	while (!nbd->open)
		await(nbd, &nbd->opened);
	rc = nbd->rc;
	if (rc < 0)
		*err = nbd->err;
	pthread_mutex_unlock(&nbd->lock);
	return rc;
}

/*
 * Leave all connections. A handshake that is under way is finished first,
 * unless it takes too long: nbdkit 1.32 with its filter multi-conn ends if a
 * client leaves in the middle. The others are left before, since a server may
 * serve one at a time.
 */
static void
leave_all(struct image_nbd_store *nbd)
{
	uint64_t now, until = image_now_ns() + HANDSHAKE_NS;
	bool waits = true;

	while (waits && (now = image_now_ns()) < until) {
		waits = false;
		for (int i = 0; i < NBD_CONNECTIONS; i++) {
			struct image_nbd_connection *c = &nbd->connections[i];
			bool ready =
				c->handle && libnbd.aio_is_ready(c->handle);
			if (c->handle && !c->ready && !ready && !is_lost(c)) {
				waits = true;
				continue;
			}
			if (ready)
				libnbd.aio_disconnect(c->handle, 0);
			close_connection(c);
		}
		if (waits)
			wait_and_receive(nbd, (int)((until - now) / 1000000));
	}
	for (int i = 0; i < NBD_CONNECTIONS; i++)
		close_connection(&nbd->connections[i]);
}

void
image_nbd_stop(struct image_nbd_store *nbd)
{
	if (nbd->started) {
		pthread_mutex_lock(&nbd->lock);
		nbd->quit = true;
		wake(nbd);
		pthread_mutex_unlock(&nbd->lock);
		pthread_join(nbd->thread, NULL);
	}
	leave_all(nbd);
	if (nbd->wake >= 0)
		close(nbd->wake);
}
