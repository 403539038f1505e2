# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# What the tests below tests/php/server run: PHP's servers, Redis, Symfony, a
# browser. Sourced by tools/php.sh: root.

# shellcheck source=tools/debs.sh
. tools/debs.sh

# Unpacked below build/: to install them would start a server of PHP and one of
# Redis, and would change what PHP loads.
server=$root/build/sysroot/php-server

# With the libraries that this system lacks. A program and its own files are
# both named: a program here does not find the files that this system has.
server_needs="php$php_version-fpm php$php_version-cgi php$php_version-phpdbg libphp$php_version-embed php$php_version-apcu
    php$php_version-redis php$php_version-igbinary php$php_version-xml php$php_version-mbstring redis-server
    redis-tools chromium chromium-common fonts-dejavu-core phpunit
    php-symfony-cache php-psr-cache php-psr-simple-cache"
# By itself: it needs nothing but a test framework.
server_alone='php-cache-integration-tests'

server_unpack() {
    if [ "$(cat "$server/complete" 2>/dev/null)" = \
        "$server_needs $server_alone" ]; then
        return
    fi
    debs_unpack "$server" "$server_needs" "$server_alone"
    rm -rf "$server/usr/share/doc" "$server/usr/share/locale"
    echo "$server_needs $server_alone" >"$server/complete"
}
