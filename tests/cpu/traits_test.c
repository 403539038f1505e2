/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traits: those of several CPUs by the words of their CPUID, and those that
 * this process uses.
 */
#include <string.h>
#include <hone/hone.h>
#include "../part.h"
#include "cpuid.h"
#include "support.h"

#define ERMS (1u << 9)
#define FSRM (1u << 4)
#define FZRM (1u << 10)
#define FSRS (1u << 11)
#define N_TRAITS ((size_t)HONE_CPU_TRAIT_STREAM_MIN + 1)

/* EAX of leaf 1 of one stepping of each. */
#define ZEN3 0x00a00f11           /* EPYC 7003: family 25, model 1 */
#define ZEN4 0x00a10f11           /* EPYC 9004: family 25, model 17 */
#define ZEN4_DESKTOP 0x00a60f12   /* family 25, model 97 */
#define ZEN5 0x00b00f21           /* EPYC 9005: family 26, model 2 */
#define ZEN5_MOBILE 0x00b20f40    /* family 26, model 36 */
#define EMERALD_RAPIDS 0x000c06f2 /* family 6, model 207 */

static size_t values[N_TRAITS];

static void
parse(const char *vendor, uint32_t leaf1_eax, uint32_t leaf7_ebx,
	uint32_t leaf7_edx, uint32_t leaf7_1_eax)
{
	struct hone_cpuid id = {.leaf1_eax = leaf1_eax,
		.leaf7_ebx = leaf7_ebx,
		.leaf7_edx = leaf7_edx,
		.leaf7_1_eax = leaf7_1_eax};

	memcpy(id.vendor, vendor, sizeof(id.vendor));
	memset(values, 0, sizeof(values));
	hone_cpu_parse_traits(&id, values);
}

static void
widths_must_be(size_t load, size_t store)
{
	assert_int_equal(values[HONE_CPU_TRAIT_LOAD_BYTES], load);
	assert_int_equal(values[HONE_CPU_TRAIT_STORE_BYTES], store);
}

static void
rep_movsb_must_be(size_t min, size_t max)
{
	assert_int_equal(values[HONE_CPU_TRAIT_REP_MOVSB_MIN], min);
	assert_int_equal(values[HONE_CPU_TRAIT_REP_MOVSB_MAX], max);
}

static void
bits_must_be(size_t erms, size_t fsrm, size_t fzrm, size_t fsrs)
{
	assert_int_equal(values[HONE_CPU_TRAIT_ERMS], erms);
	assert_int_equal(values[HONE_CPU_TRAIT_FSRM], fsrm);
	assert_int_equal(values[HONE_CPU_TRAIT_FZRM], fzrm);
	assert_int_equal(values[HONE_CPU_TRAIT_FSRS], fsrs);
}

static void
zen5_copies_by_rep_movsb_from_27k_on(void **state)
{
	(void)state;
	parse("AuthenticAMD", ZEN5, ERMS, FSRM, 0);
	widths_must_be(128, 64);
	rep_movsb_must_be(27648, SIZE_MAX);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_MIN], 64 << 20);
	bits_must_be(1, 1, 0, 0);
}

static void
zen4_never_copies_by_rep_movsb(void **state)
{
	(void)state;
	parse("AuthenticAMD", ZEN4, ERMS, FSRM, 0);
	widths_must_be(64, 32);
	rep_movsb_must_be(0, 0);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_MIN], 0);
	bits_must_be(1, 1, 0, 0);
}

static void
emerald_rapids_has_measured_loads_only(void **state)
{
	(void)state;
	parse("GenuineIntel", EMERALD_RAPIDS, ERMS, FSRM, FZRM | FSRS);
	widths_must_be(128, 0);
	rep_movsb_must_be(0, 0);
	bits_must_be(1, 1, 1, 1);
}

static void
cpus_that_were_not_measured_have_bits_only(void **state)
{
	static const struct {
		const char *vendor;
		uint32_t leaf1_eax;
	} others[] = {{"AuthenticAMD", ZEN3}, {"AuthenticAMD", ZEN4_DESKTOP},
		{"AuthenticAMD", ZEN5_MOBILE}, {"GenuineIntel", ZEN5},
		{"AuthenticAMD", EMERALD_RAPIDS}, {"HygonGenuine", ZEN5},
		{"AuthenticAMD", 0x00000fcf}, /* family 15, model 12 */
		{"GenuineIntel", 0xffffffff}};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		parse(others[i].vendor, others[i].leaf1_eax, ERMS, 0, FSRS);
		widths_must_be(0, 0);
		rep_movsb_must_be(0, 0);
		assert_int_equal(values[HONE_CPU_TRAIT_STREAM_MIN], 0);
		bits_must_be(1, 0, 0, 1);
	}
}

static void
without_erms_rep_movsb_is_never_chosen(void **state)
{
	(void)state;
	parse("AuthenticAMD", ZEN5, ~ERMS, FSRM, 0);
	widths_must_be(128, 64);
	rep_movsb_must_be(0, 0);
	assert_int_equal(values[HONE_CPU_TRAIT_STREAM_MIN], 0);
	bits_must_be(0, 1, 0, 0);
}

