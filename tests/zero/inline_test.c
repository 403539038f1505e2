/* SPDX-License-Identifier: BSD-3-Clause */
/* What hone_buffer_is_zero() answers without a call. */
#include <hone/hone.h>
#include "support.h"

#define MOST 16 /* bytes of a constant length that is tested inline */

static struct fence fence;

/* A constant length, for the compiler too. */
#define CASE(n)                                                                \
	case n:                                                                \
		return hone_buffer_is_zero(p, n);

static bool
constant_length_is_zero(const unsigned char *p, size_t len)
{
	switch (len) {
		CASE(0)
		CASE(1)
		CASE(2)
		CASE(3)
		CASE(4)
		CASE(5)
		CASE(6)
		CASE(7)
		CASE(8)
		CASE(9)
		CASE(10)
		CASE(11)
		CASE(12)
		CASE(13)
		CASE(14)
		CASE(15)
		CASE(16)
	}
	fail_msg("no case for length %zu", len);
	return false;
}

TEST(constant_lengths_find_each_byte_and_none_beside_the_buffer)
{
	memset(fence.start, 0xff, (size_t)(fence.end - fence.start));
	for (size_t len = 0; len <= MOST; len++) {
		unsigned char *const places[] = {fence.start, fence.end - len};

		for (size_t k = 0; k < 2; k++) {
			unsigned char *p = places[k];

			memset(p, 0, len);
			assert_true(constant_length_is_zero(p, len));
			for (size_t at = 0; at < len; at++) {
				p[at] = 0x80;
				assert_false(constant_length_is_zero(p, len));
				p[at] = 0;
			}
			memset(p, 0xff, len);
		}
	}
}

static bool
never_called(const void *buf, size_t len)
{
	(void)buf;
	fail_msg("a call for %zu bytes", len);
	return false;
}

TEST(lengths_8_and_16_need_no_call_even_if_not_constant)
{
	/* Longer than needed: the compiler does not know the length, and
	 * would warn of the samples of a long buffer. */
	static const unsigned char zeros[4096];
	bool (*chosen)(const void *, size_t) = hone_detail_is_zero;
	volatile size_t len;

	hone_detail_is_zero = never_called;
	for (len = 8; len <= MOST; len += 8)
		assert_true(hone_buffer_is_zero(zeros, len));
	hone_detail_is_zero = chosen;
}

int
main(void)
{
	fence_create(&fence, 4096, 4096);
	return run_all_tests(NULL, NULL);
}
