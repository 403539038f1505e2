/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STUB_RTE_MALLOC_H
#define STUB_RTE_MALLOC_H
#include <stddef.h>

void *rte_zmalloc_socket(
	const char *type, size_t size, unsigned align, int socket);
void rte_free(void *memory);
#endif
