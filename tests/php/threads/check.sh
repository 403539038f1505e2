#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh WORK PHP-CONFIG MODULE: threads of one process that use the extension
# at one time. The PHP has threads and libphp.a. Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/support/tap.sh
. "$here/../../support/tap.sh"
mkdir -p "$1"
work=$(cd "$1" && pwd)
config=$2
rm -rf "${work:?}"/*
printf 'extension=%s\nhone.cache_size=4M\n' "$3" >"$work/php.ini"

builds() {
    # shellcheck disable=SC2046
    cc -O1 -g -D_GNU_SOURCE -pthread -rdynamic -o "$work/threads" \
        "$here/threads.c" $("$config" --includes | sed 's/-I/-isystem /g') \
        -Wl,--whole-archive "$("$config" --prefix)/lib/libphp.a" \
        -Wl,--no-whole-archive $("$config" --libs)
}

# threads SCRIPT REQUESTS: PHP's errors go to the output.
threads() {
    FOLDER=$work timeout 120 "$work/threads" "$work/php.ini" "$here/$1.php" "$2"
}

echo 1..4
check 'the program builds' builds
check 'values are whole, and stay' threads values 30
check 'no step is lost, and one thread computes' threads counters 20
check 'a relative path is one of the thread' threads files 10
exit "$failed"
