/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any mix of calls gives the same bytes as an array: the programs of
 * stream_fuzz.c, at random.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): its functions */
#include "stream_fuzz.c"
#include "support.h"

TEST(any_mix_of_calls_gives_what_an_array_would)
{
	uint64_t random = support_seed();
	uint8_t program[HEADER + 200 * CALL];

	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(program); i++)
			program[i] = (uint8_t)support_below(&random, 256);
		LLVMFuzzerTestOneInput(program, sizeof(program));
	}
}
