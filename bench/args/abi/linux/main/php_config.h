/* SPDX-License-Identifier: BSD-3-Clause */
/* PHP's configuration for this machine, with the type sizes of the target. */
#include_next <main/php_config.h>
#undef SIZEOF_LONG
#define SIZEOF_LONG __SIZEOF_LONG__
#undef SIZEOF_SIZE_T
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#undef SIZEOF_SSIZE_T
#define SIZEOF_SSIZE_T __SIZEOF_SIZE_T__
#undef SIZEOF_PTRDIFF_T
#define SIZEOF_PTRDIFF_T __SIZEOF_PTRDIFF_T__
