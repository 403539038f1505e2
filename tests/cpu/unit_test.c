/* SPDX-License-Identifier: BSD-3-Clause */
#include <hone/cpu.h>
#include <hone/hone.h>
#include "detect.h"
#include "support.h"

TEST(version_is_that_of_the_headers)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", HONE_VERSION_MAJOR,
		HONE_VERSION_MINOR, HONE_VERSION_PATCH);
	assert_string_equal(HONE_VERSION_STRING, text);
	assert_string_equal(hone_version(), text);
}

TEST(a_limit_takes_away_and_never_adds)
{
	uint64_t all = hone_cpu_features();

	hone_cpu_limit(0);
	assert_int_equal(hone_cpu_features(), 0);
	hone_cpu_limit(HONE_CPU_AVX2);
	assert_int_equal(hone_cpu_features(), all & HONE_CPU_AVX2);
	hone_cpu_limit(HONE_CPU_ALL);
	assert_int_equal(hone_cpu_features(), all);
}

TEST(without_features_every_part_uses_generic)
{
	hone_cpu_limit(0);
	for (size_t i = 0; hone_cpu_part(i); i++)
		assert_string_equal(
			hone_cpu_variant(hone_cpu_part(i)), "generic");
	hone_cpu_limit(HONE_CPU_ALL);
}

TEST(every_feature_of_this_cpu_has_a_name)
{
	uint64_t bits = hone_cpu_features();

	for (; bits != 0; bits &= bits - 1)
		assert_non_null(hone_cpu_feature_name(bits & -bits));
	assert_null(hone_cpu_feature_name(0));
	assert_null(hone_cpu_feature_name(HONE_CPU_ALL));
	assert_string_equal(hone_cpu_feature_name(HONE_CPU_AVX2), "avx2");
}

TEST(every_feature_is_found_by_its_name)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t feature = UINT64_C(1) << bit;
		const char *name = hone_cpu_feature_name(feature);

		if (name)
			assert_int_equal(
				hone_cpu_feature_by_name(name, strlen(name)),
				feature);
	}
}

TEST(a_feature_name_ends_with_its_length)
{
	static const struct {
		const char *name;
		size_t length;
		uint64_t feature; /* 0: it is the name of none */
	} cases[] = {{"sse2,avx2", 4, HONE_CPU_SSE2}, {"avx512bw", 7, 0},
		{"avx512f", 7, HONE_CPU_AVX512F}, {"sse2,avx2", 9, 0},
		{"sse2", 5, 0}, {"", 0, 0}, {NULL, 0, 0}, {"SSE2", 4, 0},
		{"generic", 7, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hone_cpu_feature_by_name(
					 cases[i].name, cases[i].length),
			cases[i].feature);
}

TEST(unknown_parts_and_levels_are_told)
{
	assert_null(hone_cpu_variant("no such part"));
	assert_null(hone_cpu_variant(NULL));
	assert_null(hone_cpu_part(SIZE_MAX));
	assert_int_equal(hone_cpu_cache_size(0), 0);
	assert_int_equal(hone_cpu_cache_size(4), 0);
}

/*
 * Traits: those of several CPUs by the words of their CPUID, and those that
 * this process uses.
 */

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
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(2, 37));
	traits_must_be(1025, 5120, 0);
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(2, 43));
	traits_must_be(1025, 5120, 0);
}

