# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# ./dev php, and the stages of ./dev test for the PHP of the distribution. Sourced by
# dev, which sets root, log, stage, build; the stages need tools/test.sh, too.

php_packages="$build_packages make liblz4-dev php$php_version-dev
    php$php_version-cli php$php_version-cgi"

# Debian's PHP; on another system, the PHP in the search path.
php_config() {
    if command -v "php-config$php_version" >/dev/null; then
        echo "php-config$php_version"
    else
        echo php-config
    fi
}

# Where the extension is built: build/php/8.2.
php_work() {
    printf '%s/build/php/%s' "$root" \
        "$("$(php_config)" --version | cut -d. -f1,2)"
}

# The library as a user installs it, with a prefix below build/.
php_libhone() {
    rm -rf build/php/libhone
    build php-libhone gcc --buildtype=release -Dtools=false \
        --prefix="$root/build/php/libhone" -Dlibdir=lib
    meson install -C build/php-libhone --no-rebuild
}

# With libhone inside: one file that PHP can load from any folder.
php_build() {
    sh tools/phpext.sh build php "$(php_work)" "$(php_config)" \
        --with-hone="$root/build/php/libhone" --enable-hone-static
}

# libhone_moved PREFIX: the library that the tests installed, as if it had been
# configured for PREFIX.
libhone_moved() {
    rm -rf "$1"
    mkdir -p "${1%/*}"
    cp -a "$staged/usr" "$1"
    find "$1" -name hone.pc -exec sed -i "s|^prefix=.*|prefix=$1|" {} +
}

# Warnings are errors, but for those of PHP: its headers count as system headers, and
# its macros declare parameters that are not used. Only gcc has warnings that its
# optimizer finds.
php_build_with_staged() {
    libhone_moved "$root/build/php/libhone"
    EXTRA_CFLAGS="-Wall -Wextra -Wstrict-prototypes -Wno-unused-parameter -Werror \
        $("$(php_config)" --includes | sed 's/-I/-isystem /g')" php_build
}

# php_tests JUNIT ARGUMENT...
php_tests() {
    sh tools/phpext.sh test "$(php_work)" "$(php_config)" "$@"
}

# opcache's optimizer and JIT may see other calls than the interpreter. opcache would
# leave out files of the last two seconds: run-tests.php has just written each test.
php_opcache='-d zend_extension=opcache -d opcache.enable_cli=1
    -d opcache.file_update_protection=0
    -d opcache.jit=tracing -d opcache.jit_buffer_size=16M'

# The code that PCRE compiles reads past the end of a string, masked.
php_valgrind='-m -d pcre.jit=0'

# One third of the tests, by valgrind: those that take each part of the extension
# through its memory in few processes.
valgrind_tests() {
    for each in apcu_functions apcu_module apcu_throws \
        cache_add cache_blocks cache_cold cache_fetch cache_field cache_fork \
        cache_known cache_objects cache_objects_hooks cache_objects_thrown \
        cache_remember_fibers cache_snapshot cache_snapshot_reasons \
        cache_tags cache_values fileread_all fileread_copy fileread_fails \
        fileread_output objects_cases objects_child; do
        printf '%s ' "$(php_work)/tests/$each.phpt"
    done
}

# What tests/counts/counts.py counts.
counted() {
    printf '%s ' "$staged" "$(php_work)/modules/hone.so" \
        "$("$(php_config)" --php-binary)"
}

# phpts NAME ARGUMENT...: a step. The tests of the extension.
phpts() {
    phpt_results=$results/$1.xml
    shift
    php_tests "$phpt_results" "$@"
}

php_all_tests() {
    phpts php "$(php_work)/tests"
}

php_counts() {
    # shellcheck disable=SC2046
    tap counts python3 -B tests/counts/counts.py $(counted)
}

php_stage() {
    php_build_with_staged
    steps php_all_tests php_counts
}

php_opcache_tests() {
    # objects_random.phpt: 14 CPU seconds.
    export HONE_OBJECTS_GRAPHS=20000
    # shellcheck disable=SC2086
    phpts php-opcache $php_opcache "$(php_work)/tests"
}

php_valgrind_tests() {
    # shellcheck disable=SC2046,SC2086
    phpts php-valgrind $php_valgrind $(valgrind_tests)
}

test_php() {
    bounded php php_stage
    record pytest "$results/php.xml" tap "$results/counts.tap"
    [ -n "$all" ] || return 0
    bounded php-more steps php_opcache_tests php_valgrind_tests \
        'tap php-cache php_cache_check' php_setup php_values php_args
    record pytest "$results/php-opcache.xml" pytest "$results/php-valgrind.xml" \
        tap "$results/php-cache.tap" tap "$results/php-setup.tap" \
        tap "$results/php-values.tap"
    pytest_stage php-server php_with_server tests/php/server
}

# php_with_server COMMAND...: with servers, Redis, Symfony and a browser.
php_with_server() {
    # shellcheck source=tools/php-debs.sh
    . tools/php-debs.sh
    server_unpack
    HONE_SERVER=$server
    HONE_MODULE=$(php_work)/modules/hone.so
    HONE_PHP_VERSION=$php_version
    export HONE_SERVER HONE_MODULE HONE_PHP_VERSION
    "$@"
}

# Unpacked: APCu would otherwise be loaded by every PHP of this system.
php_cache_packages="php$php_version-apcu php$php_version-igbinary"

