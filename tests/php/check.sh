#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh STAGED WORK PHP-CONFIG: what .phpt files cannot tell of the PHP
# extension, with libhone as installed below STAGED (prefix /usr). Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
staged=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
config=$3
rm -rf "${work:?}"/*
cd "$work"

php=$("$config" --php-binary)
libdir=$(dirname "$(find "$staged" -name libhone.so)")
export PKG_CONFIG_SYSROOT_DIR="$staged"
export PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
unset CC CFLAGS LD_LIBRARY_PATH

# PHP's generator writes this hash, and skips a stub whose hash is there.
arginfo_is_of_the_stub() {
    grep "Stub hash: $(sha1sum <"$top/php/hone.stub.php" | cut -d' ' -f1) " \
        "$top/php/hone_arginfo.h"
}

# Whoever copies php/ to build it has these two along.
license_is_the_same() {
    cmp "$top/LICENSE" "$top/php/LICENSE" && grep -x hone "$top/php/CREDITS"
}

# compiles COMPILER OPTION...: every source without a warning, PHP's own
# headers taken as the system's. Its macros declare parameters for everyone.
compiles() {
    compiler=$1
    shift
    includes=$("$config" --includes | sed 's/-I/-isystem /g')
    for source in "$top"/php/*.c; do
        # shellcheck disable=SC2046,SC2086
        "$compiler" -c -o /dev/null -O2 -fPIC -D_GNU_SOURCE \
            -DCOMPILE_DL_HONE=1 -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 \
            -Wall -Wextra -Wstrict-prototypes -Wno-unused-parameter \
            -Werror "$@" $includes \
            $(pkg-config --cflags hone) "$source" || return 1
    done
}

gcc_without_warnings() {
    compiles gcc
}

clang_without_warnings() {
    compiles clang
}

# Debian has no PHP with threads to load it into, but its headers know how.
threads_without_warnings() {
    compiles gcc -DZTS=1 && compiles clang -DZTS=1
}

# By the headers alone: the shared library, found by the loader as any other.
shared_build() {
    sh "$top/tools/phpext.sh" build "$top/php" shared "$config" &&
        readelf -d shared/modules/hone.so >shared.dynamic &&
        grep 'NEEDED.*libhone\.so\.0' shared.dynamic &&
        ! grep -E 'RPATH|RUNPATH' shared.dynamic &&
        LD_LIBRARY_PATH=$libdir sh "$top/tools/phpext.sh" test shared \
            "$config" "$work/shared.xml"
}

# without_path COMMAND...: as where no variable tells pkg-config anything.
without_path() {
    env -u PKG_CONFIG_SYSROOT_DIR -u PKG_CONFIG_LIBDIR "$@"
}

# As if it had been configured for a prefix of the user's own.
own_prefix() {
    cp -a "$staged/usr" own &&
        sed -i "s|^prefix=.*|prefix=$work/own|" \
            "own/${libdir#"$staged/usr/"}/pkgconfig/hone.pc"
}

# The library is found again at run time without a variable.
own_prefix_build() {
    own_prefix &&
        without_path sh "$top/tools/phpext.sh" build "$top/php" own-shared \
            "$config" --with-hone="$work/own" &&
        "$php" -n -d extension="$work/own-shared/modules/hone.so" \
            -r 'echo Hone\version();'
}

# No other library at run time.
static_build() {
    without_path sh "$top/tools/phpext.sh" build "$top/php" static \
        "$config" --with-hone="$work/own" --enable-hone-static &&
        readelf -d static/modules/hone.so >static.dynamic &&
        ! grep 'NEEDED.*libhone' static.dynamic &&
        sh "$top/tools/phpext.sh" test static "$config" "$work/static.xml"
}

# Its functions are not for others in the process that load a libhone.
static_build_keeps_libhone_to_itself() {
    nm -D --defined-only static/modules/hone.so >symbols &&
        grep ' get_module$' symbols &&
        ! grep -E ' hone_(buffer|cpu|version|memcpy)' symbols
}

make_install() {
    make -C static install INSTALL_ROOT="$work/root" &&
        extension=$work/root$("$config" --extension-dir)/hone.so &&
        "$php" -n -d extension="$extension" \
            -r 'exit(extension_loaded("hone") ? 0 : 1);'
}

# As another extension includes it: alone, and from where it was installed.
# PHP's own headers want more of libc than ISO C has.
args_header_is_installed() {
    headers=$work/root$("$config" --include-dir)
    echo '#include "ext/hone/hone_args.h"' >user.c
    # shellcheck disable=SC2046
    gcc -std=gnu99 -fsyntax-only -Wall -Wextra -Werror -I"$headers" \
        $("$config" --includes | sed 's/-I/-isystem /g') user.c
}

# with_args_header SCRIPT ARGUMENT...: by the compilers alone.
with_args_header() {
    script=$1
    shift
    mkdir -p "$script" &&
        (cd "$script" && sh "$here/$script" "$@" \
            "$work/root$("$config" --include-dir)" "$config")
}

# in_folder NAME COMMAND...: in an empty folder of that name.
in_folder() {
    mkdir "$1" && (cd "$1" && shift && "$@")
}

watcher_is_asked() {
    in_folder watched sh "$here/watched.sh" "$work/static/modules/hone.so" \
        "$php" "$config"
}

# copies_are_the_same faults|full
copies_are_the_same() {
    in_folder "copies-$1" sh "$here/copies.sh" "$1" \
        "$work/static/modules/hone.so" "$php"
}

open_basedir_ends_the_cache() {
    python3 "$here/basedir.py" static/modules/hone.so \
        "$(echo "$php" | sed 's|/php\([^/]*\)$|/php-cgi\1|')"
}

# Code that the JIT compiled could outlive it: no function is wrapped.
# shellcheck disable=SC2016 # PHP's variables
dl_leaves_all_alone() {
    "$php" -n -d extension_dir="$work/static/modules" -r '
        dl("hone.so");
        file_get_contents($argv[0], false, null, 1);
        fread(fopen("/proc/self/exe", "r"), 100000);
        (new ReflectionExtension("hone"))->info();' >dl.told &&
        [ "$(grep -c 'left alone: loaded by dl()$' dl.told)" -eq 7 ] &&
        ! grep '=> [1-9][0-9]*$' dl.told
}

# PIE goes by composer.json: what it says of ./configure has to be so.
composer_tells_what_configure_takes() {
    python3 - "$top/php/composer.json" >composer.options <<'END'
import json, sys
package = json.load(open(sys.argv[1]))
assert package['type'] == 'php-ext', package['type']
assert package['license'] == 'BSD-3-Clause', package['license']
assert package['php-ext']['extension-name'] == 'hone', package['php-ext']
for option in package['php-ext']['configure-options']:
    print('--' + option['name'] + '[=DIR]' * option['needs-value'])
END
    (cd static && ./configure --help) >configure.help &&
        sed -n 's/^ *\(--[a-z-]*hone[^ ]*\).*/\1/p' configure.help |
        sort >configure.options &&
        sort composer.options | diff - configure.options
}

