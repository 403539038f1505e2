#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# one_cpu.sh COMMAND...: run it, all its threads on one CPU, not always the same.
#
# For qemu-user, which translates stlr and the ldar behind it to a store and a
# load that x86 may swap. Arm does not: sequentially consistent atomics of two
# threads on two CPUs then show what no Arm CPU would. On one CPU they take
# turns, and a turn orders everything.
set -eu

# Such as "0-3,8".
allowed=$(taskset -cp $$ | sed 's/.*: //')
cpu=$(awk -v allowed="$allowed" -v pid=$$ 'BEGIN {
    ranges = split(allowed, range, ",")
    for (i = 1; i <= ranges; i++) {
        last = split(range[i], end, "-")
        for (c = end[1]; c <= end[last]; c++)
            cpu[n++] = c
    }
    print cpu[pid % n]
}')
exec taskset -c "$cpu" "$@"
