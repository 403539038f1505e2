/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_NBD_LIBNBD_H
#define HONE_IMAGE_NBD_LIBNBD_H
/*
 * libnbd, which is loaded by the first address: see loaded.h in image/. The
 * functions are called by their own names.
 */
#include <libnbd.h>
#include "error.h"

struct nbd_functions {
#define IMAGE_LOADED(name) __typeof__(name) *name;
#include "store/nbd/libnbd.def"
#undef IMAGE_LOADED
};
/* Valid after libnbd_load() returned 0; constant. */
extern struct nbd_functions libnbd;

/* Load the library if that was not done before. Any thread. */
int libnbd_load(struct image_error *err);

#define nbd_add_meta_context(...) (libnbd.nbd_add_meta_context(__VA_ARGS__))
#define nbd_aio_block_status(...) (libnbd.nbd_aio_block_status(__VA_ARGS__))
#define nbd_aio_connect_uri(...) (libnbd.nbd_aio_connect_uri(__VA_ARGS__))
#define nbd_aio_disconnect(...) (libnbd.nbd_aio_disconnect(__VA_ARGS__))
#define nbd_aio_flush(...) (libnbd.nbd_aio_flush(__VA_ARGS__))
#define nbd_aio_get_direction(...) (libnbd.nbd_aio_get_direction(__VA_ARGS__))
#define nbd_aio_get_fd(...) (libnbd.nbd_aio_get_fd(__VA_ARGS__))
#define nbd_aio_is_closed(...) (libnbd.nbd_aio_is_closed(__VA_ARGS__))
#define nbd_aio_is_dead(...) (libnbd.nbd_aio_is_dead(__VA_ARGS__))
#define nbd_aio_is_ready(...) (libnbd.nbd_aio_is_ready(__VA_ARGS__))
#define nbd_aio_notify_read(...) (libnbd.nbd_aio_notify_read(__VA_ARGS__))
#define nbd_aio_notify_write(...) (libnbd.nbd_aio_notify_write(__VA_ARGS__))
#define nbd_aio_pread_structured(...)                                          \
	(libnbd.nbd_aio_pread_structured(__VA_ARGS__))
#define nbd_aio_pwrite(...) (libnbd.nbd_aio_pwrite(__VA_ARGS__))
#define nbd_aio_zero(...) (libnbd.nbd_aio_zero(__VA_ARGS__))
#define nbd_can_flush(...) (libnbd.nbd_can_flush(__VA_ARGS__))
#define nbd_can_meta_context(...) (libnbd.nbd_can_meta_context(__VA_ARGS__))
#define nbd_can_multi_conn(...) (libnbd.nbd_can_multi_conn(__VA_ARGS__))
#define nbd_can_zero(...) (libnbd.nbd_can_zero(__VA_ARGS__))
#define nbd_close(...) (libnbd.nbd_close(__VA_ARGS__))
#define nbd_create(...) (libnbd.nbd_create(__VA_ARGS__))
#define nbd_get_block_size(...) (libnbd.nbd_get_block_size(__VA_ARGS__))
#define nbd_get_errno(...) (libnbd.nbd_get_errno(__VA_ARGS__))
#define nbd_get_error(...) (libnbd.nbd_get_error(__VA_ARGS__))
#define nbd_get_size(...) (libnbd.nbd_get_size(__VA_ARGS__))
#define nbd_get_version(...) (libnbd.nbd_get_version(__VA_ARGS__))
#define nbd_is_read_only(...) (libnbd.nbd_is_read_only(__VA_ARGS__))
#define nbd_set_pread_initialize(...)                                          \
	(libnbd.nbd_set_pread_initialize(__VA_ARGS__))
#define nbd_set_tls_certificates(...)                                          \
	(libnbd.nbd_set_tls_certificates(__VA_ARGS__))
#define nbd_set_tls_psk_file(...) (libnbd.nbd_set_tls_psk_file(__VA_ARGS__))
#define nbd_set_uri_allow_local_file(...)                                      \
	(libnbd.nbd_set_uri_allow_local_file(__VA_ARGS__))
#define nbd_set_uri_allow_transports(...)                                      \
	(libnbd.nbd_set_uri_allow_transports(__VA_ARGS__))

#endif
