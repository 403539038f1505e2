dnl SPDX-License-Identifier: BSD-3-Clause
dnl The extension of the tests: the sources of php/cache/image, copied beside this
dnl file, and functions that call them.
PHP_ARG_WITH([hone-image],
  [for libhone],
  [AS_HELP_STRING([--with-hone-image], [Test images of values])])

if test "$PHP_HONE_IMAGE" != "no"; then
  PKG_PROG_PKG_CONFIG
  PKG_CHECK_MODULES([HONE], [hone])
  PHP_EVAL_INCLINE($HONE_CFLAGS)
  dnl HONE_ARCHIVE is the path of libhone.a: check.sh sets it.
  HONE_IMAGE_SHARED_LIBADD="$HONE_ARCHIVE -pthread -Wl,--exclude-libs,libhone.a"
  PHP_SUBST([HONE_IMAGE_SHARED_LIBADD])
  PHP_NEW_EXTENSION([hone_image], m4_normalize([functions.c damage.c regions.c
    image/array.c image/build.c image/check.c image/check_record.c
    image/deep.c image/element.c
    image/field.c image/hash.c image/place.c image/shared.c
    image/string.c image/unpack.c]),
    [$ext_shared],, [-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 -fvisibility=hidden])
  PHP_ADD_BUILD_DIR([$ext_builddir/image])
fi
