#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through compare()
# copies.sh faults|full MODULE PHP: copy() with hone.file_reads off and on, where
# the system does not copy a file at once: in parts, not at all, beyond the size
# that a file may have; or, for which it has to mount one, to a disk that fills
# up. Equal have to be what is told, what is in the target, its mode, resource
# numbers and descriptors. Run in a folder for scratch.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
which=$1
module=$2
php=$3
failed=0

# compare NAME COMMAND...: `$on` is the switch there.
compare() {
    name=$1
    shift
    for on in 0 1; do
        export on
        "$@" >"$name.$on" 2>"$name.taken.$on" || :
    done
    if ! cmp "$name.0" "$name.1" || [ "$(grep -c . "$name.1")" -lt 40 ]; then
        echo "copies differ, or there are too few: $name"
        diff "$name.0" "$name.1" | head -n 10 || :
        failed=1
    fi
}

copies() {
    "$php" -n -d extension="$module" -d hone.file_reads="$on" \
        "$here/copies.php" from to
}

# faulty FAULT
faulty() {
    COPY_FAULT=$1 LD_PRELOAD=$PWD/fault.so copies
}

# The signal that comes with it would end PHP; it is told as an error then.
limited() {
    (
        trap '' XFSZ
        ulimit -f 1000 # of 512 bytes
        copies
    )
}

# taken NAME LEAST MOST: how many copies have taken the short way.
taken() {
    n=$(tail -n 1 "$1.taken.1" | grep -x '[0-9]*' || echo 0)
    if ! { [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]; }; then
        echo "$1: $n copies the short way, $2 to $3 were to be"
        failed=1
    fi
}

# told NAME TEXT: so that the fault was there.
told() {
    grep -q "$2" "$1.1" || {
        echo "$1: nothing tells of $2"
        failed=1
    }
}

faults() {
    gcc -shared -fPIC -O1 -Wall -Wextra -Werror -o fault.so \
        "$here/copy_fault.c"
    compare whole copies
    taken whole 20 20
    for fault in 1000 999999; do
        compare "at-most-$fault" faulty "$fault"
        taken "at-most-$fault" 8 16
    done
    # ENOSYS, EXDEV, EINVAL and EIO: PHP copies in another way. EINTR and
    # ENOSPC: it gives up.
    for errno in 38 18 22 5 4 28; do
        compare "errno-$errno" faulty "-$errno"
        taken "errno-$errno" 0 0
    done
    told errno-38 true
    told errno-28 false
    compare limited limited
    told limited 'errno=27'
}

# A new disk each time, with all files on it: from one to another the system
# copies nothing.
# shellcheck disable=SC2016 # expanded by the inner shell
filled() {
    unshare -m sh -euc '
        mount -t tmpfs -o size=8m none from
        mkdir from/to
        "$0" -n -d extension="$1" -d hone.file_reads="$on" "$2" from from/to' \
        "$php" "$module" "$here/copies.php"
}

full() {
    compare full filled
    taken full 10 18
    told full 'errno=28'
}

rm -rf from to
mkdir from to
"$which"
rm -rf from to
exit "$failed"
