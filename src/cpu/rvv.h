/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HONE_CPU_RVV_H
#define HONE_CPU_RVV_H
/* What Linux and the CPU say about the vectors of RISC-V. */
#include <stdbool.h>
#include <stdint.h>

/* vtype after vsetvli with e8, m1, ta, ma: RVV 1.0, section 3.4. */
#define HONE_RVV_VTYPE 0xc0

struct hone_rvv {
	unsigned long hwcap; /* AT_HWCAP */
	bool probed;         /* Linux has the system call riscv_hwprobe */
	uint64_t ima_ext_0;  /* its value for RISCV_HWPROBE_KEY_IMA_EXT_0 */
	/* The vtype register after a vsetvli that asks for HONE_RVV_VTYPE.
	 * Read only if hwcap has V and not probed. */
	unsigned long vtype;
};

/* Returns true if Linux lets this process use V. */
bool hone_rvv_allowed(const struct hone_rvv *cpu);

/* Returns HONE_CPU_RVV if this process may use RVV 1.0, otherwise 0. */
uint64_t hone_cpu_parse_rvv(const struct hone_rvv *cpu);

#endif
