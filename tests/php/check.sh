#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh STAGED WORK PHP-CONFIG: what .phpt files cannot test of the PHP
# extension, with the libhone that is installed below STAGED (prefix /usr).
# Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/support/tap.sh
. "$top/tests/support/tap.sh"
staged=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
config=$3
rm -rf "${work:?}"/*
cd "$work"

php=$("$config" --php-binary)
phpize=$(echo "$config" | sed 's/php-config\([^/]*\)$/phpize\1/')
libdir=$(dirname "$(find "$staged" -name libhone.so)")
export PKG_CONFIG_SYSROOT_DIR="$staged"
export PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
unset CC CFLAGS LD_LIBRARY_PATH

# loads MODULE: PHP without other modules.
loads() {
    "$php" -n -d extension="$1" -r 'exit(extension_loaded("hone") ? 0 : 1);'
}

# has_libhone_inside MODULE: none but that of the module is needed, and PHP alone
# sees the module: its functions are hidden from other libraries that load a libhone.
has_libhone_inside() {
    readelf -d "$1" >inside.dynamic && ! grep 'NEEDED.*libhone' inside.dynamic &&
        nm -D --defined-only "$1" >inside.symbols &&
        [ "$(cut -d' ' -f3 inside.symbols)" = get_module ]
}

# PHP's generator writes this hash, and skips a stub whose hash has not changed.
arginfo_is_of_the_stub() {
    for stub in hone cache/apcu/apcu; do
        hash=$(sha1sum <"$top/php/$stub.stub.php" | cut -d' ' -f1)
        grep "Stub hash: $hash " "$top/php/${stub}_arginfo.h" || return 1
    done
}

# A copy of php/ has these two files.
license_is_the_same() {
    cmp "$top/LICENSE" "$top/php/LICENSE" && grep -x hone "$top/php/CREDITS"
}

# compiles OPTION...: every source by clang without a warning. PHP's headers count
# as system headers. PHP's macros declare parameters that are not used. The build
# of stage php shows that gcc has no warning either.
compiles() {
    includes=$("$config" --includes | sed 's/-I/-isystem /g')
    for source in "$top"/php/*.c "$top"/php/*/*.c "$top"/php/*/*/*.c; do
        # shellcheck disable=SC2046,SC2086
        clang -fsyntax-only -D_GNU_SOURCE \
            -DCOMPILE_DL_HONE=1 -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 \
            -Wall -Wextra -Wstrict-prototypes -Wno-unused-parameter \
            -Werror "$@" $includes \
            $(pkg-config --cflags hone) "$source" || return 1
    done
}

clang_without_warnings() {
    compiles
}

# Debian has no PHP with threads to run this, but its headers compile for one.
threads_without_warnings() {
    compiles -DZTS=1
}

# The shared library, which the loader finds like any other, and no LZ4, which the
# variables for pkg-config hide. The tests are those of
# what calls the library; the other tests run with the static library. The code of the
# other builds does not matter, and compiles fast without optimization.
shared_build() {
    sh "$top/tools/phpext.sh" build "$top/php" shared "$config" \
        CFLAGS=-O0 &&
        readelf -d shared/modules/hone.so >shared.dynamic &&
        grep 'NEEDED.*libhone\.so\.0' shared.dynamic &&
        ! grep 'NEEDED.*liblz4' shared.dynamic &&
        ! grep -E 'RPATH|RUNPATH' shared.dynamic &&
        LD_LIBRARY_PATH=$libdir sh "$top/tools/phpext.sh" test shared \
            "$config" "$work/shared.xml" shared/tests/cpu*.phpt \
            shared/tests/phpinfo.phpt shared/tests/fileread_*.phpt \
            shared/tests/cache_snapshot*.phpt shared/tests/cache_values.phpt
}

# without_path COMMAND...: without the variables for pkg-config.
without_path() {
    env -u PKG_CONFIG_SYSROOT_DIR -u PKG_CONFIG_LIBDIR "$@"
}

# As if libhone had been configured for a prefix of the user.
own_prefix() {
    cp -a "$staged/usr" own &&
        sed -i "s|^prefix=.*|prefix=$work/own|" \
            "own/${libdir#"$staged/usr/"}/pkgconfig/hone.pc"
}

# The loader finds the library without a variable. As packagers do, configure runs in
# another folder than that of the sources.
own_prefix_build() {
    own_prefix &&
        cp -R "$top/php" elsewhere-source && mkdir elsewhere &&
        (cd elsewhere-source && "$phpize") &&
        find elsewhere-source -type f | sort >elsewhere.before &&
        (cd elsewhere && without_path ../elsewhere-source/configure \
            --with-php-config="$config" --with-hone="$work/own" \
            CFLAGS=-O0 && make) &&
        loads "$work/elsewhere/modules/hone.so"
}

