#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# one_cpu.sh COMMAND...: run COMMAND with all its threads on one CPU. While there
# are free CPUs, no other command of this tree that runs this way shares it.
#
# For qemu-user, which translates stlr and the ldar after it to a store and a
# load. x86 may swap the two, Arm does not: on two CPUs, sequentially consistent
# atomics of two threads can show what no Arm CPU shows. On one CPU the threads
# take turns, and each switch orders all accesses.
set -eu

locks=$(dirname "$0")/../../build/one_cpu
mkdir -p "$locks"

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
    # The command inherits the descriptor, and with it the lock until it ends.
    exec 9>"$locks/$cpu"
    if flock --nonblock 9; then
        exec taskset -c "$cpu" "$@"
    fi
done
exec taskset -c "$cpu" "$@" 9>&-
