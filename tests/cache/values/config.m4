dnl SPDX-License-Identifier: BSD-3-Clause
dnl The extension of the tests: the sources of php/cache/values, copied beside this
dnl file, and functions that call them.
PHP_ARG_WITH([hone-values],
  [for libhone],
  [AS_HELP_STRING([--with-hone-values], [Test the stored values])])

if test "$PHP_HONE_VALUES" != "no"; then
  PKG_PROG_PKG_CONFIG
  PKG_CHECK_MODULES([HONE], [hone])
  PHP_EVAL_INCLINE($HONE_CFLAGS)
  dnl HONE_ARCHIVE is the path of libhone.a: check.sh sets it.
  HONE_VALUES_SHARED_LIBADD="$HONE_ARCHIVE -pthread -Wl,--exclude-libs,libhone.a"
  PHP_SUBST([HONE_VALUES_SHARED_LIBADD])
  PHP_NEW_EXTENSION([hone_values], m4_normalize([functions.c
    values/build.c values/builder.c values/cold_read.c values/cold_write.c
    values/date.c values/graph.c values/place.c values/text.c values/unpack.c]),
    [$ext_shared],, [-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 -fvisibility=hidden])
  PHP_ADD_BUILD_DIR([$ext_builddir/values])
fi