# switched FOLDER STATUS: ./dev php --phpt on a copy, since run-tests.php
# writes beside what fails.
switched() {
    rm -rf "$1"
    cp -R "$here/$1" "$1"
    status=0
    python3 "$top/tools/phpt.py" static "$config" "$1" >"$1.told" ||
        status=$?
    cat "$1.told"
    [ "$status" -eq "$2" ]
}

planted_difference_is_told() {
    switched planted 1 &&
        grep '^differs: .*switch.phpt: passed .* failed' planted.told &&
        grep '^differs: .*output.phpt: failed .* failed' planted.told &&
        grep '^unstable.*unstable.phpt' planted.told &&
        grep '^3 tests, 2 differ$' planted.told
}

no_difference_is_told() {
    switched same 0 && grep '^2 tests, 0 differ$' same.told
}

no_libhone_is_told() {
    mkdir nothing
    ! PKG_CONFIG_LIBDIR=$work/nothing sh "$top/tools/phpext.sh" build \
        "$top/php" without "$config" >without.log 2>&1 &&
        grep 'no libhone 0.* or newer' without.log &&
        grep -e '--with-hone=DIR' without.log &&
        grep -i 'package.*hone.*not found' without.log
}

old_libhone_is_told() {
    mkdir old &&
        printf 'Name: hone\nDescription: old\nVersion: 0.0.9\n' \
            >old/hone.pc &&
        ! PKG_CONFIG_LIBDIR=$work/old sh "$top/tools/phpext.sh" build \
            "$top/php" without "$config" >without.log 2>&1 &&
        grep 'libhone is 0.0.9 here, and this needs 0' without.log
}

