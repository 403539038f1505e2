/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every variant of the zero part, one a run: zero_variants_test NAME [STRIDE].
 *
 * Each promise is tested twice, through the table and through the public
 * functions under hone_cpu_limit(). STRIDE reduces the alignments of the
 * slowest test where an emulator or a sanitizer runs it (1: all 64). Above 16,
 * as both have it, it reduces the lengths and the borders of the slow tests
 * too.
 */
#include <hone/cpu.h>
#include "support.h"
#include "zero.h"

#define MAX_LEN 1100
/* Above stride 16: four groups of four AVX2 registers; two groups of four SVE
 * registers of 512 bits. */
#define MAX_LEN_EMULATED 520
#define ALIGNMENTS 64
#define HUGE_PAGE ((size_t)2 << 20)
#define OTHER 0xff /* bytes around the buffer: they must not matter */

struct subject {
	hone_zero_is_fn *is_zero;
	hone_zero_find_fn *find;
	hone_zero_find_fn *rfind;
	/* of alignments; the public functions choose a row by none */
	size_t step;
};

static const struct hone_zero_variant *variant;
static size_t stride, max_len;
static uint64_t seed;
static struct fence fence;

FIXTURE(by_table)
{
	static struct subject s;

	s = (struct subject){
		variant->is_zero, variant->find, variant->rfind, stride};
	*state = &s;
	return 0;
}

static bool
public_is_zero(const void *buf, size_t len)
{
	return hone_buffer_is_zero(buf, len);
}

FIXTURE(by_public)
{
	static struct subject s = {
		public_is_zero, hone_find_nonzero, hone_rfind_nonzero, 1};

	s.step = stride == 1 ? 1 : ALIGNMENTS;
	hone_cpu_limit(variant->row.needs);
	assert_string_equal(hone_cpu_variant("zero"), variant->row.name);
	*state = &s;
	return 0;
}

/* A test of the row of the table, and of the public functions. */
#define BOTH_WAYS(name)                                                        \
	static void name(void **state);                                        \
	TEST_CASE(#name " (table)", name, by_table, NULL, NULL);               \
	TEST_CASE(#name " (public, limited)", name, by_public,                 \
		support_lift_limit, NULL);                                     \
	static void name(void **state)

/* Each assert_* of cmocka is a call; these loops would make 100 million. */
#define MUST(cond, p, len)                                                     \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: %s: len %zu, alignment %zu",             \
				variant->row.name, #cond, (size_t)(len),       \
				(size_t)((uintptr_t)(p) % ALIGNMENTS));        \
	} while (0)

static void
must_be_zero(const struct subject *s, const unsigned char *p, size_t len)
{
	MUST(s->is_zero(p, len), p, len);
	MUST(s->find(p, len) == len, p, len);
	MUST(s->rfind(p, len) == len, p, len);
}

/* The first and last bytes that are not zero are at these offsets. */
static void
must_find(const struct subject *s, const unsigned char *p, size_t len,
	size_t first, size_t last)
{
	MUST(!s->is_zero(p, len), p, len);
	MUST(s->find(p, len) == first, p, len);
	MUST(s->rfind(p, len) == last, p, len);
}

BOTH_WAYS(empty_buffer_is_zero_even_at_null)
{
	must_be_zero(*state, NULL, 0);
	must_be_zero(*state, fence.end, 0);
	must_be_zero(*state, fence.start, 0);
}

BOTH_WAYS(zeros_of_every_length_and_alignment_at_both_fences)
{
	memset(fence.start, OTHER, (size_t)(fence.end - fence.start));
	for (size_t len = 0; len <= max_len; len++) {
		for (size_t align = 0; align < ALIGNMENTS; align++) {
			unsigned char *low = fence.start + align;
			unsigned char *high = fence.end - align - len;

			memset(low, 0, len);
			must_be_zero(*state, low, len);
			memset(low, OTHER, len);
			memset(high, 0, len);
			must_be_zero(*state, high, len);
			memset(high, OTHER, len);
		}
	}
}

static void
one_byte_at_every_position(
	const struct subject *s, unsigned char *p, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		p[at] = (unsigned char)(1 << at % 8);
		must_find(s, p, len, at, at);
		p[at] = 0;
	}
}