objects_go_to_the_folder_of_the_build() {
    find elsewhere-source -type f | sort >elsewhere.after &&
        cmp elsewhere.before elsewhere.after
}

# No other library at run time but LZ4. tools/php.sh runs the .phpt files with such a
# build.
static_build() {
    without_path sh "$top/tools/phpext.sh" build "$top/php" static \
        "$config" --with-hone="$work/own" --enable-hone-static \
        CFLAGS=-O0 &&
        has_libhone_inside static/modules/hone.so &&
        grep 'NEEDED.*liblz4' inside.dynamic &&
        loads "$work/static/modules/hone.so"
}

# takes_the_archive ARCHIVE COMMAND...: that of libhone.a, by its path.
takes_the_archive() {
    archive=$1
    shift
    (cd sysroot && "$@" ./configure --with-php-config="$config" \
        --enable-hone-static) >sysroot.log 2>&1 &&
        grep "^HONE_SHARED_LIBADD = $archive " sysroot/Makefile
}

# Below a sysroot, as for another machine. pkgconf puts the sysroot before the
# folder, and the old pkg-config does not.
static_below_a_sysroot() {
    cp -R "$top/php" sysroot &&
        (cd sysroot && "$phpize") || return 1
    cat >old-pkg-config <<'END'
#!/bin/sh
case $* in
*--variable=libdir*) env -u PKG_CONFIG_SYSROOT_DIR pkg-config "$@" ;;
*) exec pkg-config "$@" ;;
esac
END
    chmod +x old-pkg-config
    takes_the_archive "$libdir/libhone.a" env &&
        takes_the_archive "$libdir/libhone.a" \
            env PKG_CONFIG="$work/old-pkg-config" &&
        takes_the_archive "$work/own/${libdir#"$staged/usr/"}/libhone.a" \
            env -u PKG_CONFIG_SYSROOT_DIR \
            PKG_CONFIG_LIBDIR="$work/own/${libdir#"$staged/usr/"}/pkgconfig"
}

# export_of FOLDER: a clean export, as PIE downloads it; "phpize" has been called.
export_of() {
    mkdir "$1" && cp -R "$top/php" "$top/src" "$top/include" "$1" &&
        (cd "$1/php" && "$phpize")
}

# The options after "make" for warnings as errors.
export_cflags() {
    printf '%s %s' '-Wall -Wextra -Wstrict-prototypes -Wno-unused-parameter
        -Werror' "$("$config" --includes | sed 's/-I/-isystem /g')" |
        tr '\n' ' '
}

# The sources of libhone are compiled in: there is no libhone, and no pkg-config.
export_build() {
    export_of export-gcc &&
        (cd export-gcc/php && without_path env PKG_CONFIG=/nonexistent \
            ./configure --with-php-config="$config" CC=gcc CFLAGS=-O1 &&
            make EXTRA_CFLAGS="$(export_cflags)") &&
        has_libhone_inside export-gcc/php/modules/hone.so &&
        without_path sh "$top/tools/phpext.sh" test export-gcc/php "$config" \
            "$work/export.xml" export-gcc/php/tests/cpu*.phpt \
            export-gcc/php/tests/phpinfo.phpt \
            export-gcc/php/tests/fileread_all.phpt \
            export-gcc/php/tests/cache_values.phpt
}

# By clang, in another folder than that of the sources, which stays as it was.
export_build_elsewhere() {
    export_of export-clang &&
        find export-clang -type f | sort >export.before &&
        mkdir export-build && (cd export-build && without_path env \
            PKG_CONFIG=/nonexistent ../export-clang/php/configure \
            --with-php-config="$config" CC=clang CFLAGS=-O1 &&
            make EXTRA_CFLAGS="$(export_cflags)") &&
        find export-clang -type f | sort | cmp export.before - &&
        has_libhone_inside export-build/modules/hone.so &&
        loads "$work/export-build/modules/hone.so"
}

# --with-hone asks for the installed one, also in a whole source tree.
export_takes_the_installed_library() {
    (cd export-gcc/php && without_path ./configure --with-php-config="$config" \
        --with-hone="$work/own" CFLAGS=-O1) >export.log &&
        ! grep 'libhone is compiled in' export.log &&
        grep "^HONE_SHARED_LIBADD = .*$work/own/.*-lhone" export-gcc/php/Makefile
}

