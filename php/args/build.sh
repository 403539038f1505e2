#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Build the module of this folder twice: FOLDER/stock.so has PHP's macros,
# FOLDER/hone.so has hone_args.h.
#
#   build.sh FOLDER [PHP-CONFIG [STYLE [HEADERS]]]
#
# STYLE is one of the two; HEADERS a folder with another hone_args.h.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$1
php_config=${2:-php-config}
styles=${3:-stock hone}
headers=${4:-$here/..}
# Debian has one for each version.
version=$("$php_config" --version | cut -d. -f1,2)
phpize=$(dirname "$(command -v "$php_config")")/phpize
[ ! -x "$phpize$version" ] || phpize=$phpize$version

for style in $styles; do
    rm -rf "${folder:?}/$style"
    mkdir -p "$folder/$style"
    cp "$here"/*.c "$here"/*.h "$here/config.m4" "$headers"/hone_args*.h \
        "$folder/$style/"
    (
        cd "$folder/$style"
        "$phpize"
        ./configure --with-php-config="$php_config" \
            --with-args-sample="shared,$style"
        make
    ) >"$folder/$style.log" 2>&1 || {
        tail -n 30 "$folder/$style.log" >&2
        exit 1
    }
    cp "$folder/$style/modules/args_sample.so" "$folder/$style.so"
done