static void
each_bit_is_read_from_its_place(void **state)
{
	(void)state;
	parse("AuthenticAMD", 0, ~ERMS, ~FSRM, ~(FZRM | FSRS));
	bits_must_be(0, 0, 0, 0);
	parse("AuthenticAMD", 0, 0, 0, FZRM);
	bits_must_be(0, 0, 1, 0);
}

static void
name_must_be(const char *vendor, uint32_t leaf1_eax, const char *want)
{
	struct hone_cpuid id = {.leaf1_eax = leaf1_eax};
	char name[HONE_CPU_NAME_SIZE];

	memcpy(id.vendor, vendor, sizeof(id.vendor));
	hone_cpu_format_name(&id, name);
	assert_string_equal(name, want);
}

static void
a_name_has_vendor_family_and_model(void **state)
{
	(void)state;
	name_must_be("AuthenticAMD", ZEN4, "AuthenticAMD-25-17");
	name_must_be("AuthenticAMD", ZEN5, "AuthenticAMD-26-2");
	name_must_be("GenuineIntel", EMERALD_RAPIDS, "GenuineIntel-6-207");
	name_must_be("GenuineIntel", UINT32_MAX, "GenuineIntel-270-255");
	name_must_be("  Shanghai  ", 0x000307b0, "__Shanghai__-7-11");
	name_must_be("\0\0\0\0\0\0\0\0\0\0\0", 0, "____________-0-0");
	name_must_be("@[`{/:\xff AZaz", 0, "________AZaz-0-0");
	name_must_be("09\n\"\\=-_.,;+", 0, "09__________-0-0");
}

static void
this_cpu_has_one_name(void **state)
{
	char name[HONE_CPU_NAME_SIZE], again[HONE_CPU_NAME_SIZE];

	(void)state;
	hone_cpu_name(name);
	hone_cpu_name(again);
	assert_string_equal(name, again);
#ifdef __x86_64__
	assert_non_null(strchr(name, '-'));
#elif defined(__aarch64__)
	assert_string_equal(name, "aarch64");
#elif defined(__s390x__)
	assert_string_equal(name, "s390x");
#elif defined(__riscv) && __riscv_xlen == 64
	assert_string_equal(name, "riscv64");
#endif
}

static void
every_trait_has_a_name_and_no_other_number_has(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_TRAITS; i++) {
		assert_non_null(hone_cpu_trait_name(i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(
				hone_cpu_trait_name(i), hone_cpu_trait_name(k));
	}
	assert_string_equal(hone_cpu_trait_name(HONE_CPU_TRAIT_FSRM), "fsrm");
	assert_null(hone_cpu_trait_name(N_TRAITS));
	assert_null(hone_cpu_trait_name(UINT32_MAX));
}

/* Runs first: no trait is known before. */
static void
a_trait_that_is_set_first_does_not_hide_the_others(void **state)
{
	size_t erms;

	(void)state;
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, 12345);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), 12345);
	erms = hone_cpu_trait(HONE_CPU_TRAIT_ERMS);
	assert_in_range(erms, 0, 1);
#ifndef __x86_64__
	assert_int_equal(erms, 0);
#endif
}

static void
a_trait_keeps_each_value_that_is_set(void **state)
{
	static const size_t set[] = {0, 1, 32768, SIZE_MAX - 2, SIZE_MAX};

	(void)state;
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

static void
an_unknown_trait_is_0_and_cannot_be_set(void **state)
{
	(void)state;
	hone_cpu_set_trait(N_TRAITS, 1);
	hone_cpu_set_trait(UINT32_MAX, 1);
	assert_int_equal(hone_cpu_trait(N_TRAITS), 0);
	assert_int_equal(hone_cpu_trait(UINT32_MAX), 0);
}

static void
a_limit_does_not_change_traits(void **state)
{
	(void)state;
	for (unsigned trait = 0; trait < N_TRAITS; trait++) {
		size_t before = hone_cpu_trait(trait);

		hone_cpu_limit(0);
		assert_int_equal(hone_cpu_trait(trait), before);
		hone_cpu_limit(HONE_CPU_ALL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_trait_that_is_set_first_does_not_hide_the_others),
		cmocka_unit_test(zen5_copies_by_rep_movsb_from_27k_on),
		cmocka_unit_test(zen4_never_copies_by_rep_movsb),
		cmocka_unit_test(emerald_rapids_has_measured_loads_only),
		cmocka_unit_test(cpus_that_were_not_measured_have_bits_only),
		cmocka_unit_test(without_erms_rep_movsb_is_never_chosen),
		cmocka_unit_test(each_bit_is_read_from_its_place),
		cmocka_unit_test(a_name_has_vendor_family_and_model),
		cmocka_unit_test(this_cpu_has_one_name),
		cmocka_unit_test(
			every_trait_has_a_name_and_no_other_number_has),
		cmocka_unit_test(a_trait_keeps_each_value_that_is_set),
		cmocka_unit_test(an_unknown_trait_is_0_and_cannot_be_set),
		cmocka_unit_test(a_limit_does_not_change_traits),
	};

	return cmocka_run_group_tests_name("cpu-traits", tests, NULL, NULL);
}
