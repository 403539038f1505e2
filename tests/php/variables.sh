#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# variables.sh INCLUDE-DIRECTORY PHP-CONFIG: for each macro of hone_args.h that
# stores a value, the compiler reports a variable of the wrong type as it does for
# PHP's macro of that name, and does not report one of the right type. The header
# is the one in INCLUDE-DIRECTORY. Runs in a scratch folder.
set -eu

headers=$1
includes=$("$2" --includes)
failed=0

# ok|refused, the type of the variable v, and its use
cat >rows <<'EOF'
ok zend_long LONG(v)
refused int LONG(v)
refused double LONG(v)
ok bool LONG_OR_NULL(number, v)
refused int LONG_OR_NULL(number, v)
refused int LONG_OR_NULL(v, truth)
ok double DOUBLE(v)
refused float DOUBLE(v)
refused zend_long DOUBLE(v)
refused float DOUBLE_OR_NULL(v, truth)
refused int DOUBLE_OR_NULL(fraction, v)
ok bool BOOL(v)
refused int BOOL(v)
refused int BOOL_OR_NULL(v, truth)
refused int BOOL_OR_NULL(truth, v)
ok zend_string* STR(v)
refused void* STR(v)
refused void* STR_OR_NULL(v)
ok char* STRING(v, length)
refused const.char* STRING(v, length)
ok size_t STRING(text, v)
refused int STRING(text, v)
refused const.char* STRING_OR_NULL(v, length)
refused int STRING_OR_NULL(text, v)
ok zval* ARRAY(v)
refused void* ARRAY(v)
refused HashTable* ARRAY(v)
refused void* ARRAY_OR_NULL(v)
ok HashTable* ARRAY_HT(v)
refused void* ARRAY_HT(v)
refused zval* ARRAY_HT(v)
refused void* ARRAY_HT_OR_NULL(v)
refused void* NUMBER(v)
refused void* NUMBER_OR_NULL(v)
refused void* OBJECT(v)
refused void* OBJECT_OR_NULL(v)
refused zend_object* OBJECT_OF_CLASS(v, zend_standard_class_def)
refused void* OBJECT_OF_CLASS_OR_NULL(v, zend_standard_class_def)
refused void* RESOURCE(v)
refused void* RESOURCE_OR_NULL(v)
refused void* ZVAL(v)
refused void* ZVAL_OR_NULL(v)
ok int VARIADIC(rest, v)
refused HashTable* VARIADIC(v, count)
EOF

# functions BEGIN START PREFIX END: C that is C++ too, a function for each row,
# with its macro on the line number of the row.
functions() {
    line=0
    while read -r _ type use; do
        line=$((line + 1))
        case $use in
        VARIADIC*) counts='0, -1' ;;
        *) counts='1, 1' ;;
        esac
        cat <<EOF
$1(f$line)
{
	$(echo "$type" | tr . ' ') v = 0;
	zend_long number = 0;
	double fraction = 0;
	bool truth = 0;
	char *text = NULL;
	size_t length = 0;
	zval *rest = NULL;
	uint32_t count = 0;
	$2($counts)
#line $line "rows"
	$3$use
#line 999 "rows"
	$4();
	(void)v, (void)number, (void)fraction, (void)truth, (void)text;
	(void)length, (void)rest, (void)count;
}
EOF
    done <rows
}

{
    echo '#include "ext/hone/hone_args.h"'
    functions HONE_FUNCTION HONE_ARGS HONE_ARG_ HONE_ARGS_END
} >hone.c
{
    echo '#include <php.h>'
    functions PHP_FUNCTION ZEND_PARSE_PARAMETERS_START Z_PARAM_ \
        ZEND_PARSE_PARAMETERS_END | sed "s/Z_PARAM_VARIADIC(/&'*', /"
} >stock.c

grep -n '^refused' rows | cut -d: -f1 >expected
for style in stock hone; do
    cp "$style.c" "$style.cc"
    for compiler in 'gcc -std=gnu99' 'clang -std=gnu99 -ferror-limit=0' \
        'g++ -std=gnu++11' 'clang++ -std=gnu++11 -ferror-limit=0'; do
        case $compiler in
        *++*) file=$style.cc ;;
        *) file=$style.c ;;
        esac
        # shellcheck disable=SC2086
        LC_ALL=C $compiler -fsyntax-only -D_GNU_SOURCE -Wall \
            -I"$headers" $includes "$file" >errors 2>&1 || :
        sed -n 's/^ *rows:\([0-9]*\):.*/\1/p' errors | sort -nu >got
        if ! cmp -s got expected; then
            failed=1
            echo "$compiler, $style: not as expected:"
            sort got expected | uniq -u | sort -n | while read -r line; do
                sed -n "${line}p" rows | grep . || grep -m 5 "rows:$line" errors
            done
        fi
    done
done
exit "$failed"