php_cache_check() {
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    unpacked=$root/build/sysroot/php-apcu
    if [ "$(cat "$unpacked/complete" 2>/dev/null)" != \
        "$php_cache_packages" ]; then
        debs_unpack "$unpacked" '' "$php_cache_packages" \
            >"$log/php-apcu.log" 2>&1
        echo "$php_cache_packages" >"$unpacked/complete"
    fi
    sh tests/php/cache.sh "$unpacked" build/php/cache-check \
        "$("$(php_config)" --php-binary)" "$(php_work)/modules/hone.so"
}

php_setup() {
    tap php-setup sh tests/php/check.sh "$staged" build/php/check "$(php_config)"
}

php_values() {
    tap php-values sh tests/cache/values/check.sh "$staged" build/php/values \
        "$(php_config)"
}

php_args() {
    bench/args/compare.sh --plant-one build/php/args "$(php_config)"
}

# Counts of the tests, and the commands to type next.
php_next_steps() {
    sed -n 's/^\(Tests \(passed\|failed\|skipped\) *:  *[0-9]*\).*/\1/p' \
        "$log/php-test.log"
    php=$("$(php_config)" --php-binary)
    version=$("$(php_config)" --version | cut -d. -f1,2)
    module=$(php_work)/modules/hone.so
    cat <<EOF

To try it:

    $php -d extension=$module --ri hone

To keep it, as root:

    install -m 644 $module $("$(php_config)" --extension-dir)
EOF
    if [ -d "/etc/php/$version/mods-available" ]; then
        cat <<EOF
    echo extension=hone >/etc/php/$version/mods-available/hone.ini
    phpenmod -v $version hone
    systemctl restart php$version-fpm    # or apache2, which runs your PHP
EOF
    else
        cat <<EOF

Then add extension=hone to php.ini ("php --ini" names the php.ini of the command
line, phpinfo() that of a site), and restart the server that runs PHP.
EOF
    fi
}

# bench_args: functions with PHP's macros for their arguments and with
# hone_args.h: instructions, bytes and stack protectors of five compilers, time
# of one. The status is 1 if a target is missed.
bench_args() {
    none 'bench args' "$@"
    need "$php_packages" clang gcc-mingw-w64-x86-64 \
        "gcc-$gcc_version-aarch64-linux-gnu" \
        libc6-dev-arm64-cross python3-unicorn
    must php-args-build bench/args/build.sh build/php/args "$(php_config)"
    short=0
    python3 -B bench/args/measure.py --work build/php/args/code \
        --php-config "$(php_config)" || short=1
    echo
    python3 -B bench/args/timing.py --work build/php/args \
        --php-config "$(php_config)" || short=1
    return "$short"
}

# Makes the files *_arginfo.h from the stubs. PHP's generator would download
# its parser to a folder beside itself: Debian's parser takes that place.
php_arginfo() {
    generator=build/php/generator
    rm -rf "$generator"
    mkdir -p "$generator"
    cp "$("$(php_config)" --extension-dir)/build/gen_stub.php" "$generator"
    # shellcheck disable=SC2016 # a line of PHP
    parser=$(sed -n 's/^ *$version = "\(.*\)";$/\1/p' \
        "$generator/gen_stub.php")
    mkdir "$generator/PHP-Parser-$parser"
    ln -s /usr/share/php "$generator/PHP-Parser-$parser/lib"
    "$("$(php_config)" --php-binary)" -n -d extension=tokenizer \
        "$generator/gen_stub.php" -f php/hone.stub.php
    "$("$(php_config)" --php-binary)" -n -d extension=tokenizer \
        "$generator/gen_stub.php" -f php/cache/apcu/apcu.stub.php
}

# bench_php OPTION...: PHP's file functions without and with the extension.
bench_php() {
    script_arguments 'bench php' bench/php/reads.py "$@"
    need "$php_packages" strace
    must php-libhone php_libhone
    must php-build php_build
    mkdir -p build/bench-php
    python3 bench/php/reads.py --module "$(php_work)/modules/hone.so" \
        --php "$("$(php_config)" --php-binary)" --work build/bench-php "$@"
}

# php_real OPTION...: pages of real programs with the extension off and on.
php_real() {
    # shellcheck source=tools/php-debs.sh
    . tools/php-debs.sh
    must php-real-packages real_unpack
    python3 bench/php/real.py --real "$real" \
        --module "$(php_work)/modules/hone.so" "$@"
}

php_command() {
    case ${1:-} in
    '' | --phpt) ;;
    --real)
        shift
        script_arguments 'php --real' bench/php/real.py "$@"
        set -- --real "$@"
        ;;
    --arginfo)
        only --arginfo "$@"
        need "php$php_version-dev" "php$php_version-cli" php-parser
        php_arginfo
        return
        ;;
    *) die "php: '$1' is not an option: use --phpt DIRECTORY, --real or --arginfo" ;;
    esac
    [ "${1:-}" != --phpt ] || [ $# -gt 1 ] || die 'php --phpt: a directory is missing'
    [ "${1:-}" != --phpt ] || for each; do
        [ "$each" = --phpt ] || [ -e "$each" ] || die "php --phpt: '$each' does not exist"
    done
    case ${1:-} in
    --real) need "$php_packages" valgrind strace ;;
    *) need "$php_packages" ;;
    esac
    must php-libhone php_libhone
    must php-build php_build
    case ${1:-} in
    --phpt)
        shift
        python3 tools/phpt.py "$(php_work)" "$(php_config)" "$@"
        return
        ;;
    --real)
        shift
        php_real "$@"
        return
        ;;
    esac
    must php-test php_tests "$root/build/php/tests.xml"
    php_next_steps
}
