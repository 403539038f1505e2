/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_HONE_H
#define HONE_HONE_H
/**
 * Overview of libhone: all headers.
 *
 * - hone/api.h: version, visibility
 * - hone/copy.h: memcpy into the CPU cache, or past it
 * - hone/cpu.h: features of this CPU, and the variant of each part
 * - hone/mempool.h: pools of objects of one size, one cache for each thread
 * - hone/mempool_check.h: statistics and audit of a pool
 * - hone/queue.h: bounded FIFO queue whose calls wait, and that can be closed
 * - hone/read_file.h: whole files in memory, one or many at once
 * - hone/ring.h: bounded FIFO ring of pointers between threads
 * - hone/stream.h: buffered reading of descriptors, memory and functions
 * - hone/zero.h: zero detection: is a buffer zero, and where is it not
 *
 * No part has state that a caller must set up. No part reads the environment,
 * prints, or calls exit.
 */
#include <hone/api.h>
#include <hone/copy.h>
#include <hone/cpu.h>
#include <hone/mempool.h>
#include <hone/mempool_check.h>
#include <hone/queue.h>
#include <hone/read_file.h>
#include <hone/ring.h>
#include <hone/stream.h>
#include <hone/zero.h>

#endif
