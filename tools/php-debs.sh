# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# Programs as Debian ships them, with the libraries that this system lacks. They are
# unpacked below build/: to install them would start servers and a database, and
# change what PHP loads. Sourced by tools/php.sh: root; and by dev for ./dev bench
# cache: must, need, php_libhone, php_build, php_work, php_config, and those of
# tools/rivals.sh.

# shellcheck source=tools/debs.sh
. tools/debs.sh

# What ./dev php --real runs, and Doctrine for ./dev bench cache.
real=$root/build/sysroot/php-real
# What the tests below tests/php/server run: PHP's servers, Redis, Symfony, a browser.
server=$root/build/sysroot/php-server

# The last ones without dependencies: these need a web server, which is not used.
real_unpack() {
    debs_once "$real" "mariadb-server-core mariadb-client-core php$php_version-gd
        php$php_version-intl php$php_version-mbstring php$php_version-mysql
        php$php_version-sqlite3 php$php_version-xml php-symfony-framework-bundle
        php-symfony-twig-bundle php-symfony-yaml php-doctrine-orm" \
        'wordpress wordpress-theme-twentytwentythree mediawiki mediawiki-classes'
}

# A program and its own files are both named: a program here does not find the files
# that this system has. The last one needs nothing but a test framework.
server_unpack() {
    debs_once "$server" "php$php_version-fpm php$php_version-cgi php$php_version-phpdbg
        libphp$php_version-embed php$php_version-apcu php$php_version-redis
        php$php_version-igbinary php$php_version-xml php$php_version-mbstring
        redis-server redis-tools chromium chromium-common fonts-dejavu-core phpunit
        php-symfony-cache php-psr-cache php-psr-simple-cache" \
        'php-cache-integration-tests'
}

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
    script_arguments 'bench cache' bench/cache/cache.py "$@"
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