make_install() {
    make -C static install INSTALL_ROOT="$work/root" &&
        loads "$work/root$("$config" --extension-dir)/hone.so"
}

# As another extension includes it: alone, and from the folder of its install.
# PHP's headers need more of libc than ISO C has.
args_header_is_installed() {
    headers=$work/root$("$config" --include-dir)
    echo '#include "ext/hone/hone_args.h"' >user.c
    # shellcheck disable=SC2046
    gcc -std=gnu99 -fsyntax-only -Wall -Wextra -Werror -I"$headers" \
        $("$config" --includes | sed 's/-I/-isystem /g') user.c
}

# with_args_header SCRIPT ARGUMENT...: tests that need only the compilers.
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

watcher_sees_all() {
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

# Code that the JIT compiled could outlive the module: no function is wrapped.
# shellcheck disable=SC2016 # PHP's variables
dl_wraps_nothing() {
    "$php" -n -d extension_dir="$work/static/modules" -r '
        dl("hone.so");
        file_get_contents($argv[0], false, null, 1);
        fread(fopen("/proc/self/exe", "r"), 100000);
        (new ReflectionExtension("hone"))->info();' >dl.info &&
        [ "$(grep -c 'not wrapped: loaded by dl()$' dl.info)" -eq \
            "$(grep -c '^PHP_HONE_FUNCTION(' \
                "$top/php/fileread/functions.def")" ] &&
        ! grep '^[^>]*=> [1-9][0-9]*$' dl.info
}

# PIE reads the options of ./configure from composer.json. The rules are those of
# PIE's page for maintainers and of its schema.
composer_has_the_options_of_configure() {
    python3 - "$top/composer.json" >composer.options <<'END'
import json, re, sys
package = json.load(open(sys.argv[1]))
extension = package['php-ext']
assert re.fullmatch('[a-z0-9]+/[a-z0-9]+', package['name']), package['name']
assert set(extension) <= {'extension-name', 'priority', 'support-zts',
    'support-nts', 'build-path', 'download-url-method', 'os-families',
    'os-families-exclude', 'configure-options'}, extension
assert extension['download-url-method'] == [
    'pre-packaged-source', 'composer-default'], extension
assert extension['os-families'] == ['linux'], extension
assert set(package['require']) == {'php'}, package['require']
assert package['type'] == 'php-ext', package['type']
assert package['license'] == 'BSD-3-Clause', package['license']
assert package['php-ext']['extension-name'] == 'hone', package['php-ext']
assert package['php-ext']['build-path'] == 'php', package['php-ext']
for option in extension['configure-options']:
    assert set(option) == {'name', 'description', 'needs-value'}, option
    assert re.fullmatch('[a-zA-Z0-9][a-zA-Z0-9_-]*', option['name']), option
    print('--' + option['name'] + '[=DIR]' * option['needs-value'])
END
    (cd static && ./configure --help) >configure.help &&
        sed -n 's/^ *\(--[a-z-]*hone[^ ]*\).*/\1/p' configure.help |
        sort >configure.options &&
        sort composer.options | diff - configure.options
}

# phpt NAME CODE OUTPUT: a test that passes if the code prints this.
phpt() {
    mkdir -p "${1%/*}"
    printf '%s\n' --TEST-- "$1" --FILE-- '<?php' "$2" '?>' --EXPECT-- "$3" >"$1.phpt"
}

# switched FOLDER STATUS: ./dev php --phpt.
switched() {
    status=0
    python3 "$top/tools/phpt.py" static "$config" "$1" >"$1.log" ||
        status=$?
    cat "$1.log"
    [ "$status" -eq "$2" ]
}

planted_difference_is_reported() {
    on_or_off="echo get_cfg_var('hone.file_reads') ? 'on' : 'off';"
    phpt planted/output "$on_or_off" neither
    phpt planted/switch "$on_or_off" off
    phpt planted/unstable 'echo hrtime(true);' never
    switched planted 1 &&
        grep '^differs: .*switch.phpt: passed .* failed' planted.log &&
        grep '^differs: .*output.phpt: failed .* failed' planted.log &&
        grep '^unstable.*unstable.phpt' planted.log &&
        grep '^3 tests, 2 differ$' planted.log
}

no_difference_is_reported() {
    phpt same/fails "echo 'one';" two
    phpt same/passes "echo 'one';" one
    switched same 0 && grep '^2 tests, 0 differ$' same.log
}

# is_refused VARIABLE=VALUE...: with these, configure fails.
is_refused() {
    ! env "$@" sh "$top/tools/phpext.sh" build "$top/php" without "$config" \
        >without.log 2>&1
}

no_libhone_is_reported() {
    mkdir nothing
    is_refused PKG_CONFIG_LIBDIR="$work/nothing" &&
        grep 'libhone 0.* or newer was not found' without.log &&
        grep -e '--with-hone=DIR' without.log &&
        grep -i 'package.*hone.*not found' without.log
}

old_libhone_is_reported() {
    mkdir old &&
        printf 'Name: hone\nDescription: old\nVersion: 0.0.9\n' \
            >old/hone.pc &&
        is_refused PKG_CONFIG_LIBDIR="$work/old" &&
        grep 'found libhone 0.0.9, but 0.* or newer is needed' without.log
}

no_pkg_config_is_reported() {
    # configure searches for it in these variables first.
    is_refused ac_cv_path_PKG_CONFIG= ac_cv_path_ac_pt_PKG_CONFIG= &&
        grep 'pkg-config was not found' without.log
}

# A php.ini may name the module of the build before.
wrong_prefix_is_reported() {
    ! sh "$top/tools/phpext.sh" build "$top/php" static "$config" \
        --with-hone="$work/nothing" >without.log 2>&1 &&
        grep "hone.pc below $work/nothing" without.log &&
        loads "$work/static/modules/hone.so"
}

# fread() of 12 chunks: PHP reads the first one, and one read takes the rest.
fread_takes_the_rest_in_one_read() {
    head -c 98304 /dev/zero >chunks
    strace -o chunks.log -P "$work/chunks" -e trace=read "$php" -n \
        -d extension="$work/static/modules/hone.so" -r '
        exit((int)(strlen(fread(fopen("chunks", "r"), 98304)) !== 98304));' &&
        [ "$(grep -c '^read(' chunks.log)" -eq 2 ] &&
        grep ', 90112) = 90112$' chunks.log
}

# A filter of system calls may refuse getrandom().
snapshot_is_saved_without_random_bytes() {
    strace -o random.log -e trace=getrandom -e inject=getrandom:error=ENOSYS \
        "$php" -n -d extension="$work/static/modules/hone.so" \
        -d hone.cache_cli=1 -r "
        exit(Hone\\Cache::save('$work/random') ? 0 : 1);"
}

# By strace, with a process for each mode.
side_effects_are_the_same() {
    python3 "$here/side_effects.py" static "$php"
}

echo 1..32
check 'arginfo is made from the stub' arginfo_is_of_the_stub
check 'the license is there, and the same' license_is_the_same
check 'clang has no warning' clang_without_warnings
check 'clang has none for a PHP with threads' threads_without_warnings
check 'build with the shared library, no rpath' shared_build
check 'build with the shared library at a prefix of the user' own_prefix_build
check 'objects go to the folder of the build' \
    objects_go_to_the_folder_of_the_build
check 'build with the static library at that prefix, which stays inside' static_build
check 'configure finds the static library below a sysroot' \
    static_below_a_sysroot
check 'a clean export has libhone inside, by gcc without a warning' export_build
check 'also by clang, in another folder' export_build_elsewhere
check 'a clean export takes the installed library if asked' \
    export_takes_the_installed_library
check 'make install, into a folder of its own' make_install
check 'hone_args.h is installed with all that it needs' args_header_is_installed
check 'lists of parameters compile if they agree' with_args_header lists.sh
check 'a variable of the wrong type is reported' with_args_header variables.sh
check 'the sed command of php-args.md converts functions' \
    with_args_header moved.sh "$top/docs/php-args.md"
check 'an extension that watches sees every call' watcher_sees_all
check 'copies of which the system does a part are the same' \
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
check 'loaded by dl() it wraps nothing' dl_wraps_nothing
check 'composer.json has the options of configure' \
    composer_has_the_options_of_configure
check 'a test that differs by the switch is reported' planted_difference_is_reported
check 'a test that does not differ is not reported' no_difference_is_reported
check 'fread takes the rest of a file in one read' \
    fread_takes_the_rest_in_one_read
check 'a snapshot is saved without random bytes' \
    snapshot_is_saved_without_random_bytes
check 'file reads have the same side effects' side_effects_are_the_same
check 'configure reports that there is no libhone' no_libhone_is_reported
check 'configure reports that libhone is too old' old_libhone_is_reported
check 'configure reports that there is no pkg-config' no_pkg_config_is_reported
check 'configure reports that a prefix has no libhone, and the module stays' \
    wrong_prefix_is_reported
exit "$failed"
