/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>
#include <hone/cpu.h>
#include "../part.h"
#include "cpuid.h"

/* Bit position: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E. */
#define LEAF7_EBX_ERMS 9

/* What CPUID has no bits for: one row for each line of CPUs that was measured.
 */
static const struct row {
	const char *vendor;
	unsigned family, first_model, last_model;
	size_t store_bytes;          /* 0: not measured */
	size_t movsb_min, movsb_max; /* max 0: never */
	size_t stream_min;           /* 0: not measured */
} rows[] = {
	/*
	 * AMD EPYC 9005 (Zen 5). hot-4K of copy-zen5-2026-11-22: stores of
	 * 64 bytes (dpdk-avx512) move 200 bytes a ns, 61 a cycle at 3.3 GHz.
	 * docs/design/copy.md: rep movsb has 0.6 to 0.8 times the speed of the
	 * loop up to 24 KiB, and 1.2 times and more from 28 KiB on. Kept copies
	 * are as fast for both kinds of readers as streamed ones up to 64 MiB.
	 */
	{"AuthenticAMD", 0x1a, 0x00, 0x0f, 64, 27 << 10, SIZE_MAX, 64 << 20},
	/*
	 * AMD EPYC 9004 (Zen 4). docs/design/copy.md: one store of 32 bytes a
	 * cycle. copy-zen4-2026-11-21, hot: rep movsb is 0.36 to 0.97
	 * times as fast as the loop up to 32 KiB, and 0.95 to 1.01 times up to
	 * 4 MiB.
	 */
	{"AuthenticAMD", 0x19, 0x10, 0x1f, 32, 0, 0, 0},
};

static unsigned
family_of(uint32_t eax)
{
	unsigned family = eax >> 8 & 0xf;

	return family == 0xf ? family + (eax >> 20 & 0xff) : family;
}

/* The extended model counts in families 6 and 15 and above. */
static unsigned
model_of(uint32_t eax)
{
	unsigned model = eax >> 4 & 0xf, family = family_of(eax);

	return family == 6 || family >= 0xf ? model | (eax >> 12 & 0xf0)
					    : model;
}

static const struct row *
row_of(const struct hone_cpuid *id)
{
	unsigned family = family_of(id->leaf1_eax);
	unsigned model = model_of(id->leaf1_eax);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		if (memcmp(id->vendor, r->vendor, sizeof(id->vendor)) == 0 &&
			family == r->family && model >= r->first_model &&
			model <= r->last_model)
			return r;
	}
	return NULL;
}

void
hone_cpu_parse_traits(const struct hone_cpuid *id, size_t *values)
{
	const struct row *row = row_of(id);
	bool erms = id->leaf7_ebx >> LEAF7_EBX_ERMS & 1;

	if (!row)
		return;
	values[HONE_CPU_TRAIT_STORE_BYTES] = row->store_bytes;
	/* The firmware can turn fast strings off, which clears ERMS. Kept
	 * copies that are not made by rep movsb would be slower than streamed
	 * ones. */
	if (erms) {
		values[HONE_CPU_TRAIT_STREAM_MIN] = row->stream_min;
		values[HONE_CPU_TRAIT_REP_MOVSB_MIN] = row->movsb_min;
		values[HONE_CPU_TRAIT_REP_MOVSB_MAX] = row->movsb_max;
	}
}
