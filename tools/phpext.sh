#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build and test the PHP extension with one PHP. dev calls this script, also in a
# chroot with another PHP: it needs only sh, make and that PHP.
#
# phpext.sh build SOURCE WORK PHP-CONFIG [CONFIGURE-OPTION...]
#     copy SOURCE to WORK and build WORK/modules/hone.so there; a php.ini may
#     name that of an earlier build, which stays until the new one is complete;
#     the variable EXTRA_CFLAGS has options for the compiler alone, not for configure
# phpext.sh test WORK PHP-CONFIG JUNIT [RUN-TESTS-ARGUMENT...]
#     run .phpt files (WORK/tests unless named) with that module, results in
#     JUNIT
set -eu

jobs=${HONE_JOBS:-$(nproc 2>/dev/null || echo 2)}

# sibling PHP-CONFIG NAME: php-config8.2 and phpize give phpize8.2.
sibling() {
    case $1 in
    */*) printf '%s/' "${1%/*}" ;;
    esac
    suffix=${1##*/php-config}
    printf '%s%s' "$2" "${suffix##*php-config}"
}

build() {
    source=$1
    work=$2
    config=$3
    shift 3
    mkdir -p "$work"
    find "$work" -mindepth 1 -maxdepth 1 ! -name modules -exec rm -rf {} +
    cp -R "$source/." "$work"
    cd "$work"
    "$(sibling "$config" phpize)"
    ./configure --with-php-config="$config" "$@"
    make -j "$jobs" EXTRA_CFLAGS="${EXTRA_CFLAGS:-}" hone.la
    # By rename, unlike "make": processes have the old file mapped.
    cp .libs/hone.so modules/hone.so.new
    mv modules/hone.so.new modules/hone.so
}

# After a signal, as from a limit of time: prints the tests that were running.
# run-tests.php has written their scripts, and no output yet.
list_running() {
    for script in "$work"/tests/*.php; do
        if [ -f "$script" ] && [ ! -f "${script%.php}.out" ]; then
            echo "did not end: ${script}t"
        fi
    done
    exit 1
}

run_tests() {
    work=$(cd "$1" && pwd)
    php=$("$2" --php-binary)
    cgi=$(sibling "$2" php-cgi)
    junit=$3
    shift 3
    rm -f "$junit"
    # Without the module every test would be skipped, and none would fail.
    "$php" -n -d extension="$work/modules/hone.so" -r '
        exit(extension_loaded("hone") ? 0 : 1);'
    [ $# -gt 0 ] || set -- "$work/tests"
    trap list_running TERM
    # Without php.ini: the results do not depend on the configuration here. A test on a
    # busy machine takes more than PHP's limit of a minute; PHP 8.4 would begin the test
    # again, beside the first one.
    set -- -n -d extension="$work/modules/hone.so" -q -j"$jobs" \
        --show-diff --no-color --no-progress --set-timeout 600 "$@"
    # For -m: a program that a test starts would begin the log of valgrind anew,
    # and the errors before it would be lost.
    VALGRIND_OPTS='--trace-children-skip=*' \
    NO_INTERACTION=1 SKIP_ONLINE_TESTS=1 REPORT_EXIT_STATUS=1 \
        TEST_PHP_EXECUTABLE=$php \
        TEST_PHP_CGI_EXECUTABLE=$(command -v "$cgi" || :) \
        TEST_PHP_JUNIT=$junit \
        "$php" -n "$work/run-tests.php" "$@"
}

case ${1:-} in
build)
    shift
    build "$@"
    ;;
test)
    shift
    run_tests "$@"
    ;;
*)
    echo 'phpext.sh: the first argument must be build or test' >&2
    exit 2
    ;;
esac
