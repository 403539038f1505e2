/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <hone/cpu.h>
#include "../part.h"
#include "detect.h"
#if HONE_IF_x86_64(1) + 0 && defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

/* Bit position: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E. */
#define LEAF7_EBX_ERMS 9

/*
 * What CPUID has no bits for: a row for each line of CPUs that was measured,
 * with bench/copy, and for each glibc that makes a difference, the oldest
 * first. The glibc 2.36 of Debian 12 copies by rep movsb from 2,112 bytes on if
 * the CPU has FSRM. Newer ones do so on fewer CPUs (BZ 30994).
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
	 * The same, copy-keep-zen4-2026-11-30.json, beside glibc 2.43. Of more
	 * alignments, and beside 2.41: 1,025 to 5,120 bytes 0.94 to 1.39, 1.09
	 * on average (docs/design/copy.md, "Newer releases of glibc").
	 */
	{"AuthenticAMD", 0x19, 0x10, 0x1f, GLIBC(2, 43), 1025, 5 << 10,
		SIZE_MAX, 0, false},
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

/* With a glibc that is newer than all that were measured, the last row. */
static const struct row *
row_of(const struct hone_cpuid *id)
{
	const struct row *found = NULL;
	unsigned family = family_of(id->leaf1_eax);
	unsigned model = model_of(id->leaf1_eax);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		if (memcmp(id->vendor, r->vendor, sizeof(id->vendor)) != 0 ||
			family != r->family || model < r->first_model ||
			model > r->last_model)
			continue;
		found = r;
		if (id->glibc <= r->glibc)
			break;
	}
	return found;
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

#if HONE_IF_x86_64(1) + 0

static void
read_cpuid(struct hone_cpuid *id)
{
	unsigned a, b, c, d;

	*id = (struct hone_cpuid){0};
	if (__get_cpuid(0, &a, &b, &c, &d)) {
		id->vendor[0] = b;
		id->vendor[1] = d;
		id->vendor[2] = c;
	}
	if (__get_cpuid(1, &a, &b, &c, &d))
		id->leaf1_eax = a;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
		id->leaf7_ebx = b;
}

/* GLIBC() of the library that runs, which may be newer than its headers. */
static unsigned
glibc_version(void)
{
#ifdef __GLIBC__
	const char *version = gnu_get_libc_version();
	unsigned major = (unsigned)strtoul(version, NULL, 10);
	const char *dot = strchr(version, '.');

	return GLIBC(major, dot ? (unsigned)strtoul(dot + 1, NULL, 10) : 0);
#else
	return 0;
#endif
}

void
hone_cpu_detect_traits(size_t *values)
{
	struct hone_cpuid id;

	read_cpuid(&id);
	id.glibc = glibc_version();
	hone_cpu_parse_traits(&id, values);
}

#else

/* Families without an instruction that describes the CPU to a program. */

void
hone_cpu_detect_traits(size_t *values)
{
	/* Not measured: what a streamed copy of any kind does by default. */
	values[HONE_CPU_TRAIT_STREAM_L2] = 1;
}

#endif
