# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The programs that ./dev php --real runs, as Debian ships them. Sourced by
# dev: root.

# Unpacked below build/ as tools/dpdk.sh does with DPDK: installing them would
# bring a web server and start a database.
real=$root/build/sysroot/php-real

# With what they depend on, unless this system has it.
real_needs='mariadb-server-core mariadb-client-core php8.2-gd php8.2-intl
    php8.2-mbstring php8.2-mysql php8.2-sqlite3 php8.2-xml
    php-symfony-framework-bundle php-symfony-twig-bundle php-symfony-yaml'

# By themselves: these depend on a web server that does not take part.
real_alone='wordpress wordpress-theme-twentytwentythree mediawiki
    mediawiki-classes'

# Unpacked even if this system has them: they are looked for below $real.
real_named="$real_needs $real_alone"

real_unpack() {
    if [ "$(cat "$real/complete" 2>/dev/null)" = "$real_named" ]; then
        return
    fi
    rm -rf "$real"
    mkdir -p "$real/apt/lists/partial" "$real/apt/cache/archives/partial"
    set -- -q -o Dir::State="$real/apt" \
        -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Cache="$real/apt/cache" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o APT::Sandbox::User=root
    apt-get "$@" update
    # shellcheck disable=SC2086
    lacking=$(apt-get "$@" -s --reinstall --no-install-recommends \
        install $real_needs | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
    [ -n "$lacking" ]
    # shellcheck disable=SC2086
    (cd "$real/apt" && apt-get "$@" download $lacking $real_alone)
    for package in "$real"/apt/*.deb; do
        dpkg-deb -x "$package" "$real"
    done
    rm -rf "$real/apt" "$real/usr/share/doc" "$real/usr/share/locale"
    echo "$real_named" >"$real/complete"
}
