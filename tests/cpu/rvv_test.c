/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When vectors of RISC-V may be used, by what Linux and the CPU say. Every
 * machine runs this test.
 */
#include <hone/cpu.h>
#include "rvv.h"
#include "support.h"

#define V (1ul << 21) /* the 22nd letter */
#define OTHERS (~V)
#define IMA_V (UINT64_C(1) << 2)
#define VILL (1ul << (sizeof(long) * 8 - 1))

static void
must_be(uint64_t bits, const struct hone_rvv *cpu)
{
	assert_int_equal(hone_cpu_parse_rvv(cpu), bits);
}

TEST(rvv_needs_v_of_linux_and_of_hwprobe)
{
	struct hone_rvv cpu = {.hwcap = V, .probed = true, .ima_ext_0 = IMA_V};

	must_be(HONE_CPU_RVV, &cpu);
	cpu.ima_ext_0 = ~IMA_V;
	must_be(0, &cpu);
	cpu.ima_ext_0 = UINT64_MAX;
	cpu.hwcap = OTHERS;
	must_be(0, &cpu);
	cpu.hwcap = ~0ul;
	must_be(HONE_CPU_RVV, &cpu);
}

TEST(without_hwprobe_vtype_tells_1_0_from_0_7)
{
	struct hone_rvv cpu = {.hwcap = V, .vtype = HONE_RVV_VTYPE};

	must_be(HONE_CPU_RVV, &cpu);
	cpu.vtype = VILL;
	must_be(0, &cpu);
	cpu.vtype = VILL | HONE_RVV_VTYPE;
	must_be(0, &cpu);
	cpu.vtype = 0;
	must_be(0, &cpu);
	cpu.vtype = HONE_RVV_VTYPE;
	cpu.hwcap = OTHERS;
	must_be(0, &cpu);
}

TEST(what_hwprobe_says_overrules_vtype)
{
	struct hone_rvv cpu = {
		.hwcap = V, .probed = true, .vtype = HONE_RVV_VTYPE};

	must_be(0, &cpu);
	cpu.ima_ext_0 = IMA_V;
	cpu.vtype = VILL;
	must_be(HONE_CPU_RVV, &cpu);
}

/* The instruction that sets vtype is illegal where Linux does not allow V. */
TEST(v_is_allowed_by_its_letter_alone)
{
	struct hone_rvv cpu = {.hwcap = V};

	assert_true(hone_rvv_allowed(&cpu));
	cpu = (struct hone_rvv){OTHERS, true, UINT64_MAX, HONE_RVV_VTYPE};
	assert_false(hone_rvv_allowed(&cpu));
}
