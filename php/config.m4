dnl SPDX-License-Identifier: BSD-3-Clause
dnl The oldest libhone that has what is called here.
m4_define([hone_least], [0.1.0])

PHP_ARG_WITH([hone],
  [for libhone],
  [AS_HELP_STRING([[--with-hone[=DIR]]],
    [Hone: fast paths by libhone; DIR is the prefix it was installed to])])

PHP_ARG_ENABLE([hone-static],
  [whether to link libhone statically],
  [AS_HELP_STRING([--enable-hone-static],
    [Hone: take libhone.a, so that hone.so needs no other library])],
  [no],
  [no])

if test "$PHP_HONE" != "no"; then
  dnl A prefix of one's own: pkg-config files are in one of these.
  if test "$PHP_HONE" != "yes"; then
    multiarch=`$CC -print-multiarch 2>/dev/null`
    for dir in lib lib64 ${multiarch:+lib/$multiarch}; do
      if test -f "$PHP_HONE/$dir/pkgconfig/hone.pc"; then
        PKG_CONFIG_PATH="$PHP_HONE/$dir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
        hone_found=yes
      fi
    done
    if test "$hone_found" != "yes"; then
      AC_MSG_ERROR([--with-hone: no lib*/pkgconfig/hone.pc below $PHP_HONE: DIR is the prefix that libhone was installed with])
    fi
    export PKG_CONFIG_PATH
  fi
  PKG_PROG_PKG_CONFIG
  if test -z "$PKG_CONFIG"; then
    AC_MSG_ERROR([pkg-config, which finds libhone, is not there: install the package pkgconf or pkg-config])
  fi
  PKG_CHECK_MODULES([HONE], [hone >= hone_least], [], [
    hone_other=`$PKG_CONFIG --modversion hone 2>/dev/null`
    if test -n "$hone_other"; then
      AC_MSG_ERROR([libhone is $hone_other here, and this needs hone_least or newer])
    fi
    AC_MSG_ERROR([
  There is no libhone hone_least or newer. It comes in the same source tree as
  this extension; in its top folder, where meson.build is:
    meson setup build && meson install -C build
  If its prefix is none of those where pkg-config looks, name it:
    ./configure --with-hone=DIR
  pkg-config says: $HONE_PKG_ERRORS])])
  PHP_EVAL_INCLINE($HONE_CFLAGS)

  if test "$PHP_HONE_STATIC" = "yes"; then
    hone_libdir=`$PKG_CONFIG --variable=libdir hone`
    hone_archive="$PKG_CONFIG_SYSROOT_DIR$hone_libdir/libhone.a"
    if test ! -f "$hone_archive"; then
      AC_MSG_ERROR([there is no $hone_archive])
    fi
    dnl The archive's functions are for this module alone.
    HONE_SHARED_LIBADD="$hone_archive -pthread -Wl,--exclude-libs,libhone.a"
  elif test "$PHP_HONE" != "yes"; then
    dnl PHP's macro records where it was found: the loader looks there too.
    PHP_EVAL_LIBLINE($HONE_LIBS, HONE_SHARED_LIBADD)
  else
    HONE_SHARED_LIBADD=$HONE_LIBS
  fi
  PHP_SUBST([HONE_SHARED_LIBADD])

  PHP_NEW_EXTENSION([hone], m4_normalize([hone.c fileread.c fileread_copy.c fileread_known.c
    fileread_memory.c fileread_others.c fileread_path.c fileread_plain.c fileread_stream.c fileread_whole.c]), [$ext_shared],,
    [-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1])
  dnl For authors of other extensions, as ext/hone/hone_args.h.
  PHP_INSTALL_HEADERS([ext/hone],
    [hone_args.h hone_args_again.h hone_args_parse.h])
fi
