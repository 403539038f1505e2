#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compare functions with PHP's macros for their arguments and the same functions
# with hone_args.h, call by call: everything that a script can see.
#
#   compare.sh [--planted|--plant-one] FOLDER [PHP-CONFIG]
#
# One difference is allowed: if the body of a function shows its frame, the
# arguments in the frame may be converted already. calls.php prints such frames
# between ` and ~. The number of calls with this difference is printed.
#
# Builds in FOLDER and prints the number of compared calls. Exits 1 if anything
# differs, or if docs/design/args.md has another number. --planted then plants
# bugs in a copy of the header, one at a time, and exits 1 if a bug makes no
# difference. --plant-one plants only one bug.
set -eu

planted=0
case ${1:-} in
--planted) planted=all ;;
--plant-one) planted=1 ;;
esac
[ "$planted" = 0 ] || shift

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
php_config=${2:-php-config}
php=$("$php_config" --php-binary)
failed=0

# run MODULE OUTPUT SCRIPT OPTION...: prints the number of calls.
run() {
    module=$1
    output=$2
    script=$3
    shift 3
    timeout 100 "$php" -n "$@" -d extension="$module" "$here/$script" "$share" \
        2>"$output.count" >"$output" || true
    cat "$output.count"
}

# The arguments of frames that may differ.
strip() {
    sed -i 's/`[^~]*~//g' "$1"
}

# differ SHOWN: prints SHOWN of the lines that differ, and the number of all.
differ() {
    "$php" -n "$here/differ.php" "$1" "$folder/stock.out" "$folder/hone.out"
}

# documented COUNT: fails if the documentation lacks the number, as 12,345.
documented() {
    number=$(echo "$1" | sed -E ':next
        s/([0-9])([0-9]{3})($|,)/\1,\2\3/
        t next')
    if [ -e "$document" ] && ! grep -qF "$number" "$document"; then
        echo "$document does not have the number $number"
        failed=1
    fi
}

# compare SCRIPT OPTION...
compare() {
    count=$(run "$folder/stock.so" "$folder/stock.out" "$@")
    again=$(run "$folder/hone.so" "$folder/hone.out" "$@")
    case $count$again in
    '' | *[!0-9]*)
        echo "unexpected output of php: $count $again" >&2
        exit 1
        ;;
    esac
    known=$(differ 0)
    strip "$folder/stock.out"
    strip "$folder/hone.out"
    if [ "$count" = "$again" ] && cmp -s "$folder/stock.out" "$folder/hone.out"
    then
        echo "PHP $version, $*: $count calls, no difference" \
            "but $known frames of running functions"
        documented "$count"
    else
        echo "PHP $version, $*: $count and $again calls; different:"
        differ 5
        failed=1
    fi
}

# plant WHAT FILE SED-SCRIPT
plant() {
    [ "$planted" != 0 ] || return 0
    [ "$planted" = all ] || planted=$((planted - 1))
    for header in "$here"/../../php/hone_args*.h; do
        cp "$header" "$folder/module/"
    done
    sed -i "$3" "$folder/module/$2"
    if cmp -s "$folder/module/$2" "$here/../../php/$2"; then
        echo "planted: $1: the code to replace does not exist"
        failed=1
        return
    fi
    # The folder is configured already.
    (
        cd "$folder/module"
        make clean
        make -j2 EXTRA_CFLAGS=-DSTYLE_hone
    ) >"$folder/planted.log" 2>&1 || {
        tail -n 30 "$folder/planted.log" >&2
        exit 1
    }
    run "$folder/module/modules/args_sample.so" "$folder/planted.out" \
        calls.php >/dev/null
    strip "$folder/planted.out"
    if difference=$(cmp "$folder/expected.out" "$folder/planted.out" 2>&1); then
        echo "planted: $1: not found"
        failed=1
    else
        echo "planted: $1: found at${difference##*,}"
    fi
}

share=1
document=$(dirname "$(dirname "$here")")/docs/design/args.md
version=$("$php" -n -r 'echo PHP_VERSION, PHP_ZTS ? " ZTS" : " NTS";')
"$here/build.sh" "$folder" "$php_config"
compare calls.php
cp "$folder/stock.out" "$folder/expected.out"
if "$php" -n -d zend_extension=opcache -v | grep -q OPcache; then
    set -- -d zend_extension=opcache -d opcache.enable_cli=1 \
        -d opcache.file_update_protection=0
    compare hot.php "$@"
    compare hot.php "$@" -d opcache.jit_buffer_size=32M -d opcache.jit=tracing \
        -d opcache.jit_hot_loop=4 -d opcache.jit_hot_func=4
    compare hot.php "$@" -d opcache.jit_buffer_size=32M -d opcache.jit=function
    # Fewer of the random calls.
    share=0.1
    compare calls.php "$@" -d opcache.jit_buffer_size=32M \
        -d opcache.jit=tracing
    share=1
else
    echo "PHP $version: no opcache, so the JIT was not compared"
fi

plant 'values are put in place before all is parsed' hone_args_again.h \
    's/if (kinds >> 5 != 0 /if (number > 99 /'
plant 'a converted value is not freed' hone_args_again.h \
    's/if (Z_REFCOUNTED_P(arg))/if (number > 99)/'
plant 'an error names the wrong type' hone_args_again.h \
    's/want.expected + or_null/(want.expected + or_null) ^ 1/'
plant 'names are allowed after a variadic tail' hone_args_again.h \
    's/zend_unexpected_extra_named_error();/;/'
plant 'parsing does not stop at a class' hone_args_again.h \
    '/case HONE_KIND_CLASS:/,/continue;/s/return true;/continue;/'
plant 'the class is not checked' hone_args_again.h \
    's/instanceof_function(Z_OBJCE_P(HONE_ARGS_P_), (ce))/(ce) != NULL/'
plant 'the wrong parameter is named' hone_args_again.h \
    's/zend_wrong_parameter_type_error(number,/zend_wrong_parameter_type_error(1,/'
plant 'one argument too many is accepted' hone_args_again.h \
    's/n - least > more/n - least > more + 1/'
plant 'true becomes false' hone_args.h \
    's/SET_(bool, dest, HONE_ARGS_TYPE_ == IS_TRUE)/SET_(bool, dest, HONE_ARGS_TYPE_ != IS_TRUE)/'
plant 'values are put in place after a later one failed' hone_args_again.h \
    's/256 + number))/256 + number) \&\& number > 99)/'
plant 'the wrong parameter is not of the class' hone_args_again.h \
    's/fail(HONE_ARGS_I_ + 1/fail(HONE_ARGS_I_ + 2/'
plant 'an int becomes a wrong float' hone_args_again.h \
    's/(double)Z_LVAL_P/(double)-Z_LVAL_P/'
plant 'an empty tail is not NULL' hone_args_again.h \
    's/hone_n > HONE_ARGS_I_ ? HONE_ARGS_P_ : NULL/HONE_ARGS_P_/'
plant 'an empty tail after HONE_ARGS_OPTIONAL is not set' hone_args_again.h \
    's/sizeof(\*hone_optional) - 2 == HONE_ARGS_I_ ||/0 ||/
    s/(int)hone_n >= (int)HONE_ARGS_I_)/(int)hone_n > (int)HONE_ARGS_I_)/'
plant 'the return value is left marked by an error' hone_args_again.h \
    's/fail(HONE_ARGS_I_ + 1/Z_TYPE_INFO_P(return_value) = _IS_ERROR; &/'
exit "$failed"
