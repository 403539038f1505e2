/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traits: those of several CPUs by the words of their CPUID, and those that
 * this process uses.
 */
#include <string.h>
#include <hone/hone.h>
#include "cpuid.h"
#include "detect.h"
#include "support.h"

#define ERMS (1u << 9)
#define N_TRAITS ((size_t)HONE_CPU_TRAIT_STREAM_L2 + 1)

/* EAX of leaf 1 of one stepping of each. */
#define ZEN3 0x00a00f11            /* EPYC 7003: family 25, model 1 */
#define ZEN4 0x00a10f11            /* EPYC 9004: family 25, model 17 */
#define ZEN4_DESKTOP 0x00a60f12    /* family 25, model 97 */
#define ZEN5 0x00b00f21            /* EPYC 9005: family 26, model 2 */
#define ZEN5_MOBILE 0x00b20f40     /* family 26, model 36 */
#define EMERALD_RAPIDS 0x000c06f2  /* family 6, model 207 */
#define SAPPHIRE_RAPIDS 0x000806f8 /* family 6, model 143 */

static size_t values[N_TRAITS];

static void
parse(const char *vendor, uint32_t leaf1_eax, uint32_t leaf7_ebx,
	unsigned glibc)
{
	struct hone_cpuid id = {
		.leaf1_eax = leaf1_eax, .leaf7_ebx = leaf7_ebx, .glibc = glibc};

	memcpy(id.vendor, vendor, sizeof(id.vendor));
	memset(values, 0, sizeof(values));
	hone_cpu_parse_traits(&id, values);
}

static void
traits_must_be(size_t min, size_t max, size_t stream_min)
{
	assert_int_equal(values[HONE_CPU_TRAIT_COPY_MIN], min);
	assert_int_equal(values[HONE_CPU_TRAIT_COPY_MAX], max);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_MIN], stream_min);
}

TEST(zen_copies_itself_where_an_old_glibc_is_slow)
{
	parse("AuthenticAMD", ZEN5, ERMS, GLIBC(2, 36));
	traits_must_be(2112, 27647, 64 << 20);
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(2, 36));
	traits_must_be(0, 16384, 0);
}

TEST(a_glibc_that_was_not_measured_copies_all)
{
	parse("AuthenticAMD", ZEN5, ERMS, GLIBC(2, 37));
	traits_must_be(0, 0, 0);
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(3, 0));
	traits_must_be(0, 0, 0);
}

TEST(another_c_library_copies_only_where_a_string_instruction_is_faster)
{
	parse("AuthenticAMD", ZEN5, ERMS, 0);
	traits_must_be(0, 27647, 64 << 20);
	parse("AuthenticAMD", ZEN5, ~ERMS, 0);
	traits_must_be(0, SIZE_MAX, 0);
	parse("AuthenticAMD", ZEN4, ERMS, 0);
	traits_must_be(0, SIZE_MAX, 0);
}

TEST(emerald_rapids_streams_by_l2_with_any_c_library)
{
	parse("GenuineIntel", EMERALD_RAPIDS, ERMS, GLIBC(2, 43));
	traits_must_be(0, 0, 8 << 20);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_L2], 1);
	parse("GenuineIntel", EMERALD_RAPIDS, ERMS, GLIBC(2, 44));
	traits_must_be(0, 0, 0);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_L2], 1);
	parse("GenuineIntel", EMERALD_RAPIDS, ERMS, 0);
	traits_must_be(0, SIZE_MAX, 8 << 20);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_L2], 1);
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(2, 36));
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_L2], 0);
}

TEST(cpus_that_were_not_measured_keep_what_was_set_before)
{
	static const struct {
		const char *vendor;
		uint32_t leaf1_eax;
	} others[] = {{"AuthenticAMD", ZEN3}, {"AuthenticAMD", ZEN4_DESKTOP},
		{"AuthenticAMD", ZEN5_MOBILE}, {"GenuineIntel", ZEN5},
		{"GenuineIntel", SAPPHIRE_RAPIDS},
		{"AuthenticAMD", EMERALD_RAPIDS}, {"HygonGenuine", ZEN5},
		{"AuthenticAMD", 0x00000fcf}, /* family 15, model 12 */
		{"GenuineIntel", 0xffffffff}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		parse(others[i].vendor, others[i].leaf1_eax, ERMS,
			i % 2 * GLIBC(2, 36));
		traits_must_be(0, 0, 0);
		assert_int_equal(values[HONE_CPU_TRAIT_STREAM_L2], 0);
	}
}

TEST(every_trait_has_a_name_and_no_other_number_has)
{
	for (unsigned i = 0; i < N_TRAITS; i++) {
		assert_non_null(hone_cpu_trait_name(i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(
				hone_cpu_trait_name(i), hone_cpu_trait_name(k));
	}
	assert_string_equal(
		hone_cpu_trait_name(HONE_CPU_TRAIT_STREAM_L2), "stream_l2");
	assert_null(hone_cpu_trait_name(N_TRAITS));
	assert_null(hone_cpu_trait_name(UINT32_MAX));
}

/* Runs first: no trait is known before. */
TEST(a_trait_that_is_set_first_does_not_hide_the_others)
{
	size_t stream;

	hone_cpu_set_trait(HONE_CPU_TRAIT_COPY_MAX, 12345);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX), 12345);
	stream = hone_cpu_trait(HONE_CPU_TRAIT_STREAM_MIN);
	hone_cpu_detect_traits(values);
	assert_int_equal(stream, values[HONE_CPU_TRAIT_STREAM_MIN]);
}

TEST(a_trait_keeps_each_value_that_is_set)
{
	static const size_t set[] = {0, 1, 32768, SIZE_MAX - 2, SIZE_MAX};

	for (unsigned trait = 0; trait < N_TRAITS; trait++) {
		size_t before = hone_cpu_trait(trait);

		for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
			hone_cpu_set_trait(trait, set[i]);
			assert_int_equal(hone_cpu_trait(trait), set[i]);
		}
		hone_cpu_set_trait(trait, before);
		assert_int_equal(hone_cpu_trait(trait), before);
	}
}

TEST(an_unknown_trait_is_0_and_cannot_be_set)
{
	hone_cpu_set_trait(N_TRAITS, 1);
	hone_cpu_set_trait(UINT32_MAX, 1);
	assert_int_equal(hone_cpu_trait(N_TRAITS), 0);
	assert_int_equal(hone_cpu_trait(UINT32_MAX), 0);
}

TEST(a_limit_does_not_change_traits)
{
	for (unsigned trait = 0; trait < N_TRAITS; trait++) {
		size_t before = hone_cpu_trait(trait);

		hone_cpu_limit(0);
		assert_int_equal(hone_cpu_trait(trait), before);
		hone_cpu_limit(HONE_CPU_ALL);
	}
}
