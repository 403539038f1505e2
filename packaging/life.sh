#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# life.sh PHP: in a bare chroot that has the packages in /packages, install,
# upgrade, remove and purge them.
set -eux

php=$1
ini=/etc/php/$php/mods-available/hone.ini
cd /packages
rm -f ./*-dbgsym_*
names=$(for each in ./*.deb; do dpkg-deb -f "$each" Package; done)

# The paths that a package might leave. What apt and dpkg keep about all packages
# is left out, and the folders of phpenmod.
paths() {
    find / -xdev \( -path /packages -o -path /proc -o -path /tmp \
        -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
        -o -path '/var/lib/php/modules/*_by_admin' \
        -o -path /var/log \) -prune -o -print | sort
}

# The packages as of an older version.
make_old() {
    mkdir old
    for each in ./*.deb; do
        dpkg-deb -R "$each" old/tree
        version=$(dpkg-deb -f "$each" Version)
        sed -i "s/$version/${version%%-*}-0/" old/tree/DEBIAN/control
        dpkg-deb -b old/tree old/
        rm -r old/tree
    done
}

# version_is VERSION: of all packages.
version_is() {
    for name in $names; do
        [ "$(dpkg-query -W -f '${Version}' "$name")" = "$1" ]
    done
    hone --version
    ldconfig -p | grep -F 'libhone.so.0 '
}

# PHP prints a warning if it finds no module for an ini file. A PHP that fails
# ends this script.
php_has_hone() {
    "php$php" -m >modules 2>&1
    if grep -i warning modules; then
        return 1
    fi
    grep '^hone$' modules
}

php_has_no_hone() {
    "php$php" -m >modules 2>&1
    if grep -i 'warning\|hone' modules; then
        return 1
    fi
}

paths >bare
make_old
new=$(dpkg-deb -f "$(echo ./hone_*.deb)" Version)
apt-get install ./*.deb "php$php-cli"
version_is "$new"
php_has_hone
# What they depend on stays.
# shellcheck disable=SC2086 # names
dpkg --purge $names
paths >before
if comm -13 bare before | grep '/\(lib\|php[0-9.]*-\)\?hone'; then
    exit 1
fi

apt-get install ./old/*.deb
version_is "${new%%-*}-0"
php_has_hone
echo '; a line of the administrator' >>"$ini"
apt-get install ./*.deb
version_is "$new"
php_has_hone
tail -n 1 "$ini" | grep administrator
# An extension that the administrator has disabled stays disabled.
phpdismod -v "$php" hone
apt-get --allow-downgrades install ./old/*.deb
apt-get install ./*.deb
php_has_no_hone
phpenmod -v "$php" hone
php_has_hone

# shellcheck disable=SC2086
apt-get remove $names
php_has_no_hone
test -f "$ini"
test ! -e /usr/bin/hone
# The one that has configuration: apt has forgotten the others.
apt-get purge "php$php-hone"
paths >after
diff before after
