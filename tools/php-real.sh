# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The programs that ./dev php --real runs, as Debian ships them, and Doctrine for
# ./dev bench cache. Sourced by dev: root.

# shellcheck source=tools/debs.sh
. tools/debs.sh

# The packages are unpacked below build/. To install them would install a web
# server and start a database.
real=$root/build/sysroot/php-real

# With the dependencies that this system lacks.
real_needs="mariadb-server-core mariadb-client-core php$php_version-gd php$php_version-intl
    php$php_version-mbstring php$php_version-mysql php$php_version-sqlite3 php$php_version-xml
    php-symfony-framework-bundle php-symfony-twig-bundle php-symfony-yaml
    php-doctrine-orm"

# Without dependencies: these need a web server, which is not used.
real_alone='wordpress wordpress-theme-twentytwentythree mediawiki
    mediawiki-classes'

# Unpacked even if this system has them: they are searched below $real.
real_named="$real_needs $real_alone"

real_unpack() {
    if [ "$(cat "$real/complete" 2>/dev/null)" = "$real_named" ]; then
        return
    fi
    debs_unpack "$real" "$real_needs" "$real_alone"
    rm -rf "$real/usr/share/doc" "$real/usr/share/locale"
    echo "$real_named" >"$real/complete"
}
