// SPDX-License-Identifier: BSD-3-Clause
#ifndef HONE_BENCH_STREAM_INPUT_H
#define HONE_BENCH_STREAM_INPUT_H
// The input of the stream benchmark, and the expected output.
#include "stream_bench.h"

// Makes the files of a case. Valid until the call for another case.
const Input &prepare(const Case &c);

// Returns the output of one turn of the case that was prepared last.
Tally expected(const Case &c);

#endif
