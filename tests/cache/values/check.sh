#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh STAGED WORK PHP-CONFIG: stored PHP values, with the libhone that is
# installed below STAGED (prefix /usr). ALL=1: valgrind too. SEED=N repeats a run
# of random values. Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
# shellcheck source=tests/support/tap.sh
. "$top/tests/support/tap.sh"
staged=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
config=$3
rm -rf "${work:?}"/*
cd "$work"

php=$("$config" --php-binary)
HONE_ARCHIVE=$(find "$staged" -name libhone.a)
libdir=$(dirname "$HONE_ARCHIVE")
export HONE_ARCHIVE
export PKG_CONFIG_SYSROOT_DIR="$staged"
export PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
export SEED="${SEED:-$(date +%s)}"
unset CC CFLAGS LD_LIBRARY_PATH

builds() {
    set -e
    mkdir source
    cp "$here/functions.c" "$here/config.m4" source
    cp -R "$top/php/cache/values" source
    cd source
    case $config in
    */*) phpize=${config%/*}/phpize${config##*/php-config} ;;
    *) phpize=phpize${config##*php-config} ;;
    esac
    "$phpize"
    # PHP's headers have unused parameters.
    ./configure --with-php-config="$config" \
        CFLAGS='-g -O2 -Wall -Wextra -Wno-unused-parameter -Werror'
    make -s -j"${HONE_JOBS:-2}"
}

# Extensions of PHP whose functions are called too, if they are installed.
others=
for each in ctype iconv igbinary mbstring tokenizer apcu; do
    if [ -f "$("$config" --extension-dir)/$each.so" ]; then
        others="$others -d extension=$each"
    else
        echo "# no functions of $each: it is not installed, or built in"
    fi
done

# script NAME OPTION...
script() {
    name=$1
    shift
    # shellcheck disable=SC2086
    "$php" -n "$@" $others -d apc.enable_cli=1 -d memory_limit=1G \
        -d extension="$work/source/modules/hone_values.so" "$here/$name.php"
}

# opcache's literals are immutable, and its JIT takes other paths than the VM.
with_jit() {
    name=$1
    shift
    script "$name" -d zend_extension=opcache -d opcache.enable_cli=1 \
        -d opcache.file_update_protection=0 \
        -d opcache.jit="$1" -d opcache.jit_buffer_size=32M
}

# PHP's own allocator hides reads past the end.
with_valgrind() {
    USE_ZEND_ALLOC=0 ZEND_DONT_UNLOAD_MODULES=1 ROUNDS=3 valgrind -q \
        --error-exitcode=9 --num-callers=20 \
        "$php" -n -d memory_limit=1G \
        -d extension="$work/source/modules/hone_values.so" "$here/$1.php"
}

compiles_with_threads() {
    includes=$("$config" --includes | sed 's/-I/-isystem /g')
    for compiler in gcc clang; do
        for source in "$top"/php/cache/values/*.c; do
            # shellcheck disable=SC2046,SC2086
            "$compiler" -c -o /dev/null -O2 -fPIC -DZTS=1 -D_GNU_SOURCE \
                -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 -Wall -Wextra \
                -Wstrict-prototypes -Wno-unused-parameter -Werror \
                $includes $(pkg-config --cflags hone) "$source" || return 1
        done
    done
}

scripts='facts values functions'
n=$((2 + 3 + 2 * 2 + 1))
[ -z "${ALL:-}" ] || n=$((n + 2))
echo "1..$n"
check 'the extension of the tests is built' builds
[ "$failed" -eq 0 ] || exit 1
check 'gcc and clang compile for threads' compiles_with_threads
for each in $scripts; do
    check "$each (seed $SEED)" script "$each"
done
# The tracing JIT of PHP 8.2.36 crashes in random.php without any extension: a
# call returns to a frame that is gone. So it does not run values.php.
check "values with opcache and the function JIT (seed $SEED)" \
    with_jit values function
for each in facts functions; do
    for jit in tracing function; do
        check "$each with opcache and the $jit JIT (seed $SEED)" \
            with_jit "$each" "$jit"
    done
done
if [ -n "${ALL:-}" ]; then
    for each in facts values; do
        check "$each under valgrind (seed $SEED)" with_valgrind "$each"
    done
fi
exit "$failed"
