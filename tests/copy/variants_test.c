/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every variant of the copy part, one a run: copy_variants_test NAME [STRIDE].
 *
 * Each way of copying and clearing is a row, called through the table and
 * through the public functions under hone_cpu_limit(). Some of the ways force
 * the traits: the C library makes no copy, or all but a range, and STREAM
 * fetches its source into L2 or past it.
 * STRIDE reduces the alignments where an emulator or a sanitizer runs the test
 * (1: every pair of 64).
 */
#include <hone/cpu.h>
#include "copy.h"
#include "support.h"

#define MAX_LEN 1100
#define ALIGNMENTS 64
#define MARGIN 64 /* bytes around the destination that must not change */
#define UNTOUCHED 0xa5
#define PAGE ((size_t)4096) /* the smallest there is */
#define HUGE_PAGE ((size_t)2 << 20)

static const struct hone_copy_variant *variant;
static size_t stride;
static uint64_t seed;
static struct fence from, to;
static unsigned char untouched[MARGIN];

enum choice { AS_THIS_CPU, ALWAYS, SOME };

/* A way to copy: through the table if fn is set, otherwise by that policy. */
struct way {
	hone_copy_fn *fn;
	int policy;
	/* ALWAYS: no copy is of the C library, and STREAM fetches into L2 */
	enum choice ours;
};

static void
copy_by(const struct way *way, void *d, const void *s, size_t n)
{
	if (way->fn) {
		way->fn(d, s, n);
		variant->fence();
	} else {
		hone_memcpy(d, s, n, way->policy);
		if (way->policy & HONE_COPY_NO_FENCE)
			hone_copy_fence();
	}
}

#define MUST(cond, d, s, n)                                                    \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("%s: %s: %zu bytes, alignment %zu from %zu",  \
				variant->row.name, #cond, (size_t)(n),         \
				(size_t)((uintptr_t)(d) % ALIGNMENTS),         \
				(size_t)((uintptr_t)(s) % ALIGNMENTS));        \
	} while (0)

/* Bytes of the margin that lie inside the fences, before and after. */
static void
margins_must_stand(const unsigned char *d, const unsigned char *s, size_t n)
{
	size_t before = (size_t)(d - to.start), after;

	after = (size_t)(to.end - (d + n));
	before = before < MARGIN ? before : MARGIN;
	after = after < MARGIN ? after : MARGIN;
	MUST(memcmp(d - before, untouched, before) == 0, d, s, n);
	MUST(memcmp(d + n, untouched, after) == 0, d, s, n);
}

static void
must_be_copied(unsigned char *d, const unsigned char *s, size_t n)
{
	MUST(memcmp(d, s, n) == 0, d, s, n);
	margins_must_stand(d, s, n);
	memset(d, UNTOUCHED, n);
}

static void
must_copy(const struct way *way, unsigned char *d, const unsigned char *s,
	size_t n)
{
	copy_by(way, d, s, n);
	must_be_copied(d, s, n);
	if (way->fn == variant->keep && n <= HONE_DETAIL_COPY_SHORT) {
		variant->up_to_64(d, s, n);
		must_be_copied(d, s, n);
	}
}

static void
must_clear(const struct way *way, unsigned char *d, size_t n)
{
	if (way->fn == variant->keep)
		variant->clear(d, n);
	else if (way->fn)
		variant->clear_stream(d, n);
	else
		hone_memset_zero(d, n, way->policy);
	variant->fence();
	for (size_t i = 0; i < n; i++)
		MUST(d[i] == 0, d, d, n);
	margins_must_stand(d, d, n);
	memset(d, UNTOUCHED, n);
}

/* Random bytes to copy, and a destination that shows every stray write. */
static void
fresh_buffers(size_t size)
{
	uint64_t random = seed;

	fence_create(&from, size, HUGE_PAGE);
	fence_create(&to, size, HUGE_PAGE);
	for (unsigned char *p = from.start; p < from.end; p += 8) {
		uint64_t word = support_random(&random);
		memcpy(p, &word, 8);
	}
	memset(to.start, UNTOUCHED, (size_t)(to.end - to.start));
}

