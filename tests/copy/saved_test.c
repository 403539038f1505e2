/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices as a line of text, and what is refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/cpu.h>
#include "copy.h"
#include "fence.h"
#include "support.h"

#define ROUNDS 20000

struct choices {
	size_t threshold, min, max, store;
};

static char cpu[HONE_CPU_NAME_SIZE];
/* Ends where reading one byte more faults. */
static struct fence fence;

static void
choose(const struct choices *c)
{
	hone_copy_set_threshold(c->threshold);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN, c->min);
	hone_cpu_set_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX, c->max);
	hone_cpu_set_trait(HONE_CPU_TRAIT_STORE_BYTES, c->store);
}

static void
must_be_chosen(const struct choices *c)
{
	assert_int_equal(hone_copy_threshold(), c->threshold);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MIN), c->min);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_REP_MOVSB_MAX), c->max);
	assert_int_equal(hone_cpu_trait(HONE_CPU_TRAIT_STORE_BYTES), c->store);
}

static int
apply(const char *text, size_t length)
{
	char *at = (char *)fence.end - length;

	memcpy(at, text, length);
	return hone_copy_apply(at, length);
}

static const struct choices others = {11111, 22222, 33333, 44};

/* After a refusal everything is as it was. */
static void
must_be_refused(const char *text, size_t length, int error)
{
	choose(&others);
	assert_int_equal(apply(text, length), error);
	must_be_chosen(&others);
}

/* The rest of a line of this CPU, from " threshold=" on. */
static void
rest_must_be_refused(const char *rest)
{
	char line[2 * HONE_COPY_SAVED_SIZE];

	snprintf(line, sizeof(line), "hone-copy 1 cpu=%s%s", cpu, rest);
	must_be_refused(line, strlen(line), -EINVAL);
}

static void
a_line_brings_every_choice_back(void **state)
{
	static const struct choices all[] = {{1, 0, 0, 0},
		{SIZE_MAX, 0, SIZE_MAX, 64}, {16 << 20, 32768, SIZE_MAX, 32},
		{4096, SIZE_MAX, 0, SIZE_MAX},
		{SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX - 2, SIZE_MAX - 2},
		{90, 10, 100, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char line[HONE_COPY_SAVED_SIZE];
		int length;

		choose(&all[i]);
		length = hone_copy_save(line, sizeof(line));
		assert_int_equal(length, strlen(line));
		assert_int_equal(line[length - 1], '\n');
		choose(&others);
		assert_int_equal(apply(line, (size_t)length), 0);
		must_be_chosen(&all[i]);
		/* The line feed may be missing. */
		choose(&others);
		assert_int_equal(apply(line, (size_t)length - 1), 0);
		must_be_chosen(&all[i]);
	}
}

static void
the_line_is_what_the_manual_shows(void **state)
{
	const struct choices c = {16 << 20, 32768, SIZE_MAX, 64};
	char line[HONE_COPY_SAVED_SIZE], want[HONE_COPY_SAVED_SIZE];

	(void)state;
	choose(&c);
	assert_true(hone_copy_save(line, sizeof(line)) > 0);
	snprintf(want, sizeof(want),
		"hone-copy 1 cpu=%s threshold=16777216 rep_movsb_min=32768 "
		"rep_movsb_max=max store_bytes=64\n",
		cpu);
	assert_string_equal(line, want);
}

static void
the_default_is_saved_in_bytes(void **state)
{
	char line[HONE_COPY_SAVED_SIZE], want[64];

	(void)state;
	hone_copy_set_threshold(0);
	assert_true(hone_copy_save(line, sizeof(line)) > 0);
	snprintf(want, sizeof(want), " threshold=%zu ", hone_copy_threshold());
	assert_non_null(strstr(line, want));
}

static void
too_little_memory_is_not_written_to(void **state)
{
	const struct choices c = {
		SIZE_MAX - 1, SIZE_MAX - 1, SIZE_MAX - 1, SIZE_MAX - 1};
	char line[HONE_COPY_SAVED_SIZE];
	int length;

	(void)state;
	choose(&c);
	length = hone_copy_save(line, sizeof(line));
	assert_true(length > 0);
	for (size_t size = 0; size <= (size_t)length; size++) {
		char *at = (char *)fence.end - size;

		memset(at, 0x55, size);
		assert_int_equal(hone_copy_save(at, size), -ENOBUFS);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(at[i], 0x55);
	}
	assert_int_equal(hone_copy_save((char *)fence.end - length - 1,
				 (size_t)length + 1),
		length);
	assert_memory_equal(fence.end - length - 1, line, (size_t)length + 1);
}

static void
every_beginning_of_a_line_is_refused(void **state)
{
	const struct choices c = {16 << 20, 32768, 65536, 64};
	char line[HONE_COPY_SAVED_SIZE];
	int length;

	(void)state;
	choose(&c);
	length = hone_copy_save(line, sizeof(line));
	for (size_t n = 0; n + sizeof("64\n") <= (size_t)length; n++)
		must_be_refused(line, n, -EINVAL);
	assert_int_equal(hone_copy_apply(NULL, 0), -EINVAL);
}

static void
a_number_has_one_form(void **state)
{
	static const char *const numbers[] = {"", " 1", "1 ", "+1", "-1", "01",
		"00", "0x10", "1k", "1.0", "1e3", "1,000", "maxi", "Max", "MAX",
		"99999999999999999999", "18446744073709551615",
		"18446744073709551616", "184467440737095516150"};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char rest[HONE_COPY_SAVED_SIZE];

		for (int field = 0; field < 4; field++) {
			snprintf(rest, sizeof(rest),
				" threshold=%s rep_movsb_min=%s "
				"rep_movsb_max=%s store_bytes=%s",
				field == 0 ? numbers[i] : "2",
				field == 1 ? numbers[i] : "3",
				field == 2 ? numbers[i] : "4",
				field == 3 ? numbers[i] : "5");
			rest_must_be_refused(rest);
		}
	}
}

