/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_SRC_SOCKET_H
#define HONE_SRC_SOCKET_H
/* What the parts that read sockets share. */

/*
 * 0 if a socket carries bytes without borders between them, so that a read of
 * nothing is the end; -EPROTOTYPE if it carries messages; or a negative errno.
 */
int hone_socket_check(int fd);

#endif