static void
drop_buffers(void)
{
	fence_destroy(&from);
	fence_destroy(&to);
}

/* Where n bytes of this alignment lie as near to one of the fences as
 * possible. */
static unsigned char *
place(const struct fence *f, size_t n, size_t alignment, bool high)
{
	unsigned char *last = f->end - n;

	if (!high)
		return f->start + alignment; /* start is that of a page */
	return last - ((uintptr_t)last - alignment) % ALIGNMENTS;
}

static void
choose(unsigned trait, enum choice choice, size_t always, size_t some)
{
	static size_t own[HONE_CPU_TRAIT_STREAM_L2 + 1];
	static bool known[HONE_CPU_TRAIT_STREAM_L2 + 1];

	if (!known[trait])
		own[trait] = hone_cpu_trait(trait);
	known[trait] = true;
	if (choice == AS_THIS_CPU)
		hone_cpu_set_trait(trait, own[trait]);
	else
		hone_cpu_set_trait(trait, choice == ALWAYS ? always : some);
}

static int
limit(void **state)
{
	const struct way *way = *state;

	choose(HONE_CPU_TRAIT_COPY_MIN, way->ours, 0, 300);
	choose(HONE_CPU_TRAIT_COPY_MAX, way->ours, SIZE_MAX, 4200);
	choose(HONE_CPU_TRAIT_STREAM_L2, way->ours, 1, 0);
	hone_cpu_limit(variant->row.needs);
	assert_string_equal(hone_cpu_variant("copy"), variant->row.name);
	return 0;
}

static struct way by_table[3],
	automatic = {.policy = HONE_COPY_AUTO},
	keep = {.policy = HONE_COPY_KEEP},
	stream = {.policy = HONE_COPY_STREAM, .ours = ALWAYS},
	protect = {.policy = HONE_COPY_STREAM_PROTECT | HONE_COPY_NO_FENCE},
	keep_ours = {.policy = HONE_COPY_KEEP, .ours = ALWAYS},
	keep_some = {.policy = HONE_COPY_KEEP, .ours = SOME},
	stream_past_l2 = {.policy = HONE_COPY_STREAM, .ours = SOME};

