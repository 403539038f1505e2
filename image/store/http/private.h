/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_IMAGE_HTTP_PRIVATE_H
#define HONE_IMAGE_HTTP_PRIVATE_H
/* Addresses that not everyone can reach. Uses no libcurl. */
#include <stdbool.h>
#include <sys/socket.h>

/*
 * Returns whether a server at this address may be one that only this machine or
 * its network reaches: loopback, private, link-local, shared by a provider, or
 * for no host at all; of IPv6 also one that has such an address of IPv4 in it.
 * So is an address of another family, and one that is too short.
 */
bool http_is_private(const struct sockaddr *address, socklen_t length);

/* Returns whether both have the same host and port. */
bool http_is_same_peer(const struct sockaddr *a, const struct sockaddr *b);

#endif
