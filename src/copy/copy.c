/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public functions: what each policy means, and dispatch to a variant.
 */
#include <assert.h>
#include <stdatomic.h>
#include <hone/cpu.h>
#include "copy.h"

const struct hone_copy_variant hone_copy_variants[] = {
#define HONE_VARIANT(name, family, features)                                   \
	HONE_IF_FAMILY(family,                                                 \
		{#name, features, hone_copy_keep_##name,                       \
			hone_copy_stream_##name, hone_copy_protect_##name,     \
			hone_copy_clear_##name, hone_copy_clear_stream_##name, \
			hone_copy_fence_##name}, )
#include "variants.def"
#undef HONE_VARIANT
};

const size_t hone_copy_n_variants =
	sizeof(hone_copy_variants) / sizeof(hone_copy_variants[0]);

/*
 * Who reads the destination from end to end would do with less, but who hops
 * about in it pays three times as much for a streamed 4 MiB on Zen 4, a quarter
 * more for 8 MiB, and no more from 16 MiB on: docs/design/copy.md.
 */
#define LEAST_THRESHOLD ((size_t)16 << 20)

/* The flags of enum hone_copy_policy that are not the policy itself. */
#define POLICY(flags) ((flags)&0xff)

/*
 * Relaxed on the hot path: any variant gives the same result. NULL until a
 * choice was made.
 */
static const struct hone_copy_variant *_Atomic chosen;

/* 0: the default. Relaxed: it stands alone. */
static _Atomic size_t threshold;

static const struct hone_copy_variant *
best(void)
{
	const struct hone_copy_variant *v =
		&hone_copy_variants[hone_copy_n_variants - 1];

	while (!hone_cpu_has(v->needs)) /* the first row needs nothing */
		v--;
	return v;
}

/* Where the inline copy jumps: a debug build of the library looks first. */
#ifdef NDEBUG
#define KEEP_ENTRY(v) ((v)->keep)
#else
#define KEEP_ENTRY(v) ((void)(v), checked_keep)

static bool
apart(const void *a, const void *b, size_t n)
{
	uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

	return x < y ? y - x >= n : x - y >= n;
}

static void
checked_keep(void *dst, const void *src, size_t n)
{
	assert(apart(dst, src, n));
	best()->keep(dst, src, n);
}
#endif

/* Sequentially consistent against reset(): as choose() in zero/zero.c. */
static const struct hone_copy_variant *
choose(void)
{
	const struct hone_copy_variant *v;

	do {
		v = best();
		atomic_store(&chosen, v);
		__atomic_store_n(&hone_detail_copy_keep, KEEP_ENTRY(v),
			__ATOMIC_SEQ_CST);
	} while (v != best());
	return v;
}

static void
choose_keep(void *dst, const void *src, size_t n)
{
	KEEP_ENTRY(choose())(dst, src, n);
}

/* Read by inline code of C99 and C++ callers, hence no _Atomic. */
void (*hone_detail_copy_keep)(
	void *dst, const void *src, size_t n) = choose_keep;

static inline const struct hone_copy_variant *
variant(void)
{
	const struct hone_copy_variant *v =
		atomic_load_explicit(&chosen, memory_order_relaxed);

	return __builtin_expect(v != NULL, 1) ? v : choose();
}

static const char *
variant_name(void)
{
	return best()->name;
}

static void
reset(void)
{
	atomic_store(&chosen, NULL);
	__atomic_store_n(&hone_detail_copy_keep, choose_keep, __ATOMIC_SEQ_CST);
}

const struct hone_part hone_part_copy = {"copy", variant_name, reset};

size_t
hone_copy_threshold(void)
{
	size_t bytes = atomic_load_explicit(&threshold, memory_order_relaxed);

	if (bytes > 0)
		return bytes;
	bytes = 2 * hone_cpu_cache_size(2);
	return bytes > LEAST_THRESHOLD ? bytes : LEAST_THRESHOLD;
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
	 * Not the chosen variant's: the batch may have begun under another
	 * limit. One family fences alike, and needs no feature for it.
	 */
	hone_copy_variants[hone_copy_n_variants - 1].fence();
}

/* AUTO made up its mind, and what is too small to stream is kept. */
static int
settle(size_t n, int policy)
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
	switch (settle(n, POLICY(flags))) {
	case HONE_COPY_STREAM:
		v->stream(dst, src, n);
		break;
	case HONE_COPY_STREAM_PROTECT:
		v->protect(dst, src, n);
		break;
	default:
		v->keep(dst, src, n);
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
	if (settle(n, POLICY(policy)) == HONE_COPY_KEEP) {
		v->clear(dst, n);
		return;
	}
	v->clear_stream(dst, n);
	if (!(policy & HONE_COPY_NO_FENCE))
		v->fence();
}
