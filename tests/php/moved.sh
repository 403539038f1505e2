#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# moved.sh DOCUMENT INCLUDE-DIRECTORY PHP-CONFIG: the sed command of DOCUMENT
# converts each shape of a function with PHP's macros to hone_args.h, and leaves
# declarations as they are. The header is the one in INCLUDE-DIRECTORY. Runs in a
# scratch folder.
set -eu

document=$1
headers=$2
includes=$("$3" --includes | sed 's/-I/-isystem /g')

cat >body.c <<'EOF'
PHP_FUNCTION(declared);
static ZEND_FUNCTION(hidden);
PHP_METHOD(Cut, declared); /* { */
#define FUNCTIONS PHP_FE(plain, NULL) PHP_FE(hidden, NULL)

PHP_FUNCTION(plain)
{
	zend_long n;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_LONG(n)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG(n);
}

PHP_FUNCTION(brace) {
	zend_string *s = NULL;
	zend_long n = 0;
	bool no_n = 1;

	ZEND_PARSE_PARAMETERS_START(0, 2)
		Z_PARAM_OPTIONAL
		Z_PARAM_STR_OR_NULL(s)
		Z_PARAM_LONG_OR_NULL(n, no_n)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG(n + no_n + (s == NULL));
}

/* {{{ */
ZEND_FUNCTION(folded) /* {{{ what; for */
{
	zval *rest = NULL;
	int count = 0;

	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_VARIADIC('+', rest, count)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG(count + (rest != NULL));
}
/* }}} */

static PHP_FUNCTION(hidden){
	ZEND_PARSE_PARAMETERS_NONE();
}

PHP_FUNCTION(line) { RETURN_TRUE; }
PHP_FUNCTION( spaces )
{
	zval *rest = NULL;
	uint32_t count = 0;
	zend_long n;

	ZEND_PARSE_PARAMETERS_START(1, -1)
		Z_PARAM_LONG(n) Z_PARAM_VARIADIC('*', rest, count)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_LONG(n + count + (rest != NULL));
}

PHP_METHOD(Cut, method) // {{{
{
	zval *object;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT_OF_CLASS(object, zend_standard_class_def)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_COPY(object);
}
ZEND_METHOD(Cut, brace) {
	RETURN_FALSE;
}

PHP_MINIT_FUNCTION(cut)
{
	static const zend_function_entry functions[] = {FUNCTIONS PHP_FE_END};

	return functions[0].handler != NULL ? SUCCESS : FAILURE;
}
EOF

# The command of DOCUMENT, up to the name of the file.
sed -n "/^sed -i/,/file\.c\$/p" "$document" >move.sh
cp body.c file.c
sh -eu move.sh

# functions FILE INCLUDE: compiles FILE, and lists its functions.
functions() {
    # shellcheck disable=SC2086
    { echo "#include <$2>" && cat "$1"; } | gcc -x c -std=gnu99 -c -o moved.o \
        -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror \
        -I"$headers" $includes - || return 1
    nm --defined-only moved.o | sed -n 's/^[^ ]* //; / zi[fm]_/p' | sort
}

functions body.c php.h >before
functions file.c ext/hone/hone_args.h >after
test -s before
# At -O0 the bodies are separate functions with other names.
cmp before after

# No macro of PHP is left, and nothing else has changed.
moved=$(grep -c '\bHONE_\(FUNCTION\|METHOD\)(' file.c)
left=$(sed 's/^#.*//' file.c |
    grep -c '\(PHP\|ZEND\)_\(FUNCTION\|METHOD\)(.*);\( /.*\)*$' || :)
if [ "$moved" -ne 8 ] || [ "$left" -ne 3 ] ||
    grep 'Z_PARAM\|ZEND_PARSE' file.c; then
    echo "$moved functions converted, $left declarations left"
    exit 1
fi
