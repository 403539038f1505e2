/* SPDX-License-Identifier: BSD-3-Clause */
#include "ceiling.h"

#if defined(__x86_64__)
#define LOAD(insn, reg, p, size)                                               \
	__asm__ volatile(insn " %0, %%" reg                                    \
			 :                                                     \
			 : "m"(*(const char(*)[size])(p))                      \
			 : "xmm0")

bool
ceiling_supported(unsigned bits)
{
	return bits == 128 || (bits == 256 && __builtin_cpu_supports("avx2")) ||
	       (bits == 512 && __builtin_cpu_supports("avx512f"));
}
#elif defined(__aarch64__)
#define LOAD(insn, reg, p, n)                                                  \
	__asm__ volatile("ldr q0, %0" : : "m"(*(const char(*)[n])(p)) : "v0")

bool
ceiling_supported(unsigned bits)
{
	return bits == 128;
}
#else
#define LOAD(insn, reg, p, size) (void)*(const volatile char *)(p)

bool
ceiling_supported(unsigned bits)
{
	(void)bits;
	return false;
}
#endif

#define CEILING(bits, insn, reg, attribute)                                    \
	attribute void ceiling_load_##bits(const void *buf, size_t len)        \
	{                                                                      \
		const char *p = buf;                                           \
		const size_t n = bits / 8;                                     \
                                                                               \
		for (; len >= 16 * n; len -= 16 * n, p += 16 * n) {            \
			LOAD(insn, reg, p + 0 * n, bits / 8);                  \
			LOAD(insn, reg, p + 1 * n, bits / 8);                  \
			LOAD(insn, reg, p + 2 * n, bits / 8);                  \
			LOAD(insn, reg, p + 3 * n, bits / 8);                  \
			LOAD(insn, reg, p + 4 * n, bits / 8);                  \
			LOAD(insn, reg, p + 5 * n, bits / 8);                  \
			LOAD(insn, reg, p + 6 * n, bits / 8);                  \
			LOAD(insn, reg, p + 7 * n, bits / 8);                  \
			LOAD(insn, reg, p + 8 * n, bits / 8);                  \
			LOAD(insn, reg, p + 9 * n, bits / 8);                  \
			LOAD(insn, reg, p + 10 * n, bits / 8);                 \
			LOAD(insn, reg, p + 11 * n, bits / 8);                 \
			LOAD(insn, reg, p + 12 * n, bits / 8);                 \
			LOAD(insn, reg, p + 13 * n, bits / 8);                 \
			LOAD(insn, reg, p + 14 * n, bits / 8);                 \
			LOAD(insn, reg, p + 15 * n, bits / 8);                 \
		}                                                              \
		for (; len >= n; len -= n, p += n)                             \
			LOAD(insn, reg, p, bits / 8);                          \
	}

#if defined(__x86_64__)
CEILING(128, "movdqu", "xmm0", )
CEILING(256, "vmovdqu", "ymm0", __attribute__((target("avx2"))))
CEILING(512, "vmovdqu64", "zmm0", __attribute__((target("avx512f"))))
#else
CEILING(128, "", "", )
CEILING(256, "", "", )
CEILING(512, "", "", )
#endif