#define WAY(name, how, way)                                                    \
	TEST_CASE(#name how, name, limit, support_lift_limit, &(way))
/* A test of the rows of the table, and of the public functions. */
#define EACH_WAY(name)                                                         \
	static void name(void **state);                                        \
	WAY(name, " (keep)", by_table[0]);                                     \
	WAY(name, " (stream)", by_table[1]);                                   \
	WAY(name, " (protect)", by_table[2]);                                  \
	WAY(name, " (public AUTO)", automatic);                                \
	WAY(name, " (public KEEP)", keep);                                     \
	WAY(name, " (public STREAM, source into L2)", stream);                 \
	WAY(name, " (public PROTECT, one fence)", protect);                    \
	WAY(name, " (public KEEP, no copy is of libc)", keep_ours);            \
	WAY(name, " (public KEEP, all but a range is of libc)", keep_some);    \
	WAY(name, " (public STREAM, source past L2)", stream_past_l2);         \
	static void name(void **state)

/* The public functions choose one of the table by the size alone: with a
 * stride, each of their sizes has one pair for each alignment of the
 * destination. */
EACH_WAY(every_size_and_pair_of_alignments_is_copied)
{
	const struct way *way = *state;
	size_t step = way->fn || stride == 1 ? stride : ALIGNMENTS;

	fresh_buffers(8192);
	for (size_t n = 0; n <= MAX_LEN; n++) {
		/* rotated, so that a stride still covers every pair */
		for (size_t i = n % step; i < ALIGNMENTS * ALIGNMENTS;
			i += step) {
			size_t a = i / ALIGNMENTS, b = i % ALIGNMENTS;

			must_copy(way, place(&to, n, a, b % 2),
				place(&from, n, b, a % 2), n);
		}
	}
	drop_buffers();
}

EACH_WAY(every_size_touches_both_fences_and_no_more)
{
	const struct way *way = *state;

	fresh_buffers(8192);
	for (size_t n = 0; n <= MAX_LEN; n++) {
		must_copy(way, to.start, from.start, n);
		must_copy(way, to.start, from.end - n, n);
		must_copy(way, to.end - n, from.start, n);
		must_copy(way, to.end - n, from.end - n, n);
	}
	drop_buffers();
}

/* Kept copies have another end there: within_page() in short.h. */
EACH_WAY(every_size_may_end_past_a_page_border)
{
	fresh_buffers(3 * PAGE);
	for (size_t n = 1; n <= MAX_LEN; n++)
		for (size_t past = n % stride; past <= 4 * ALIGNMENTS;
			past += stride)
			must_copy(*state, to.start + PAGE + past - n,
				from.start + (n + past) % ALIGNMENTS, n);
	drop_buffers();
}

/* Where STREAM begins to stream and to prefetch. */
EACH_WAY(every_size_about_a_page_is_copied)
{
	fresh_buffers(3 * PAGE);
	for (size_t n = PAGE - 2 * ALIGNMENTS; n <= PAGE + 8 * ALIGNMENTS; n++)
		for (size_t i = n % stride; i < ALIGNMENTS; i += stride) {
			size_t b = (7 * n + i / 8) % ALIGNMENTS;

			must_copy(*state, place(&to, n, i, n % 2),
				place(&from, n, b, i % 2), n);
		}
	drop_buffers();
}

EACH_WAY(large_copies_are_right_across_page_and_2m_borders)
{
	static const size_t sizes[] = {2047, 4095, 4096, 4097, 8191, 8320 + 63,
		65536 + 1, HUGE_PAGE - 1, HUGE_PAGE + 4096 + 7,
		2 * HUGE_PAGE + 4096 - 64};
	static const size_t at[][2] = {{0, 0}, {1, 0}, {0, 1}, {63, 17}};

	fresh_buffers(2 * HUGE_PAGE + 8192);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		/* Of the largest, each takes two places by turns. */
		for (size_t k = 0; k < 4; k++)
			if (n < HUGE_PAGE - 1 || (i + k) % 2 == 0)
				must_copy(*state, to.start + at[k][0],
					from.start + at[k][1], n);
		must_copy(*state, to.end - n, from.end - n, n);
	}
	drop_buffers();
}

EACH_WAY(every_size_and_alignment_is_cleared)
{
	fresh_buffers(8192);
	for (size_t n = 0; n <= MAX_LEN; n++) {
		for (size_t i = n % stride % ALIGNMENTS; i < ALIGNMENTS;
			i += stride < 8 ? stride : 8) {
			must_clear(*state, to.start + i, n);
			must_clear(*state, to.end - i - n, n);
		}
	}
	drop_buffers();
}

EACH_WAY(large_blocks_are_cleared)
{
	fresh_buffers(HUGE_PAGE + 8192);
	must_clear(*state, to.start, HUGE_PAGE + 4096);
	must_clear(*state, to.start + 13, HUGE_PAGE + 77);
	must_clear(*state, to.end - HUGE_PAGE - 1, HUGE_PAGE + 1);
	drop_buffers();
}

EACH_WAY(nothing_is_copied_from_null)
{
	copy_by(*state, NULL, NULL, 0);
	/* a constant: compiled inline, where UBSan checks the arguments of
	 * memcpy() */
	hone_memcpy(NULL, NULL, 0, HONE_COPY_KEEP);
	variant->clear(NULL, 0);
	variant->clear_stream(NULL, 0);
	hone_memset_zero(NULL, 0, HONE_COPY_STREAM);
}

int
main(int argc, char **argv)
{
	const struct support_choice choice = support_choose(argc, argv,
		hone_copy_variants, hone_copy_n_variants, sizeof(*variant));

	if (!(variant = choice.variant))
		return choice.status;
	stride = choice.stride;
	by_table[0].fn = variant->keep;
	by_table[1].fn = variant->stream;
	by_table[2].fn = variant->protect;
	memset(untouched, UNTOUCHED, sizeof(untouched));
	seed = support_seed();
	return run_all_tests(NULL, NULL);
}