no_pkg_config_is_told() {
    # What configure looks for and does not find.
    ! ac_cv_path_PKG_CONFIG='' ac_cv_path_ac_pt_PKG_CONFIG='' \
        sh "$top/tools/phpext.sh" build "$top/php" without "$config" \
        >without.log 2>&1 &&
        grep 'pkg-config, which finds libhone, is not there' without.log
}

wrong_prefix_is_told() {
    ! sh "$top/tools/phpext.sh" build "$top/php" without "$config" \
        --with-hone="$work/nothing" >without.log 2>&1 &&
        grep "hone.pc below $work/nothing" without.log
}

# It may be in somebody's php.ini.
failed_build_leaves_the_module() {
    ! sh "$top/tools/phpext.sh" build "$top/php" static "$config" \
        --with-hone="$work/nothing" &&
        "$php" -n -d extension="$work/static/modules/hone.so" \
            -r 'echo Hone\version();'
}

# By strace, in a process for each way.
side_effects_are_the_same() {
    python3 "$here/side_effects.py" static "$php"
}

echo 1..28
check 'arginfo is made from the stub' arginfo_is_of_the_stub
check 'the license is there, and the same' license_is_the_same
check 'gcc has no warning' gcc_without_warnings
check 'clang has no warning' clang_without_warnings
check 'neither has one for a PHP with threads' threads_without_warnings
check 'build with the shared library, no rpath' shared_build
check "build with the shared library at a prefix of the user's" own_prefix_build
check 'build with the static library there' static_build
check 'the static library stays inside' static_build_keeps_libhone_to_itself
check 'make install, into a folder of its own' make_install
check 'hone_args.h is installed with all it needs' args_header_is_installed
check 'lists of parameters compile if they agree' with_args_header lists.sh
check 'a variable of the wrong type is told' with_args_header variables.sh
check 'the sed of php-args.md moves functions over' \
    with_args_header moved.sh "$top/docs/php-args.md"
check 'an extension that watches is asked' watcher_is_asked
check 'copies that the system does in part are the same' \
    copies_are_the_same faults
# shellcheck disable=SC2016 # expanded by the inner shell
if unshare -m sh -c 'mount -t tmpfs none "$0"' "$work" 2>/dev/null; then
    check 'copies to a disk that fills up are the same' \
        copies_are_the_same full
else
    number=$((number + 1))
    echo "ok $number - copies to a disk that fills up # SKIP root alone mounts one"
fi
check 'open_basedir ends the realpath cache' open_basedir_ends_the_cache
check 'loaded by dl() it leaves all alone' dl_leaves_all_alone
check 'composer.json has the options of configure' \
    composer_tells_what_configure_takes
check 'a test that differs by the switch is told' planted_difference_is_told
check 'one that does not, passed or failed, is not' no_difference_is_told
check 'file reads have the same side effects' side_effects_are_the_same
check 'configure tells that there is no libhone' no_libhone_is_told
check 'configure tells that libhone is too old' old_libhone_is_told
check 'configure tells that there is no pkg-config' no_pkg_config_is_told
check 'configure tells that there is none at a prefix' wrong_prefix_is_told
check 'a failed build leaves the module' failed_build_leaves_the_module
exit "$failed"
