/* SPDX-License-Identifier: BSD-3-Clause */
/* Hone's pool, in a caller that is compiled for this machine. */
#include "hone_loops.h"
#include "pools.h"

#define ROW(name, loops)                                                       \
	{                                                                      \
		name, NULL, pool_hone_missing, pool_hone_open,                 \
			pool_hone_enter, loops##_cycle, loops##_touch,         \
			loops##_produce, loops##_consume, loops##_take,        \
			loops##_give                                           \
	}

const struct pool_subject pool_hone_native[] = {
	ROW("hone", plain),
	ROW("hone-cursor", cursor),
	{0},
};
