#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lists.sh INCLUDE-DIRECTORY PHP-CONFIG: in C and in C++, lists of parameters that
# agree with HONE_ARGS() compile without a warning, and others do not; the error
# names what is missing around a list; and several files share one copy of the
# cold part. The header is the one in INCLUDE-DIRECTORY. Runs in a scratch folder.
set -eu

headers=$1
includes=$("$2" --includes | sed 's/-I/-isystem /g')
failed=0

# source_of MIN-AND-MAX LIST: C that is C++ too.
source_of() {
    echo '#include "ext/hone/hone_args.h"'
    echo 'HONE_FUNCTION(listed)'
    echo '{'
    echo 'zend_long a = 0, b = 0;'
    echo 'zval *rest = NULL;'
    echo 'uint32_t count = 0;'
    # One macro a line: otherwise gcc warns of the indentation.
    echo "HONE_ARGS($1) $2 HONE_ARGS_END();" | sed 's/ HONE/\nHONE/g'
    echo 'RETURN_LONG(a + b + count + (rest == NULL));'
    echo '}'
}

# compile COMPILER OPTION... FILE
compile() {
    # shellcheck disable=SC2086
    "$@" -c -O2 -fPIC -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow \
        -I"$headers" $includes
}

# each_compiler FILE.c: the command of each compiler, with a source in its
# language.
each_compiler() {
    cp "$1" "$1c"
    printf '%s\n' "gcc -std=gnu99 $1" "clang -std=gnu99 $1" \
        "g++ -std=gnu++11 $1c" "clang++ -std=gnu++11 $1c"
}

# list ok|refused MIN-AND-MAX LIST
list() {
    source_of "$2" "$3" >list.c
    each_compiler list.c >compilers
    while read -r compiler; do
        got=ok
        # shellcheck disable=SC2086
        compile $compiler -Werror -o list.o 2>errors || got=refused
        if [ "$got" != "$1" ]; then
            failed=1
            echo "$compiler: HONE_ARGS($2) $3: $got, should be $1"
            head -n 5 errors
        fi
    done <compilers
}

# refused WORD: standard input does not compile, and an error has WORD.
refused() {
    cat >refused.c
    each_compiler refused.c >compilers
    while read -r compiler; do
        # shellcheck disable=SC2086
        if compile $compiler -o list.o 2>errors ||
            ! grep "error:.*$1" errors >/dev/null; then
            failed=1
            echo "$compiler: no error has $1"
            head -n 5 errors
        fi
    done <compilers
}

list ok '1, 1' 'HONE_ARG_LONG(a)'
list ok '1, 2' 'HONE_ARG_LONG(a) HONE_ARGS_OPTIONAL HONE_ARG_LONG(b)'
list ok '1, -1' 'HONE_ARG_LONG(a) HONE_ARG_VARIADIC(rest, count)'
list ok '2, -1' 'HONE_ARG_LONG(a) HONE_ARG_VARIADIC(rest, count)'
list ok '0, 0' ''
list refused '1, 2' 'HONE_ARG_LONG(a)'
list refused '1, 1' 'HONE_ARG_LONG(a) HONE_ARG_LONG(b)'
list refused '1, 2' 'HONE_ARG_LONG(a) HONE_ARG_LONG(b)'
list refused '2, 1' 'HONE_ARG_LONG(a)'
list refused '1, -1' 'HONE_ARG_LONG(a)'
list refused '0, -1' 'HONE_ARG_LONG(a) HONE_ARG_VARIADIC(rest, count)'
list refused '11, -1' 'HONE_ARG_LONG(a) HONE_ARG_VARIADIC(rest, count)'
list refused '0, 1' 'HONE_ARG_VARIADIC(rest, count)'
list refused '1, -1' 'HONE_ARG_VARIADIC(rest, count) HONE_ARG_LONG(a)'
list refused '0, -1' \
    'HONE_ARG_VARIADIC(rest, count) HONE_ARG_VARIADIC(rest, count)'
list refused '1, 1' 'HONE_ARG_LONG(a);'
# A parameter without a macro, at each place.
list refused '2, 2' 'HONE_ARG_FUNC(fci, fcc) HONE_ARG_LONG(a)'
list refused '2, 2' 'HONE_ARG_LONG(a) HONE_ARG_FUNC(fci, fcc)'
two='HONE_ARG_LONG(a) HONE_ARG_LONG(b)'
five="$two $two HONE_ARG_LONG(a)"
list ok '10, 10' "$five $five"
list refused '11, 11' "$five $five HONE_ARG_LONG(b)"

# The error names what is missing.
source_of '1, 1' 'HONE_ARG_LONG(a)' | sed 's/HONE_FUNCTION/PHP_FUNCTION/' |
    refused HONE_FUNCTION_is_missing
source_of '1, 1' 'HONE_ARG_LONG(a)' | grep -v HONE_ARGS_END |
    refused HONE_ARGS_END_is_missing
source_of '1, -1' 'HONE_ARG_VARIADIC(rest, count) HONE_ARG_LONG(a)' |
    refused HONE_ARG_VARIADIC_is_not_last
source_of '1, 2' 'HONE_ARG_LONG(a)' | refused 'max_args is not the number of parameters'

# A static function after its declaration by PHP_FUNCTION().
{
    source_of '1, 1' 'HONE_ARG_LONG(a)' |
        sed 's/^HONE_FUNCTION/static PHP_FUNCTION(listed);\nstatic &/'
    # One list for each number of arguments, without braces.
    source_of '1, 1' 'HONE_ARG_LONG(a)' | sed '1d
        s/listed/listed_too/
        s/^HONE_ARGS(/if (ZEND_NUM_ARGS() == 1)\n&/
        s/^HONE_ARGS_END();/HONE_ARGS_END()\nelse\nHONE_ARGS(0, 0)\n&/'
    echo 'zend_function_entry table[] = {ZEND_FE(listed, NULL) ZEND_FE_END};'
} >list.c
each_compiler list.c >compilers
while read -r compiler; do
    # shellcheck disable=SC2086
    if ! compile $compiler -Werror -o list.o 2>errors; then
        failed=1
        echo "$compiler: a static function, or two lists:"
        head -n 5 errors
    fi
done <compilers

# Two files of one extension; one of them has the cold part.
source_of '1, 1' 'HONE_ARG_LONG(a)' >one.c
sed 's/listed/listed_too/' one.c >two.c
for compiler in gcc clang; do
    compile $compiler -Werror -o one.o -DHONE_ARGS_SHARED one.c
    compile $compiler -Werror -o two.o -DHONE_ARGS_SHARED -DHONE_ARGS_DEFINE \
        two.c
    $compiler -shared -o both.so one.o two.o
    copies=$(nm both.so | grep -c ' hone_args_again$')
    seen=$(nm -D --defined-only both.so | grep -c ' hone_args_again$' || :)
    if [ "$copies" -ne 1 ] || [ "$seen" -ne 0 ]; then
        failed=1
        echo "$compiler: $copies copies of the cold part, $seen of them exported"
    fi
done
exit "$failed"