BOTH_WAYS(every_position_of_a_single_nonzero_byte_is_found)
{
	const struct subject *s = *state;

	memset(fence.start, OTHER, (size_t)(fence.end - fence.start));
	for (size_t len = 1; len <= max_len; len++) {
		/* rotated, so that a stride still covers every alignment */
		for (size_t i = 0; i < ALIGNMENTS; i += s->step) {
			size_t align = (i + len) % ALIGNMENTS;
			unsigned char *p = len % 2 ? fence.start + align
						   : fence.end - align - len;

			memset(p, 0, len);
			one_byte_at_every_position(s, p, len);
			memset(p, OTHER, len);
		}
	}
}

BOTH_WAYS(first_and_last_of_two_bytes_are_told_apart)
{
	for (size_t len = 2; len <= MAX_LEN; len += 1 + len / 16) {
		unsigned char *p = fence.end - len;

		memset(p, 0, len);
		for (size_t i = 0; i < len; i += 1 + len / 32) {
			for (size_t j = i; j < len; j += 1 + len / 32) {
				p[i] = p[j] = 0x80;
				must_find(*state, p, len, i, j);
				p[i] = p[j] = 0;
			}
		}
	}
}

/* Lengths from around one page to over two huge pages, and every offset of a
 * byte that lies at a border of pages, huge pages or the buffer. */
BOTH_WAYS(large_buffers_are_right_across_page_and_2m_borders)
{
	static const size_t lens[] = {2048, 4095, 4096, 4097, 8192 + 63,
		65536 + 1, HUGE_PAGE - 1, HUGE_PAGE + 4096 + 7,
		2 * HUGE_PAGE + 4096 - 64};
	/* above stride 16 only the first borders of a page and a huge page */
	const size_t factor = stride > 16 ? HUGE_PAGE / 4096 : 2;
	struct fence big;

	fence_create(&big, 2 * HUGE_PAGE + 4096, HUGE_PAGE);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];
		unsigned char *const places[] = {
			big.start, big.start + 1, big.end - len};

		for (size_t k = 0; k < 3; k++) {
			unsigned char *p = places[k];

			if (p + len > big.end)
				continue;
			must_be_zero(*state, p, len);
			for (size_t border = 4096; border < len;
				border *= factor) {
				for (size_t at = border - 2; at < border + 2;
					at++) {
					if (at >= len)
						break;
					p[at] = 1;
					must_find(*state, p, len, at, at);
					p[at] = 0;
				}
			}
			p[len - 1] = 1;
			must_find(*state, p, len, len - 1, len - 1);
			p[len - 1] = 0;
		}
	}
	fence_destroy(&big);
}

BOTH_WAYS(random_contents_give_what_generic_gives)
{
	const struct subject *s = *state;
	uint64_t random = seed;
	size_t room = (size_t)(fence.end - fence.start);

	for (int turn = 0; turn < 20000; turn++) {
		size_t len = support_below(&random, 10) == 0
				     ? support_below(&random, room)
				     : support_below(&random, 1500);
		size_t align = support_below(&random, room - len + 1);
		unsigned char *p = fence.start + align;
		size_t bytes = support_below(&random, 4);

		memset(p, 0, len);
		while (len > 0 && bytes-- > 0)
			p[support_below(&random, len)] =
				(unsigned char)support_random(&random);
		MUST(s->is_zero(p, len) == hone_zero_is_generic(p, len), p,
			len);
		MUST(s->find(p, len) == hone_zero_find_generic(p, len), p, len);
		MUST(s->rfind(p, len) == hone_zero_rfind_generic(p, len), p,
			len);
	}
}

int
main(int argc, char **argv)
{
	const struct support_choice choice = support_choose(argc, argv,
		hone_zero_variants, hone_zero_n_variants, sizeof(*variant));

	if (!(variant = choice.variant))
		return choice.status;
	stride = choice.stride;
	max_len = stride > 16 ? MAX_LEN_EMULATED : MAX_LEN;
	seed = support_seed();
	fence_create(&fence, 16384, 4096);
	return run_all_tests(NULL, NULL);
}
