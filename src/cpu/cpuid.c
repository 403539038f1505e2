/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>
#include <hone/cpu.h>
#include "../part.h"
#include "detect.h"

/* Bit position: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E. */
#define LEAF7_EBX_ERMS 9

/*
 * What CPUID has no bits for: one row for each line of CPUs that was measured,
 * with bench/copy. The glibc 2.36 of Debian 12 copies by rep movsb from 2,112
 * bytes on if the CPU has FSRM. Newer ones do so on fewer CPUs (BZ 30994).
 */
static const struct row {
	const char *vendor;
	unsigned family, first_model, last_model;
	unsigned glibc; /* the newest that was measured, as GLIBC() */
	/* The kept copies for which such a glibc is slower than our loop. */
	size_t copy_min, copy_max;
	/* The largest copy for which a string instruction, which musl uses for
	 * each copy, is slower. */
	size_t loop_max;
	size_t stream_min; /* 0: not measured */
	bool stream_l2;    /* of our loop, so with any C library */
} rows[] = {
	/*
	 * AMD EPYC 9005 (Zen 5), copy-zen5-2026-11-23.json, keep-avx2: 3 KiB
	 * to 16 KiB 1.1 to 1.4 of glibc, 65 bytes to 2 KiB 0.7 to 1.0.
	 * rep movsb has 0.6 to 0.8 times the speed of a loop up to 24 KiB, and
	 * 1.2 times and more from 28 KiB on (3c24a27:docs/design/copy.md). Kept
	 * copies by rep movsb are as fast for both kinds of readers as streamed
	 * ones up to 64 MiB.
	 */
	{"AuthenticAMD", 0x1a, 0x00, 0x0f, GLIBC(2, 36), 2112, (27 << 10) - 1,
		(27 << 10) - 1, 64 << 20, false},
	/*
	 * AMD EPYC 9004 (Zen 4), copy-zen4-2026-11-23, keep: 65 bytes to
	 * 16 KiB 1.0 to 1.7 of glibc, but for 576 bytes where both addresses
	 * are equal in their page (0.9); more than 16 KiB 0.96 to 1.1.
	 */
	{"AuthenticAMD", 0x19, 0x10, 0x1f, GLIBC(2, 36), 0, 16 << 10, SIZE_MAX,
		0, false},
	/*
	 * Intel Xeon of the fifth generation (Emerald Rapids),
	 * copy-emerald-rapids-2026-11-29.json: prefetch-1M takes 114 us if the
	 * source is prefetched into L2 one page ahead, 263 us past L2, and 132
	 * us without. read-8M: streamed 0.75 times the time of a kept copy;
	 * chase-8M the same time, and chase-4M 1.05 times.
	 */
	{"GenuineIntel", 6, 0xcf, 0xcf, GLIBC(2, 43), 0, 0, SIZE_MAX, 8 << 20,
		true},
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
	values[HONE_CPU_TRAIT_STREAM_L2] = row->stream_l2;
	if (id->glibc == 0) {
		values[HONE_CPU_TRAIT_COPY_MAX] =
			erms ? row->loop_max : SIZE_MAX;
	} else if (id->glibc <= row->glibc) {
		values[HONE_CPU_TRAIT_COPY_MIN] = row->copy_min;
		values[HONE_CPU_TRAIT_COPY_MAX] = row->copy_max;
	}
	/* The firmware can turn fast strings off, which clears ERMS. Kept
	 * copies that are not made by a string instruction would be slower than
	 * streamed ones. */
	if (erms && id->glibc <= row->glibc)
		values[HONE_CPU_TRAIT_STREAM_MIN] = row->stream_min;
}
