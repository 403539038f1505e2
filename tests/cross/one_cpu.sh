#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# one_cpu.sh COMMAND...: run it, all its threads on one CPU, which no other
# command run so in this folder has if there are enough.
#
# For qemu-user, which translates stlr and the ldar behind it to a store and a
# load that x86 may swap. Arm does not: sequentially consistent atomics of two
# threads on two CPUs then show what no Arm CPU would. On one CPU they take
# turns, and a turn orders everything.
set -eu

# Such as "0-3,8".
allowed=$(taskset -cp $$ | sed 's/.*: //')
# All of them, from any on: 2 3 8 0 1.
cpus=$(awk -v allowed="$allowed" -v pid=$$ 'BEGIN {
    ranges = split(allowed, range, ",")
    for (i = 1; i <= ranges; i++) {
        last = split(range[i], end, "-")
        for (c = end[1]; c <= end[last]; c++)
            cpu[n++] = c
    }
    for (i = 0; i < n; i++)
        print cpu[(pid + i) % n]
}')
for cpu in $cpus; do
    # The command has it too, and so the lock until it ends.
    exec 9>"one_cpu.$cpu"
    if flock --nonblock 9; then
        exec taskset -c "$cpu" "$@"
    fi
done
exec taskset -c "$cpu" "$@" 9>&-
