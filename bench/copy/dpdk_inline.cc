// SPDX-License-Identifier: BSD-3-Clause
//
// rte_memcpy() inline in the timing loops, as a program has it. Compiled for
// the baseline of the CPU family, as DPDK itself is for Debian.
#include <rte_memcpy.h>
#include "copy_bench.h"

namespace
{

void
dpdk(void *dst, const void *src, size_t n)
{
	rte_memcpy(dst, src, n);
}

} // namespace

Subject
dpdk_inline()
{
	return subject<dpdk>("dpdk-inline");
}
