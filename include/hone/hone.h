/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_HONE_H
#define HONE_HONE_H
/**
 * Map of libhone: every part, one header each.
 *
 * ====================  =======================================================
 * hone/api.h            version, visibility
 * hone/copy.h           memcpy that knows whether the data should stay in cache
 * hone/copy_fd.h        from descriptor to descriptor; is a socket's peer there
 * hone/cpu.h            what this CPU can do, and which variant each part chose
 * hone/mempool.h        objects of one size, through caches that steal
 * hone/mempool_check.h  what a pool holds, and what is wrong with it
 * hone/read_file.h      whole files in memory, one or many at once
 * hone/ring.h           bounded ring of pointers between threads
 * hone/stream.h         buffered reading of descriptors, memory and functions
 * hone/zero.h           is this buffer all zeros, and where is it not
 * ====================  =======================================================
 *
 * No part keeps state that a caller has to set up, reads the environment,
 * prints, or calls exit.
 */
#include <hone/api.h>
#include <hone/copy.h>
#include <hone/copy_fd.h>
#include <hone/cpu.h>
#include <hone/mempool.h>
#include <hone/mempool_check.h>
#include <hone/read_file.h>
#include <hone/ring.h>
#include <hone/stream.h>
#include <hone/zero.h>

#endif
