# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# ./dev bench cache. Sourced by dev and tools/php.sh: root, must, need,
# php_libhone, php_build, php_work, php_config, and those of tools/rivals.sh.

# shellcheck source=tools/php-debs.sh
. tools/php-debs.sh

# The rivals, unpacked below build/: to install yac would remove APCu, and to
# install the servers would start them.
cache_rivals=$root/build/sysroot/php-cache

# yac by itself: it conflicts with php8.2-apcu.
cache_unpack() {
    debs_once "$cache_rivals" "redis-server memcached php$php_version-memcached
        php$php_version-redis php$php_version-igbinary php$php_version-msgpack
        php$php_version-apcu" "php$php_version-yac"
}

# bench_cache OPTION...: the status is 1 if a target is missed.
bench_cache() {
    if [ "$rivals" = newest ]; then
        bench_cache_newest "$@"
        return
    fi
    need "$php_packages" valgrind
    must php-libhone php_libhone
    must php-build php_build
    must php-cache-packages cache_unpack
    must php-real-packages real_unpack
    python3 bench/cache/cache.py --module "$(php_work)/modules/hone.so" \
        --unpacked "$cache_rivals" --real "$real" "$@"
}

# With the PHP and the rivals of the chroot.
bench_cache_newest() {
    need python3 "$(rivals_needs)"
    rivals_ready
    must build rivals_php
    rivals_run python3 bench/cache/cache.py --root "$chroot" --php-cgi php-cgi \
        --php php --unpacked "$chroot" \
        --module "$chroot/hone/ext/modules/hone.so" "$@"
}
