/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_BENCH_CEILING_H
#define HONE_BENCH_CEILING_H
/* The fastest loads of this machine, which limit the parts zero and copy. */
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns false if this CPU has no vectors of 128, 256 or 512 bits. */
bool ceiling_supported(unsigned bits);

/*
 * Load every whole vector of the buffer and use none of them. Any code that
 * reads the buffer with loads of the same width takes at least as long.
 */
void ceiling_load_128(const void *buf, size_t len);
void ceiling_load_256(const void *buf, size_t len);
void ceiling_load_512(const void *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif
