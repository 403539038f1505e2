/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detection of a riscv64 CPU on a simulated Linux: the linker redirects the
 * library's calls to this file. Needs a CPU with RVV 1.0.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <hone/cpu.h>
#include "detect.h"
#include "support.h"

#define V (1ul << 21)
#define IMA_V (UINT64_C(1) << 2)

static unsigned long hwcap;
static int error; /* of riscv_hwprobe */
static uint64_t value;

STANDS_FOR(unsigned long, getauxval, unsigned long type)
{
	assert_int_equal(type, AT_HWCAP);
	return hwcap;
}

/* riscv_hwprobe(pairs, 1, 0, NULL, 0): Linux, arch/riscv/hwprobe.rst. */
STANDS_FOR(long, syscall, long number, ...)
{
	struct {
		int64_t key;
		uint64_t value;
	} * pair;
	va_list list;

	va_start(list, number);
	pair = va_arg(list, void *);
	assert_int_equal(number, 258);
	assert_int_equal(pair->key, 4);
	assert_int_equal(va_arg(list, int), 1);
	assert_int_equal(va_arg(list, int), 0);
	assert_null(va_arg(list, void *));
	assert_int_equal(va_arg(list, int), 0);
	va_end(list);
	if (error != 0) {
		errno = error;
		return -1;
	}
	pair->value = value;
	return 0;
}

static uint64_t
detect(unsigned long caps, int failure, uint64_t ext_0)
{
	hwcap = caps;
	error = failure;
	value = ext_0;
	return hone_cpu_detect();
}

TEST(hwprobe_decides_where_it_exists)
{
	assert_int_equal(detect(V, 0, IMA_V), HONE_CPU_RVV);
	assert_int_equal(detect(V, 0, ~IMA_V), 0);
	assert_int_equal(detect(~V, 0, IMA_V), 0);
}

TEST(the_cpu_decides_where_hwprobe_does_not_exist)
{
	assert_int_equal(detect(V, ENOSYS, 0), HONE_CPU_RVV);
	assert_int_equal(detect(V, EPERM, 0), HONE_CPU_RVV);
	assert_int_equal(detect(~V, ENOSYS, 0), 0);
}

int
main(void)
{
	hwcap = __real_getauxval(AT_HWCAP);
	error = ENOSYS;
	if (hone_cpu_detect() == 0)
		return support_skip_all("rvv", "this CPU has no RVV 1.0");
	return run_all_tests(NULL, NULL);
}
