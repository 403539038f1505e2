/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_NBD_H
#define HONE_IMAGE_NBD_H
/*
 * An export of an NBD server, by libnbd.
 *
 *	caller's threads       the store's own thread
 *
 *	image_nbd_run() --call--> queue --pieces--> slots --> connections
 *	    ^                                        |
 *	    +------------------done------------------+
 *
 * A call is one read, write, zeroing, block status or flush. The thread cuts it
 * into pieces, and each piece is a request of the protocol in a slot. So a
 * single call has several requests under way, on all connections. libnbd is
 * called by the store's thread alone. The piece of a lost connection stays in
 * its slot, and is sent again on the next connection.
 *
 *	requests.c   the operations of the store: block status, which is kept
 *		     for what was asked for last, alignment, calls
 *	engine.c     the thread: queue, slots, time limit
 *	connect.c    connections: address, TLS, what the server offers
 *	open.c       the address, and libnbd, loaded when it is needed
 */
#include <libnbd.h>
#include <pthread.h>
#include <sys/queue.h>
#include "store/store.h"

/*
 * libnbd, which is loaded by the first address: see loaded.h in image/.
 * libnbd.get_size(h) calls nbd_get_size(h).
 */
struct image_libnbd {
#define IMAGE_LOADED(prefix, name) __typeof__(prefix##name) *name;
#include "store/nbd/libnbd.def"
#undef IMAGE_LOADED
};
/* Set when an address is opened; constant after that. */
extern struct image_libnbd libnbd;

/* More connections made nothing faster: the server has as many threads. */
#define NBD_CONNECTIONS 4
#define NBD_SLOTS 64
/* Most requests under way on one connection. qemu-nbd takes 16 at a time. */
#define NBD_DEPTH 16
/* Bytes of a read or a write. They fit in the second-level CPU cache. */
#define NBD_PIECE ((uint64_t)256 << 10)
/* A server that writes the zeros answers within the time limit. */
#define NBD_ZERO_PIECE ((uint64_t)128 << 20)

enum image_nbd_kind { NBD_READ, NBD_WRITE, NBD_ZERO, NBD_STATUS, NBD_FLUSH };

/* Ranges of one kind. Range i is from the end of range i - 1, or from
 * image_nbd_window.from, to `end`. */
struct image_nbd_range {
	uint64_t end;
	bool hole;
};

/* Entries of a window: 1 MiB. */
#define NBD_RANGES ((size_t)1 << 16)
#define NBD_WINDOWS 4

struct image_nbd_window {
	uint64_t from;
	size_t count;
	size_t room;
	struct image_nbd_range *ranges;
	uint64_t used;
};

struct image_nbd_call {
	enum image_nbd_kind kind;
	uint64_t offset;
	uint64_t end;
	/* of the whole range; for NBD_WRITE, NULL: zeros */
	unsigned char *bytes;
	struct image_nbd_window *window;

	/* The rest is for engine.c. */
	/* what was not put into a slot yet begins here */
	uint64_t next;
	unsigned under_way;
	int rc;
	struct image_error *err;
	TAILQ_ENTRY(image_nbd_call) later;
	bool listed;
	/* under the store's lock */
	bool done;
	pthread_cond_t changed;
};

TAILQ_HEAD(image_nbd_calls, image_nbd_call);

struct image_nbd_store;
struct image_nbd_connection;

struct image_nbd_slot {
	struct image_nbd_store *nbd;
	/* NULL: free */
	struct image_nbd_call *call;
	uint64_t offset;
	uint64_t length;
	/* NULL: to be sent */
	struct image_nbd_connection *connection;
	unsigned losses;
	/* bytes that came, and their end, from the offset; of status: lists */
	uint64_t received;
	uint64_t reached;
	/* parts of the answer, those with an error too */
	uint64_t chunks;
};

struct image_nbd_connection {
	struct image_nbd_store *nbd;
	struct nbd_handle *handle;
	/* its socket, since the last poll() */
	int fd;
	bool ready;
	/* the server is about to close it */
	bool leaving;
	/* why it was lost: errno and message of libnbd */
	int code;
	char why[256];
	unsigned under_way;
	unsigned flushes;
	/* of the last byte, or of the first request of an idle one */
	uint64_t heard_ns;
	/* the same, but for bytes that are no part of an answer yet */
	uint64_t progress_ns;
};

struct image_nbd_store {
	struct image_store store;
	/* with the user, whom store.name leaves out */
	char *address;
	char *tls_certificates;
	char *tls_psk;
	const struct image_trace *trace;
	uint64_t limit_ns;

	/* Set before the store is open; constant after that. */
	bool writable;
	bool can_zero;
	bool can_flush;
	bool can_status;
	bool multi;
	/* bytes; 1: any */
	uint64_t align;
	uint64_t piece;

	pthread_t thread;
	bool started;
	int wake;
	pthread_mutex_t lock;
	pthread_cond_t opened;
	/* Under the lock. */
	struct image_nbd_calls queue;
	bool quit;
	/* the first connection is ready, or failed */
	bool open;
	/* negative: every call fails with this and err */
	int rc;
	struct image_error err;
	/* the socket that libnbd reads, and since when; 0: none */
	int watched_fd;
	uint64_t watched_ns;

	/* atomic: a caller has shut the socket down */
	int stuck;

	/* Of the store's thread alone. */
	struct image_nbd_calls calls;
	struct image_nbd_slot slots[NBD_SLOTS];
	/* the first one is connected again if it is lost; the others are made
	 * by the first request that finds another one under way */
	struct image_nbd_connection connections[NBD_CONNECTIONS];
	/* more are allowed, and not made since the first was ready */
	bool may_connect;
	/* connections of the first kind lost since a request was answered */
	unsigned losses;
	uint64_t due_ns;

	/* Guards the windows, and the requests for them. */
	pthread_mutex_t windows_lock;
	struct image_nbd_window windows[NBD_WINDOWS];
	uint64_t uses;
	bool no_status;
	/* answers with ranges that are shorter than sectors */
	unsigned short_answers;

	/* Held to change a part of a block of `align` bytes. */
	pthread_mutex_t part_lock;
	/* atomic: the server refused to zero */
	int no_zero;
};

/* Returns the number of a connection in the trace, from 1 on. */
static inline int
image_nbd_number(const struct image_nbd_connection *connection)
{
	return (int)(connection - connection->nbd->connections) + 1;
}

/* Start the thread and wait for the first connection. */
int image_nbd_start(struct image_nbd_store *nbd, struct image_error *err);
/* Allowed after a failure of image_nbd_start(). */
void image_nbd_stop(struct image_nbd_store *nbd);
/* Make a condition on which a thread waits with the time limit. */
void image_nbd_condition(pthread_cond_t *condition);
/* Run a call. -EOPNOTSUPP: the server refuses zeros or block status. */
int image_nbd_run(struct image_nbd_store *nbd, struct image_nbd_call *call,
	struct image_error *err);

int image_nbd_connect(
	struct image_nbd_connection *connection, struct image_error *err);
/* Take over what the server offers. A later connection must offer the same. */
int image_nbd_accept(
	struct image_nbd_connection *connection, struct image_error *err);
/* Keep the message of the last failure of libnbd in this thread. */
void image_nbd_explain(struct image_nbd_connection *connection);

void image_nbd_window_add(
	struct image_nbd_window *window, uint64_t length, bool hole);
extern const struct image_store_ops image_nbd_ops;

#endif