TEST(a_glibc_that_was_not_measured_copies_all)
{
	parse("AuthenticAMD", ZEN5, ERMS, GLIBC(2, 37));
	traits_must_be(0, 0, 0);
	parse("AuthenticAMD", ZEN4, ERMS, GLIBC(2, 44));
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

/* The sizes of the CPU caches in sysfs. The linker redirects the library's
 * calls to this file, which has the fields of a simulated CPU, or passes the
 * calls on. */

#define PREFIX "/sys/devices/system/cpu/cpu0/cache/index"

/* NULL: the file does not exist; "": it cannot be read. */
struct cache {
	const char *type, *level, *size;
};

static const struct cache *caches; /* NULL: those of this machine */
static unsigned n_caches;
static int open_files;

static const char *
content_of(const char *path)
{
	const struct cache *cache;
	unsigned index;
	char field[8];

	assert_int_equal(sscanf(path, PREFIX "%u/%7s", &index, field), 2);
	if (index >= n_caches)
		return NULL;
	cache = &caches[index];
	return strcmp(field, "type") == 0    ? cache->type
	       : strcmp(field, "level") == 0 ? cache->level
					     : cache->size;
}

STANDS_FOR(int, open64, const char *path, int flags, ...)
{
	const char *content;
	int fds[2];

	if (!caches)
		return __real_open64(path, flags);
	content = content_of(path);
	if (!content) {
		errno = ENOENT;
		return -1;
	}
	assert_ok(pipe(fds));
	assert_int_equal(
		write(fds[1], content, strlen(content)), (int)strlen(content));
	close(fds[1]);
	open_files++;
	return fds[0];
}

static void
simulate(const struct cache *all, unsigned n)
{
	caches = all;
	n_caches = n;
}

TEST(caches_grow_with_their_level)
{
	simulate(NULL, 0);
	size_t l1 = hone_cpu_detect_cache(1), l2 = hone_cpu_detect_cache(2);

	if (l1 == 0) { /* some virtual machines hide them */
		print_message("# skipped: the machine tells no cache sizes\n");
		skip();
	}
	assert_in_range(l1, 4096, 1 << 20);
	assert_true(l2 == 0 || l2 >= l1);
}

/* The other tests do not ask for a known size. */
TEST(a_size_is_read_once_and_then_kept)
{
	static const struct cache all[] = {
		{"Data\n", "1\n", "48K\n"}, {"Unified\n", "2\n", "2048K\n"}};
	static const size_t sizes[] = {48 << 10, 2 << 20, 0};

	simulate(all, 2);
	for (int round = 0; round < 2; round++)
		for (unsigned level = 1; level <= 3; level++) {
			open_files = 0;
			assert_int_equal(
				hone_cpu_cache_size(level), sizes[level - 1]);
			assert_true((open_files > 0) == (round == 0));
		}
}

TEST(each_level_has_the_size_of_its_data)
{
	static const struct cache all[] = {{"Instruction\n", "1\n", "32K\n"},
		{"Data\n", "1\n", "48K\n"}, {"Unified\n", "2\n", "2048K\n"},
		{"Unified\n", "3\n", "96M\n"}, {"Unified\n", "4\n", "1000000"}};

	simulate(all, 5);
	assert_int_equal(hone_cpu_detect_cache(1), 48 << 10);
	assert_int_equal(hone_cpu_detect_cache(2), 2 << 20);
	assert_int_equal(hone_cpu_detect_cache(3), 96 << 20);
	assert_int_equal(hone_cpu_detect_cache(4), 1000000);
	assert_int_equal(hone_cpu_detect_cache(5), 0);
}

TEST(what_is_missing_or_empty_is_no_size)
{
	static const struct cache all[] = {{"Data\n", NULL, "48K\n"},
		{"Unified\n", "2\n", NULL}, {"Unified\n", "3\n", ""},
		{NULL, "4\n", "64M\n"}};
	static const struct cache instructions[] = {
		{"Instruction\n", "1\n", "32K\n"}};

	for (unsigned n = 0; n <= 4; n++) {
		simulate(all, n);
		for (unsigned level = 1; level <= 4; level++)
			assert_int_equal(hone_cpu_detect_cache(level), 0);
	}
	simulate(instructions, 1);
	assert_int_equal(hone_cpu_detect_cache(1), 0);
}

/* A directory that the code does not expect must not keep it busy. */
TEST(only_the_first_directories_are_read)
{
	static struct cache all[100];

	for (int i = 0; i < 100; i++)
		all[i] = (struct cache){"Data\n", "1\n", "32K\n"};
	simulate(all, 100);
	open_files = 0;
	assert_int_equal(hone_cpu_detect_cache(2), 0);
	assert_in_range(open_files, 10, 30);
}
