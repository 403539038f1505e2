/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_SOCKET_H
#define HONE_SRC_SOCKET_H
/* For all code that reads sockets. */

/*
 * Returns 0 if the socket is a byte stream, so that a read of 0 bytes is the
 * end; -EPROTOTYPE if it carries messages; or another negative errno.
 */
int hone_socket_check(int fd);

#endif
