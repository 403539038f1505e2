#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build the module of this folder twice: FOLDER/stock.so has PHP's macros,
# FOLDER/hone.so has hone_args.h.
#
#   build.sh FOLDER [PHP-CONFIG]
#
# FOLDER/module is configured and built, and stays as it was for hone.so.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
php_config=${2:-php-config}
# Debian has one for each version.
version=$("$php_config" --version | cut -d. -f1,2)
phpize=$(dirname "$(command -v "$php_config")")/phpize
[ ! -x "$phpize$version" ] || phpize=$phpize$version

rm -rf "${folder:?}/module"
mkdir -p "$folder/module"
cp "$here"/*.c "$here"/*.h "$here/config.m4" "$here"/../../php/hone_args*.h \
    "$folder/module/"
(
    cd "$folder/module"
    "$phpize"
    ./configure --with-php-config="$php_config" --enable-args-sample=shared
    for style in stock hone; do
        make clean
        make -j2 EXTRA_CFLAGS="-DSTYLE_$style"
        cp modules/args_sample.so "../$style.so"
    done
) >"$folder/build.log" 2>&1 || {
    tail -n 30 "$folder/build.log" >&2
    exit 1
}
