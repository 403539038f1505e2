/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: the policies, and dispatch to a variant.
 */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <hone/cpu.h>
#include "copy.h"

const struct hone_copy_variant hone_copy_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{{#name, features}, hone_copy_keep_##name,                     \
			hone_copy_short_##name, hone_copy_stream_##name,       \
			hone_copy_protect_##name, hone_copy_clear_##name,      \
			hone_copy_clear_stream_##name,                         \
			hone_copy_fence_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

#define N_VARIANTS (sizeof(hone_copy_variants) / sizeof(hone_copy_variants[0]))

const size_t hone_copy_n_variants = N_VARIANTS;

/*
 * A sequential reader of the destination would permit a smaller threshold: on
 * Zen 4 it gains 1.3 to 1.4 times from 4 MiB on. But after a streamed copy of 4
 * and 8 MiB, a reader with random accesses takes 1.9 and 1.3 times as long. At
 * 8 MiB it loses 2 to 4 ms, and the sequential one gains 0.2 ms. From 16 MiB on
 * it loses nothing that is above the noise (copy-zen4-2026-11-30.json, chase
 * and read).
 */
#define DEFAULT_THRESHOLD ((size_t)16 << 20)

/* The flags of enum hone_copy_policy that are not the policy itself. */
#define POLICY(flags) ((flags)&0xff)

/*
 * NULL until a variant is chosen. Relaxed on the hot path: all variants give
 * the same result.
 */
static const struct hone_copy_variant *_Atomic chosen;

/* 0: the default. Relaxed: no other data depend on it. */
static _Atomic size_t threshold;

static hone_copy_fn choose_keep;

/* Read by inline code of C99 and C++ callers, hence no _Atomic. */
void (*hone_detail_copy_short)(
	void *dst, const void *src, size_t n) = choose_keep;
void (*hone_detail_copy_keep)(
	void *dst, const void *src, size_t n) = choose_keep;

/* 0 until a variant is chosen, so that the first call chooses one. */
size_t hone_detail_copy_libc;

/* Sequentially consistent, as hone_cpu_set_trait(): see copy_install(). */
static size_t
trait(unsigned id)
{
	size_t stored =
		__atomic_load_n(&hone_cpu_trait_values[id], __ATOMIC_SEQ_CST);

	return stored < SIZE_MAX ? stored - 1 : stored;
}

/* The traits as a number for hone_detail_copy_libc. No copy is as long as
 * SIZE_MAX / 2. */
static size_t
sizes_of_libc(void)
{
	size_t min = trait(HONE_CPU_TRAIT_COPY_MIN);
	size_t max = trait(HONE_CPU_TRAIT_COPY_MAX);

	if (max <= HONE_DETAIL_COPY_SHORT || max < min)
		return SIZE_MAX / 2;
	return min > HONE_DETAIL_COPY_SHORT ? min - HONE_DETAIL_COPY_SHORT - 1
					    : 0;
}

/*
 * What the inline copy reads. In a debug build of the library each copy is
 * checked first.
 */
#ifdef NDEBUG
#define SHORT_ENTRY(v) ((v)->up_to_64)
#define KEEP_ENTRY(v) ((v)->keep)
#define LIBC_SIZES() sizes_of_libc()
#define SIZES_NOW() __atomic_load_n(&hone_detail_copy_libc, __ATOMIC_RELAXED)
#else
#define SHORT_ENTRY(v) KEEP_ENTRY(v)
#define KEEP_ENTRY(v) ((void)(v), checked_keep)
#define LIBC_SIZES() ((size_t)0)
#define SIZES_NOW() sizes_of_libc()
#endif

static void
keep(const struct hone_copy_variant *v, void *dst, const void *src, size_t n)
{
	if (n > HONE_DETAIL_COPY_SHORT &&
		n - HONE_DETAIL_COPY_SHORT - 1 < SIZES_NOW())
		memcpy(dst, src, n);
	else
		v->keep(dst, src, n);
}

#ifndef NDEBUG

/* A copy of a block to itself stores what is there, by any variant. */
static bool
apart(const void *a, const void *b, size_t n)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	if (x == y)
		return true;
	return x < y ? y - x >= n : x - y >= n;
}

static void
checked_keep(void *dst, const void *src, size_t n)
{
	const struct hone_copy_variant *best =
		(const void *)hone_part_best(&hone_part_copy);

	assert(apart(dst, src, n));
	keep(best, dst, src, n);
}
#endif

/*
 * A reset stores the number before the pointers, and an installation after
 * them: so a reset leaves no 0 beside a variant, where nothing would choose
 * again. A trait may be set meanwhile. If LIBC_SIZES() still sees the old value
 * after the store, hone_cpu_set_trait() resets after that: as the limit in
 * hone_part_choose().
 */
static void
copy_install(const struct hone_variant *variant)
{
	const struct hone_copy_variant *v = (const void *)variant;
	size_t sizes;

	if (!v)
		__atomic_store_n(&hone_detail_copy_libc, 0, __ATOMIC_SEQ_CST);
	atomic_store(&chosen, v);
	__atomic_store_n(&hone_detail_copy_short,
		v ? SHORT_ENTRY(v) : choose_keep, __ATOMIC_SEQ_CST);
	__atomic_store_n(&hone_detail_copy_keep,
		v ? KEEP_ENTRY(v) : choose_keep, __ATOMIC_SEQ_CST);
	if (!v)
		return;
	do {
		sizes = LIBC_SIZES();
		__atomic_store_n(
			&hone_detail_copy_libc, sizes, __ATOMIC_SEQ_CST);
	} while (sizes != LIBC_SIZES());
}

const struct hone_part hone_part_copy = {"copy", hone_copy_variants, N_VARIANTS,
	sizeof(hone_copy_variants[0]), copy_install};

static const struct hone_copy_variant *
copy_choose(void)
{
	/* trait() and the variants read what is known from then on. */
	hone_cpu_trait(HONE_CPU_TRAIT_COPY_MIN);
	hone_cpu_trait(HONE_CPU_TRAIT_COPY_MAX);
	return (const void *)hone_part_choose(&hone_part_copy);
}

static void
choose_keep(void *dst, const void *src, size_t n)
{
	(void)copy_choose();
	hone_detail_copy_any(dst, src, n);
}

static inline const struct hone_copy_variant *
variant(void)
{
	const struct hone_copy_variant *v =
		atomic_load_explicit(&chosen, memory_order_relaxed);

	return __builtin_expect(v != NULL, 1) ? v : copy_choose();
}

size_t
hone_copy_threshold(void)
{
	size_t bytes = atomic_load_explicit(&threshold, memory_order_relaxed);

	if (bytes > 0)
		return bytes;
	bytes = hone_cpu_trait(HONE_CPU_TRAIT_STREAM_MIN);
	return bytes > 0 ? bytes : DEFAULT_THRESHOLD;
}

void
hone_copy_set_threshold(size_t bytes)
{
	atomic_store_explicit(&threshold, bytes, memory_order_relaxed);
}

void
hone_copy_fence(void)
{
	/*
	 * Not the fence of the chosen variant: the batch may have begun under
	 * another limit. All variants of a family have the same fence, which
	 * needs no feature.
	 */
	hone_copy_variants[hone_copy_n_variants - 1].fence();
}

/* Replaces AUTO, and STREAM for sizes that are too small to stream. */
static int
effective_policy(size_t n, int policy)
{
	if (n < HONE_COPY_STREAM_MIN)
		return HONE_COPY_KEEP;
	if (policy == HONE_COPY_AUTO)
		return n < hone_copy_threshold() ? HONE_COPY_KEEP
						 : HONE_COPY_STREAM;
	return policy;
}

static void
copy_long(const struct hone_copy_variant *v, void *dst, const void *src,
	size_t n, int flags)
{
	switch (effective_policy(n, POLICY(flags))) {
	case HONE_COPY_STREAM:
		v->stream(dst, src, n);
		break;
	case HONE_COPY_STREAM_PROTECT:
		v->protect(dst, src, n);
		break;
	default:
		keep(v, dst, src, n);
		return;
	}
	if (!(flags & HONE_COPY_NO_FENCE))
		v->fence();
}

void
hone_detail_memcpy(void *dst, const void *src, size_t n, int policy)
{
	const struct hone_copy_variant *v = variant();

	assert(POLICY(policy) <= HONE_COPY_STREAM_PROTECT);
	assert(apart(dst, src, n));
	copy_long(v, dst, src, n, policy);
}

void
hone_memset_zero(void *dst, size_t n, int policy)
{
	const struct hone_copy_variant *v = variant();

	assert(POLICY(policy) <= HONE_COPY_STREAM_PROTECT);
	if (effective_policy(n, POLICY(policy)) == HONE_COPY_KEEP) {
		v->clear(dst, n);
		return;
	}
	v->clear_stream(dst, n);
	if (!(policy & HONE_COPY_NO_FENCE))
		v->fence();
}
