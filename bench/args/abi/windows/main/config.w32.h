/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration that Zend's headers need, for Windows on x86-64. */
#define SIZEOF_SIZE_T 8
#define SIZEOF_LONG 4
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_LONG_LONG 8
#define SIZEOF_PTRDIFF_T 8
#define SIZEOF_SSIZE_T 8
#define SIZEOF_OFF_T 4
#define ZEND_DEBUG 0
#define ZEND_MM_ALIGNMENT 8
#define ZEND_MM_ALIGNMENT_LOG2 3
#define ZEND_MM_NEED_EIGHT_BYTE_REALIGNMENT 0
/* A built-in of Microsoft's compiler. */
#define __assume(c)                                                            \
	do {                                                                   \
		if (!(c))                                                      \
			__builtin_unreachable();                               \
	} while (0)
