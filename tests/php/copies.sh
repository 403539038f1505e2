#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through compare()
# copies.sh faults|full MODULE PHP: copy() with hone.file_reads off and on, if the
# system does not copy a file by one call. faults: it copies a part, nothing, or
# up to the greatest size of a file; full: the disk of the target fills up, for
# which this mounts one. Messages, contents and mode of the target, resource
# numbers and descriptors must be the same. Runs in a scratch folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
which=$1
module=$2
php=$3
failed=0

cat >copies.php <<'END'
<?php
// Results and messages of copy() with files of several sizes. Arguments: the folder of the files, which are made if they are
// missing; the folder of the targets.
[, $folder, $targets] = $argv;
set_error_handler(function ($level, $message) {
    echo "  $level $message\n";
    return true;
});
umask(027);
foreach ([0, 1, 999, 1000, 1001, 8192, 100000, 700000, 2000000, 5000000] as $size) {
    $source = "$folder/$size";
    if (!is_file($source)) {
        file_put_contents($source, substr(str_repeat('0123456', $size), 0, $size));
    }
    foreach (['new', 'there'] as $name) {
        $target = "$targets/$name";
        // unlink() empties PHP's realpath cache.
        realpath($source);
        if ($name === 'there') {
            file_put_contents($target, 'more than nothing');
            chmod($target, 0604);
            realpath($target);
        }
        echo "$size to $name\n";
        $first = (int)fopen('php://memory', 'r');
        $copied = copy($source, $target);
        $numbers = (int)fopen('php://memory', 'r') - $first;
        clearstatcache();
        echo '  ', json_encode($copied), ' ', filesize($target), ' ', md5_file($target), ' ', decoct(fileperms($target)),
            " numbers $numbers descriptors ", count(scandir('/proc/self/fd')), "\n";
        unlink($target);
    }
}
preg_match('/^copy => (\d+)$/m', (function () {
    ob_start();
    (new ReflectionExtension('hone'))->info();
    return ob_get_clean();
})(), $taken);
fwrite(STDERR, "$taken[1]\n");
END

# compare NAME COMMAND...: COMMAND finds hone.file_reads in $on.
compare() {
    name=$1
    shift
    for on in 0 1; do
        export on
        "$@" >"$name.$on" 2>"$name.taken.$on" || :
    done
    if ! cmp "$name.0" "$name.1" || [ "$(grep -c . "$name.1")" -lt 40 ]; then
        echo "copies differ, or are too few: $name"
        diff "$name.0" "$name.1" | head -n 10 || :
        failed=1
    fi
}

copies() {
    "$php" -n -d extension="$module" -d hone.file_reads="$on" \
        copies.php from to
}

# faulty FAULT
faulty() {
    COPY_FAULT=$1 LD_PRELOAD=$PWD/fault.so copies
}

# Without the trap the signal would end PHP; with it, write() fails.
limited() {
    (
        trap '' XFSZ
        ulimit -f 1000 # of 512 bytes
        copies
    )
}

# taken NAME LEAST MOST: so many copies took the fast path.
taken() {
    n=$(tail -n 1 "$1.taken.1" | grep -x '[0-9]*' || echo 0)
    if ! { [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]; }; then
        echo "$1: $n copies on the fast path, not $2 to $3"
        failed=1
    fi
}

# has NAME TEXT: the fault took place.
has() {
    grep -q "$2" "$1.1" || {
        echo "$1: no $2 in the output"
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
    has errno-38 true
    has errno-28 false
    compare limited limited
    has limited 'errno=27'
}

# A new disk each time, with all files on it: the system copies nothing between
# two disks.
# shellcheck disable=SC2016 # expanded by the inner shell
filled() {
    unshare -m sh -euc '
        mount -t tmpfs -o size=8m none from
        mkdir from/to
        "$0" -n -d extension="$1" -d hone.file_reads="$on" "$2" from from/to' \
        "$php" "$module" copies.php
}

full() {
    compare full filled
    taken full 10 18
    has full 'errno=28'
}

rm -rf from to
mkdir from to
"$which"
rm -rf from to
exit "$failed"
