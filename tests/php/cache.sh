#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2317 # PHP code; functions called through check()
# cache.sh UNPACKED WORK PHP MODULE: the shared cache beside APCu, and settings
# that .phpt files cannot test. UNPACKED has the packages of APCu and igbinary of
# this PHP. Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/support/tap.sh
. "$top/tests/support/tap.sh"
unpacked=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
php=$3
module=$4
rm -rf "${work:?}"/*
# Workers of another user read the module.
cp "$module" "$work/hone.so"

shared_object() {
    find "$unpacked/usr/lib/php" -name "$1"
}

calls() {
    output=$1
    extension=$2
    shift 2
    "$php" -n -d extension="$extension" -d apc.enable_cli=1 \
        -d apc.shm_size=32M "$@" "$top/php/tests/differential/apcu.inc" \
        >"$work/$output" 2>&1
}

# same_as_apcu OPTION...: for hone only.
same_as_apcu() {
    calls apcu.out "$(shared_object apcu.so)" &&
        calls hone.out "$work/hone.so" "$@" &&
        diff "$work/apcu.out" "$work/hone.out"
}

# In a cache that is too small, an answer is the value or a miss.
right_or_missed() {
    extension=$1
    shift
    "$php" -n -d extension="$extension" -d apc.enable_cli=1 -d apc.shm_size=2M \
        "$@" "$here/pressure.php" 12000 1 >>pressure.out 2>&1
}

answers_under_pressure() {
    rm -f pressure.out
    right_or_missed "$(shared_object apcu.so)" || return 1
    for option in cache_read=auto cache_read=block cache_read=copy \
        cache_protect=1; do
        right_or_missed "$work/hone.so" -d hone."$option" || return 1
    done
}

# An object stored by igbinary is shorter; the extensions load in any order.
igbinary_is_used() {
    igbinary=$(shared_object igbinary.so)
    for order in "$work/hone.so $igbinary" "$igbinary $work/hone.so"; do
        "$php" -n -d extension="${order% *}" -d extension="${order#* }" \
            -d apc.enable_cli=1 -d "$1=igbinary" -r '
            $o = new stdClass();
            $o->a = array_fill(0, 100, "text");
            // Only a string keeps a reference.
            $o->b = &$o->a;
            Hone\Cache::store("k", $o);
            $size = [...Hone\Cache::entries()]["k"]["size"];
            exit(Hone\Cache::fetch("k") == $o &&
                $size < strlen(serialize($o)) / 2 ? 0 : 1);' || return 1
    done
}

# Values in a snapshot take no more bytes than igbinary's.
snapshots_are_small() {
    "$php" -n -d extension="$work/hone.so" \
        -d extension="$(shared_object igbinary.so)" -d hone.cache_cli=1 \
        "$here/sizes.php" "$work/sizes.snapshot"
}

# hone was loaded by dl(): there is no cache, and no function of APCu.
dl_gives_no_cache() {
    "$php" -n -d extension_dir="$work" -d hone.cache_cli=1 -r '
        dl("hone.so");
        exit(Hone\Cache::info()["reason"] === "loaded by dl()" &&
            Hone\Cache::store("k", 1) === false &&
            !function_exists("apcu_fetch") ? 0 : 1);'
}

# Without huge pages, the cache has ordinary ones, and says so.
huge_pages_are_optional() {
    "$php" -n -d extension="$work/hone.so" -d hone.cache_cli=1 \
        -d hone.cache_size=64G -d hone.cache_huge_pages=1 \
        -d display_startup_errors=1 -r 'var_dump(Hone\Cache::enabled());' \
        >huge 2>&1
    grep 'it gets ordinary pages' huge && grep -x 'bool(true)' huge
}

cd "$work"
echo 1..10
check 'the functions of APCu do what APCu does' same_as_apcu
check 'also with block copies' same_as_apcu -d hone.cache_read=block
check 'also with copies' same_as_apcu -d hone.cache_read=copy
check 'also with a protected cache' same_as_apcu -d hone.cache_protect=1
check 'under pressure, an answer is that of APCu or a miss' answers_under_pressure
check 'igbinary serializes by hone.cache_serializer' \
    igbinary_is_used hone.cache_serializer
check 'igbinary serializes by apc.serializer' igbinary_is_used apc.serializer
check 'values in a snapshot are as small as by igbinary' snapshots_are_small
check 'loaded by dl() it has no cache' dl_gives_no_cache
check 'hone.cache_huge_pages is not needed' huge_pages_are_optional
exit "$failed"
