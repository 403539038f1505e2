/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_TESTS_IMAGE_FAKE_SERVER_H
#define HONE_TESTS_IMAGE_FAKE_SERVER_H
/*
 * A web server in a thread, on 127.0.0.1. It has one file at a time, and
 * answers one request on each connection, one connection after the other.
 */
#include <stddef.h>

enum tiny_answer { TINY_RANGES, TINY_WHOLE, TINY_CHUNKED };

void tiny_server_begin(void);
void tiny_server_end(void);
unsigned tiny_server_port(void);
/* From now on this is the file. The bytes stay the caller's. */
void tiny_server_serve(
	const void *bytes, size_t length, enum tiny_answer answer);

#endif
