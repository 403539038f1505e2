/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One exported copy of every inline function, for callers without a C compiler
 * (Rust, Python, PHP FFI) and for tests that call the library through Python.
 */
#define HONE_EMIT_INLINES
#include <hone/hone.h>
