/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include "rvv.h"

/* Linux, arch/riscv/include/uapi/asm/hwcap.h and hwprobe.h. */
#define COMPAT_HWCAP_ISA_V (1ul << ('V' - 'A'))
#define RISCV_HWPROBE_IMA_V (UINT64_C(1) << 2)

/*
 * The bit is cleared for a process that may not use V, by prctl() or by the
 * sysctl abi.riscv_v_default_allow. riscv_hwprobe does not know of either.
 */
bool
hone_rvv_allowed(const struct hone_rvv *cpu)
{
	return cpu->hwcap & COMPAT_HWCAP_ISA_V;
}

/*
 * V in hwcap is not enough: kernels of board vendors set it for RVV 0.7.1,
 * which has other encodings. riscv_hwprobe, since Linux 6.4, reports V for 1.0
 * only. QEMU 7.2 and those kernels do not have riscv_hwprobe. There vtype
 * decides: RVV 0.7.1 has no ta and ma, and sets vill in place of vtype.
 */
uint64_t
hone_cpu_parse_rvv(const struct hone_rvv *cpu)
{
	bool is_1_0 = cpu->probed ? (cpu->ima_ext_0 & RISCV_HWPROBE_IMA_V) != 0
				  : cpu->vtype == HONE_RVV_VTYPE;

	return hone_rvv_allowed(cpu) && is_1_0 ? HONE_CPU_RVV : 0;
}
