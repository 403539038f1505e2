/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_HONE_H
#define HONE_HONE_H
/**
 * Map of libhone: every part, one header each.
 *
 * ============  ==========================================================
 * hone/api.h    version, visibility
 * hone/cpu.h    what this CPU can do, and which variant each part chose
 * hone/ring.h   bounded ring of pointers between threads
 * hone/zero.h   is this buffer all zeros, and where is it not
 * ============  ==========================================================
 *
 * No part keeps state that a caller has to set up, reads the environment,
 * prints, or calls exit.
 */
#include <hone/api.h>
#include <hone/copy.h>
#include <hone/cpu.h>
#include <hone/ring.h>
#include <hone/zero.h>

#endif