#define MIN " rep_movsb_min=2"
#define MAX " rep_movsb_max=3"
#define STORE " store_bytes=4"

static void
fields_have_one_order_and_nothing_follows_them(void **state)
{
	(void)state;
	rest_must_be_refused("");
	rest_must_be_refused(MIN MAX STORE);
	rest_must_be_refused(" threshold=1" STORE MIN MAX);
	rest_must_be_refused(" threshold=1 threshold=1" MIN MAX STORE);
	rest_must_be_refused(" threshold=1" MIN MAX STORE " ");
	rest_must_be_refused(" threshold=1" MIN MAX STORE "\r\n");
	rest_must_be_refused(" threshold=1" MIN MAX STORE " more=4\n");
	rest_must_be_refused(" threshold=1" MIN MAX STORE "\n\n");
	/* 0 is the default, whose bytes a line has. */
	rest_must_be_refused(" threshold=0" MIN MAX STORE);
}

#define NUMBERS " threshold=1" MIN MAX STORE "\n"
#define REFUSED(line, error) must_be_refused(line, sizeof(line) - 1, error)

static void
another_head_is_refused(void **state)
{
	char line[HONE_COPY_SAVED_SIZE];
	int n;

	(void)state;
	REFUSED("", -EINVAL);
	REFUSED("\n", -EINVAL);
	REFUSED("hone-copy 2 cpu=X" NUMBERS, -EINVAL);
	REFUSED("hone-copy 10 cpu=X" NUMBERS, -EINVAL);
	REFUSED("Hone-copy 1 cpu=X" NUMBERS, -EINVAL);
	REFUSED(" hone-copy 1 cpu=X" NUMBERS, -EINVAL);
	REFUSED("hone-copy 1 cpu=" NUMBERS, -EINVAL);
	REFUSED("hone-copy 1 cpu=X X" NUMBERS, -EINVAL);
	REFUSED("hone-copy 1 cpu=X\xff" NUMBERS, -EINVAL);
	/* A byte past the name of this CPU. */
	n = snprintf(
		line, sizeof(line), "hone-copy 1 cpu=%s%c" NUMBERS, cpu, 0);
	must_be_refused(line, (size_t)n, -EINVAL);
}

static void
a_text_of_any_length_is_refused(void **state)
{
	size_t length = (size_t)(fence.end - fence.start);
	char *text = malloc(length);
	int head;

	(void)state;
	assert_non_null(text);
	memset(text, '1', length);
	head = snprintf(text, length, "hone-copy 1 cpu=");
	text[head] = '1';
	must_be_refused(text, length, -EINVAL);
	head = snprintf(text, length, "hone-copy 1 cpu=%s threshold=", cpu);
	text[head] = '1';
	must_be_refused(text, length, -EINVAL);
	memset(text + head, '0', length - (size_t)head);
	must_be_refused(text, length, -EINVAL);
	free(text);
}

