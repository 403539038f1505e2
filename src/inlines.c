/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One exported copy of every inline function, for callers without a C
 * compiler (Rust, Python, PHP FFI) and for the tests that drive the library
 * through them.
 */
#define HONE_EMIT_INLINES
#include <hone/hone.h>
