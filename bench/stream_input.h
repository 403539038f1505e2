// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_STREAM_INPUT_H
#define HONE_BENCH_STREAM_INPUT_H
// What cases of the stream benchmark read, and what has to come of it.
#include "stream_bench.h"

// The files of a case; valid until those of another are asked for.
const Input &prepare(const Case &c);

// What one turn of the case that was prepared last has to give.
Tally expected(const Case &c);

#endif
