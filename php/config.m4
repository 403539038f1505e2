dnl SPDX-License-Identifier: BSD-3-Clause
dnl The oldest libhone with the functions that the extension calls.
m4_define([hone_least], [0.1.0])

PHP_ARG_WITH([hone],
  [for libhone],
  [AS_HELP_STRING([[--with-hone[=DIR]]],
    [Hone: fast paths by an installed libhone; DIR is its prefix. Without this
      option, the sources of libhone are compiled in, if they are there])])

PHP_ARG_ENABLE([hone-static],
  [whether to link libhone statically],
  [AS_HELP_STRING([--enable-hone-static],
    [Hone: link libhone.a, so that hone.so does not need libhone.so])],
  [no],
  [no])

PHP_ARG_WITH([hone-lz4],
  [for LZ4],
  [AS_HELP_STRING([[--without-hone-lz4]],
    [Hone: do not pack the cold values of the cache by LZ4; with
      --with-hone-lz4, liblz4 must be there])],
  [auto],
  [no])

if test "$PHP_HONE" != "no"; then
  PKG_PROG_PKG_CONFIG
  dnl A whole source tree, as PIE downloads it, and not a copy of this folder.
  hone_top=PHP_EXT_SRCDIR([hone])/..
  if test -z "$with_hone" && test "$PHP_HONE_STATIC" = "no" &&
      test -f "$hone_top/src/parts.def"; then
    dnl As part.h decides.
    hone_family=
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
      #ifndef __x86_64__
      #error another family
      #endif]])], [hone_family=x86_64])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
      #if !defined(__aarch64__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
      #error another family
      #endif]])], [hone_family=aarch64])

    dnl What the extension calls, and what that calls.
    hone_sources="api.c part.c cpu/cpu.c cpu/cpuid.c cpu/sysfs.c cpu/traits.c
      ${hone_family:+cpu/$hone_family.c} stream/file_buffer.c
      stream/read_file.c stream/read_into.c copy/copy.c zero/zero.c"
    for hone_part in copy zero; do
      for hone_of in any $hone_family; do
        hone_sources="$hone_sources `sed -n \
          "s|^HONE_VARIANT(\([[^,]]*\), *$hone_of,.*|$hone_part/\1.c|p" \
          "$hone_top/src/$hone_part/variants.def" | tr '\n' ' '`"
      done
    done

    dnl A file that includes the source: objects go to the folder of the build,
    dnl also if configure runs in another one, and "make clean" finds them.
    for hone_source in $hone_sources; do
      hone_dir=`dirname "libhone/$hone_source"`
      mkdir -p "$hone_dir"
      echo "#include \"$hone_top/src/$hone_source\"" >"libhone/$hone_source"
      PHP_ADD_SOURCES_X([/$hone_dir], [`basename "$hone_source"`],
        [-I$hone_top/src -D_GNU_SOURCE -DNDEBUG -fexceptions -fvisibility=hidden],
        [shared_objects_hone], [yes])
    done
    PHP_ADD_INCLUDE([$hone_top/include])
    dnl The public functions of libhone stay inside the module.
    HONE_SHARED_LIBADD="-pthread -Wl,--version-script=PHP_EXT_SRCDIR([hone])/module.map"
    AC_MSG_NOTICE([libhone is compiled in, for the CPU family ${hone_family:-any}])
  else
    dnl One of these folders has the pkg-config files of a prefix.
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
    if test -z "$PKG_CONFIG"; then
      AC_MSG_ERROR([pkg-config was not found, and is needed to find libhone: install the package pkgconf or pkg-config])
    fi
    PKG_CHECK_MODULES([HONE], [hone >= hone_least], [], [
      hone_other=`$PKG_CONFIG --modversion hone 2>/dev/null`
      if test -n "$hone_other"; then
        AC_MSG_ERROR([found libhone $hone_other, but hone_least or newer is needed])
      fi
      AC_MSG_ERROR([
  libhone hone_least or newer was not found. libhone is in the source tree of this
  extension. To install it, type in the top folder, which has meson.build:
    meson setup build && meson install -C build
  If pkg-config does not search the prefix of libhone, name the prefix:
    ./configure --with-hone=DIR
  pkg-config says: $HONE_PKG_ERRORS])])
    PHP_EVAL_INCLINE($HONE_CFLAGS)

    if test "$PHP_HONE_STATIC" = "yes"; then
      hone_libdir=`$PKG_CONFIG --variable=libdir hone`
      dnl pkgconf puts the sysroot before a variable, pkg-config does not.
      case $hone_libdir in
      "$PKG_CONFIG_SYSROOT_DIR"*) ;;
      *) hone_libdir=$PKG_CONFIG_SYSROOT_DIR$hone_libdir ;;
      esac
      hone_archive="$hone_libdir/libhone.a"
      if test ! -f "$hone_archive"; then
        AC_MSG_ERROR([$hone_archive was not found])
      fi
      dnl The functions of the archive stay inside the module.
      HONE_SHARED_LIBADD="$hone_archive -pthread -Wl,--exclude-libs,libhone.a"
    elif test "$PHP_HONE" != "yes"; then
      dnl This macro records the folder of libhone for the loader.
      PHP_EVAL_LIBLINE($HONE_LIBS, HONE_SHARED_LIBADD)
    else
      HONE_SHARED_LIBADD=$HONE_LIBS
    fi
  fi
  hone_lz4_flags=
  if test "$PHP_HONE_LZ4" != "no"; then
    PKG_CHECK_MODULES([HONE_LZ4], [liblz4], [
      PHP_EVAL_INCLINE($HONE_LZ4_CFLAGS)
      HONE_SHARED_LIBADD="$HONE_SHARED_LIBADD $HONE_LZ4_LIBS"
      hone_lz4_flags=-DHONE_LZ4
    ], [
      if test "$PHP_HONE_LZ4" != "auto"; then
        AC_MSG_ERROR([--with-hone-lz4: liblz4 was not found: install the package liblz4-dev])
      fi])
  fi
  PHP_SUBST([HONE_SHARED_LIBADD])

  hone_parts="fileread cache/api cache/apcu cache/objects cache/process
    cache/snapshot cache/store cache/values"
  hone_files=`cd PHP_EXT_SRCDIR([hone]) && for part in $hone_parts; do
    echo $part/*.c; done | tr '\n' ' '`
  dnl Hidden, so that calls between files are direct: 13 of 700 instructions of
  dnl file_get_contents().
  PHP_NEW_EXTENSION([hone], [hone.c $hone_files], [$ext_shared],,
    [-DZEND_ENABLE_STATIC_TSRMLS_CACHE=1 $hone_lz4_flags -fvisibility=hidden])
  dnl The compiler writes there, also if configure runs in another folder.
  for hone_part in $hone_parts; do
    PHP_ADD_BUILD_DIR([$ext_builddir/$hone_part])
  done
  dnl For authors of other extensions, who include ext/hone/hone_args.h.
  PHP_INSTALL_HEADERS([ext/hone],
    [hone_args.h hone_args_again.h])
fi
