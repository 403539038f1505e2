/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to the server. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "store/nbd/nbd.h"
#include "thread.h"

/* The allocation of the protocol's own meta context. */
#define ALLOCATION "base:allocation"

void
image_nbd_explain(struct image_nbd_connection *connection)
{
	const char *text = libnbd.get_error();
	int code = libnbd.get_errno();

	if (!text)
		text = "libnbd reports no reason";
	/* libnbd puts the name of its function first. */
	if (strncmp(text, "nbd_", 4) == 0 && strstr(text, ": "))
		text = strstr(text, ": ") + 2;
	if (strstr(text, "://"))
		text = "libnbd's reason has an address, which may have a "
		       "password";
	if (code == ENOTCONN || code == ESHUTDOWN || code == EPIPE ||
		(code == 0 && strstr(text, "disconnected")))
		code = ECONNRESET;
	connection->code = code > 0 ? code : EIO;
	snprintf(connection->why, sizeof(connection->why), "%s", text);
}

int
image_nbd_connect(
	struct image_nbd_connection *connection, struct image_error *err)
{
	const uint32_t transports =
		LIBNBD_ALLOW_TRANSPORT_TCP | LIBNBD_ALLOW_TRANSPORT_UNIX;
	struct image_nbd_store *nbd = connection->nbd;
	struct nbd_handle *h = libnbd.create();

	/* An address may come from elsewhere: it opens no file. */
	if (!h || libnbd.set_uri_allow_local_file(h, false) < 0 ||
		libnbd.set_uri_allow_transports(h, transports) < 0 ||
		libnbd.add_meta_context(h, ALLOCATION) < 0 ||
		/* receive() in engine.c leaves no byte as it was. */
		libnbd.set_pread_initialize(h, false) < 0 ||
		(nbd->tls_certificates && libnbd.set_tls_certificates(h,
						  nbd->tls_certificates) < 0) ||
		(nbd->tls_psk &&
			libnbd.set_tls_psk_file(h, nbd->tls_psk) < 0) ||
		libnbd.aio_connect_uri(h, nbd->address) < 0) {
		image_nbd_explain(connection);
		libnbd.close(h);
		return image_fail(err, nbd->store.name, -connection->code,
			"cannot be opened: %s", connection->why);
	}
	connection->handle = h;
	connection->ready = connection->leaving = false;
	connection->why[0] = '\0';
	connection->under_way = connection->flushes = 0;
	connection->heard_ns = image_now_ns();
	image_trace(nbd->trace, "connection %d to %s begins",
		image_nbd_number(connection), nbd->store.name);
	return 0;
}

/* Bytes, or `otherwise` if the server sets no limit. */
static uint64_t
block_size(struct nbd_handle *h, int which, uint64_t otherwise)
{
	int64_t size = libnbd.get_block_size(h, which);
	return size > 0 ? (uint64_t)size : otherwise;
}

static int
take_over(struct image_nbd_store *nbd, struct nbd_handle *h,
	struct image_error *err)
{
	uint64_t most = block_size(h, LIBNBD_SIZE_MAXIMUM, NBD_PIECE);

	nbd->align = block_size(h, LIBNBD_SIZE_MINIMUM, 1);
	/* The largest one that the protocol allows is 64 KiB. */
	if ((nbd->align & (nbd->align - 1)) || nbd->align > NBD_PIECE)
		return image_fail(err, nbd->store.name, -EPROTO,
			"its block size of %" PRIu64 " is not valid",
			nbd->align);
	nbd->piece = most < NBD_PIECE ? most - most % nbd->align : NBD_PIECE;
	if (nbd->piece == 0)
		nbd->piece = nbd->align;
	nbd->can_zero = libnbd.can_zero(h) > 0;
	nbd->can_flush = libnbd.can_flush(h) > 0;
	nbd->can_status = libnbd.can_meta_context(h, ALLOCATION) > 0;
	nbd->multi = libnbd.can_multi_conn(h) > 0;
	if (nbd->writable && libnbd.is_read_only(h) != 0)
		return image_fail(err, nbd->store.name, -EROFS,
			"cannot be written: the server exports it read-only");
	return 0;
}

int
image_nbd_accept(
	struct image_nbd_connection *connection, struct image_error *err)
{
	struct image_nbd_store *nbd = connection->nbd;
	struct nbd_handle *h = connection->handle;
	int64_t size = libnbd.get_size(h);

	connection->ready = true;
	if (size < 0)
		return image_fail(err, nbd->store.name, -EPROTO,
			"has a size that is not valid");
	if (!nbd->open) {
		nbd->store.size = (uint64_t)size;
		return take_over(nbd, h, err);
	}
	if ((uint64_t)size != nbd->store.size)
		return image_fail(err, nbd->store.name, -EIO,
			"changed while it was in use, from %" PRIu64 " to %s",
			nbd->store.size, IMAGE_COUNT((uint64_t)size, "byte"));
	if (block_size(h, LIBNBD_SIZE_MINIMUM, 1) > nbd->align ||
		(nbd->writable && libnbd.is_read_only(h) != 0) ||
		(nbd->can_status &&
			libnbd.can_meta_context(h, ALLOCATION) <= 0) ||
		(nbd->can_flush && libnbd.can_flush(h) <= 0) ||
		(nbd->can_zero && libnbd.can_zero(h) <= 0))
		return image_fail(err, nbd->store.name, -EIO,
			"changed while it was in use: the server offers less "
			"than before");
	return 0;
}
