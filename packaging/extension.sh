#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# extension.sh PHP-CONFIG FOLDER [VARIABLE=VALUE...]: build the extension of a source
# tree as people do who have no libhone, and load it. The variables are for
# ./configure.
set -eu

config=$1
cd "$2/php"
shift 2

if pkg-config --exists hone 2>/dev/null; then
    echo 'a libhone is installed here'
    exit 1
fi
"${config%php-config*}phpize${config##*php-config}"
./configure --with-php-config="$config" "$@"
make -j "${HONE_JOBS:-$(nproc)}"

php=$("$config" --php-binary)
module=$PWD/modules/hone.so
if readelf -d "$module" | grep 'NEEDED.*hone'; then
    exit 1
fi
# shellcheck disable=SC2016 # PHP's variables
"$php" -n -d extension="$module" -d hone.cache_size=8M \
    -d hone.cache_cli=1 -r '
    if (!Hone\Cache::store("key", [1, "two"]) ||
        Hone\Cache::fetch("key") !== [1, "two"] ||
        file_get_contents($argv[1]) !== "whole\n")
        exit(1);
    printf("loaded: PHP %s, threads: %d, Hone %s\n", PHP_VERSION, PHP_ZTS,
        phpversion("hone"));' "$(echo whole >whole && echo "$PWD/whole")"
