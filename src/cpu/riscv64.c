/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <hone/cpu.h>
#include "detect.h"
#include "rvv.h"

/* Linux, arch/riscv/include/uapi/asm/unistd.h and hwprobe.h: the headers of
 * Linux before 6.4 do not have them. */
#ifndef __NR_riscv_hwprobe
#define __NR_riscv_hwprobe 258
#endif
#define RISCV_HWPROBE_KEY_IMA_EXT_0 4

/* Linux, struct riscv_hwprobe. An unknown key gives the value 0. */
struct pair {
	int64_t key;
	uint64_t value;
};

/*
 * Runs vsetvli for HONE_RVV_VTYPE with any destination but x0, which would keep
 * vl. By number, since an assembler without V knows neither the instruction nor
 * the register vtype.
 */
static unsigned long
read_vtype(void)
{
	unsigned long vtype;

	__asm__ volatile(".insn i 0x57, 7, %0, x0, %1\n\t"
			 "csrr %0, 0xc21"
			 : "=r"(vtype)
			 : "i"(HONE_RVV_VTYPE));
	return vtype;
}

uint64_t
hone_cpu_detect(void)
{
	struct pair pair = {.key = RISCV_HWPROBE_KEY_IMA_EXT_0};
	struct hone_rvv cpu = {.hwcap = getauxval(AT_HWCAP)};

	/* For all CPUs that are online. */
	cpu.probed = syscall(__NR_riscv_hwprobe, &pair, 1, 0, NULL, 0) == 0;
	cpu.ima_ext_0 = pair.value;
	if (hone_rvv_allowed(&cpu) && !cpu.probed)
		cpu.vtype = read_vtype();
	return hone_cpu_parse_rvv(&cpu);
}
