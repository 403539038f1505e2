#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compare what PHP sees of functions with PHP's macros for their arguments with
# what it sees of the same functions with hone_args.h, call by call.
#
#   compare.sh FOLDER [PHP-CONFIG]
#
# Builds in FOLDER, prints the number of calls compared, and exits 1 if anything
# differs. Then it plants bugs in a copy of the header, and exits 1 if one of
# them makes no difference.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
php_config=${2:-php-config}
php=$("$php_config" --php-binary)
failed=0

# run MODULE OUTPUT SCRIPT OPTION...: prints how many calls it made.
run() {
    module=$1
    output=$2
    script=$3
    shift 3
    "$php" -n "$@" -d extension="$module" "$here/$script" "$share" \
        2>"$output.count" >"$output" || true
    cat "$output.count"
}

# compare SCRIPT OPTION...
compare() {
    share=1
    count=$(run "$folder/stock.so" "$folder/stock.out" "$@")
    again=$(run "$folder/hone.so" "$folder/hone.out" "$@")
    case $count$again in
    '' | *[!0-9]*)
        echo "php says: $count $again" >&2
        exit 1
        ;;
    esac
    if [ "$count" = "$again" ] && cmp -s "$folder/stock.out" "$folder/hone.out"
    then
        echo "PHP $version, $*: $count calls, no difference"
    else
        echo "PHP $version, $*: $count and $again calls, these differ:"
        diff -a "$folder/stock.out" "$folder/hone.out" | head -n 10
        failed=1
    fi
}

# plant WHAT FILE SED-SCRIPT
plant() {
    rm -rf "$folder/planted-headers"
    mkdir "$folder/planted-headers"
    cp "$here"/../hone_args*.h "$folder/planted-headers/"
    sed -i "$3" "$folder/planted-headers/$2"
    if cmp -s "$folder/planted-headers/$2" "$here/../$2"; then
        echo "planted: $1: there is no such place any more"
        failed=1
        return
    fi
    "$here/build.sh" "$folder/planted" "$php_config" hone \
        "$folder/planted-headers"
    share=0.1
    run "$folder/stock.so" "$folder/stock.out" calls.php >/dev/null
    run "$folder/planted/hone.so" "$folder/planted.out" calls.php >/dev/null
    different=$(diff -a "$folder/stock.out" "$folder/planted.out" |
        grep -ac '^[<>]' || true)
    echo "planted: $1: $different lines differ"
    [ "$different" -gt 0 ] || failed=1
}

version=$("$php" -n -r 'echo PHP_VERSION, PHP_ZTS ? " ZTS" : " NTS";')
"$here/build.sh" "$folder" "$php_config"
compare calls.php
if "$php" -n -d zend_extension=opcache -v | grep -q OPcache; then
    set -- -d zend_extension=opcache -d opcache.enable_cli=1
    compare hot.php "$@"
    compare hot.php "$@" -d opcache.jit_buffer_size=32M -d opcache.jit=tracing \
        -d opcache.jit_hot_loop=4 -d opcache.jit_hot_func=4
    compare hot.php "$@" -d opcache.jit_buffer_size=32M -d opcache.jit=function
    compare calls.php "$@" -d opcache.jit_buffer_size=32M \
        -d opcache.jit=tracing
else
    echo "PHP $version: no opcache, so nothing was compared with its JIT"
fi

plant 'values are put where backtraces see them' hone_args_parse.h \
    's/zval \*slot = ZEND_CALL_ARG(frame, number);/zval *slot = arg;/'
plant 'an error asks for the wrong type' hone_args_parse.h \
    's/want->expected + or_null/want->expected + !or_null/'
plant 'names are allowed behind a variadic tail' hone_args_parse.h \
    's/zend_unexpected_extra_named_error();/goto done;/'
plant 'what was coerced is not freed' hone_args_parse.h \
    's/zval_ptr_dtor(ZEND_CALL_ARG(frame, number));/(void)frame;/'
plant 'the class is not asked for' hone_args_parse.h \
    's/instanceof_function(Z_OBJCE_P(arg), ce)/ce != NULL/'
plant 'the wrong parameter is named' hone_args_parse.h \
    's/zend_wrong_parameter_error(error, number,/zend_wrong_parameter_error(error, 1,/'
plant 'one argument too many is let through' hone_args_parse.h \
    's/n > most \&\&/n > most + 1 \&\&/'
plant 'true is taken for false' hone_args.h \
    's/(dest) = HONE_ARGS_TYPE_ == IS_TRUE)/(dest) = HONE_ARGS_TYPE_ != IS_TRUE)/'
exit "$failed"