static void
a_line_of_another_cpu_is_refused(void **state)
{
	static const char *const names[] = {"X", "AuthenticAMD-25-1",
		"GenuineIntel-6-255", "aarch64_", "____________-0-0",
		"a234567890123456789012345678901"};
	char line[HONE_COPY_SAVED_SIZE];
	int n;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], cpu) == 0)
			continue;
		n = snprintf(line, sizeof(line), "hone-copy 1 cpu=%s" NUMBERS,
			names[i]);
		must_be_refused(line, (size_t)n, -ENODEV);
	}
	/* A longer name, and a shorter one. */
	n = snprintf(line, sizeof(line), "hone-copy 1 cpu=%s0" NUMBERS, cpu);
	must_be_refused(line, (size_t)n, -ENODEV);
	n = snprintf(line, sizeof(line), "hone-copy 1 cpu=%.*s" NUMBERS,
		(int)strlen(cpu) - 1, cpu);
	must_be_refused(line, (size_t)n, -ENODEV);
	/* No CPU has a name that is so long. */
	REFUSED("hone-copy 1 cpu=a2345678901234567890123456789012" NUMBERS,
		-EINVAL);
	/* A line that is wrong and of another CPU is wrong. */
	REFUSED("hone-copy 1 cpu=X threshold=1", -EINVAL);
}

static void
a_range_needs_erms(void **state)
{
	static const struct {
		const char *range;
		int error;
	} rows[] = {{"rep_movsb_min=2 rep_movsb_max=3", -ENODEV},
		{"rep_movsb_min=0 rep_movsb_max=max", -ENODEV},
		{"rep_movsb_min=3 rep_movsb_max=3", -ENODEV},
		{"rep_movsb_min=3 rep_movsb_max=2", 0},
		{"rep_movsb_min=0 rep_movsb_max=0", 0}};

	(void)state;
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[HONE_COPY_SAVED_SIZE];
		int n = snprintf(line, sizeof(line),
			"hone-copy 1 cpu=%s threshold=7 %s" STORE, cpu,
			rows[i].range);

		if (rows[i].error) {
			must_be_refused(line, (size_t)n, rows[i].error);
			continue;
		}
		assert_int_equal(apply(line, (size_t)n), 0);
		assert_int_equal(hone_copy_threshold(), 7);
	}
	/* what is saved can be applied */
	char saved[HONE_COPY_SAVED_SIZE];
	choose(&others);
	int n = hone_copy_save(saved, sizeof(saved));
	assert_int_equal(apply(saved, (size_t)n), 0);
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
}

/* What is accepted is what would be saved, whatever was damaged. */
static void
a_damaged_line_is_refused_or_means_what_it_says(void **state)
{
	uint64_t random = support_seed();
	char line[HONE_COPY_SAVED_SIZE], again[HONE_COPY_SAVED_SIZE];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct choices c = {1 + support_below(&random, 1 << 20),
			support_below(&random, 1 << 20),
			support_below(&random, 1 << 20),
			support_below(&random, 1 << 20)};
		size_t length, at;
		int error;

		choose(&c);
		length = (size_t)hone_copy_save(line, sizeof(line));
		at = support_below(&random, length);
		line[at] = (char)support_below(&random, 256);
		choose(&others);
		error = apply(line, length);
		if (error != 0) {
			assert_true(error == -EINVAL || error == -ENODEV);
			must_be_chosen(&others);
			continue;
		}
		/* The line feed may be what was damaged. */
		length -= line[length - 1] == '\n';
		assert_int_equal(
			hone_copy_save(again, sizeof(again)), length + 1);
		assert_memory_equal(again, line, length);
	}
}

static int
begin(void **state)
{
	(void)state;
	hone_cpu_name(cpu);
	/* The traits need no instruction: they may be set on any CPU. */
	hone_cpu_set_trait(HONE_CPU_TRAIT_ERMS, 1);
	fence_create(&fence, 65536, 65536);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	fence_destroy(&fence);
	hone_copy_set_threshold(0);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_brings_every_choice_back),
		cmocka_unit_test(the_line_is_what_the_manual_shows),
		cmocka_unit_test(the_default_is_saved_in_bytes),
		cmocka_unit_test(too_little_memory_is_not_written_to),
		cmocka_unit_test(every_beginning_of_a_line_is_refused),
		cmocka_unit_test(a_number_has_one_form),
		cmocka_unit_test(
			fields_have_one_order_and_nothing_follows_them),
		cmocka_unit_test(another_head_is_refused),
		cmocka_unit_test(a_text_of_any_length_is_refused),
		cmocka_unit_test(a_line_of_another_cpu_is_refused),
		cmocka_unit_test(a_range_needs_erms),
		cmocka_unit_test(
			a_damaged_line_is_refused_or_means_what_it_says),
	};

	return cmocka_run_group_tests_name("copy-saved", tests, begin, end);
}
