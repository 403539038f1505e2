# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# ./dev php, and what its tests build. Sourced by dev: root, log, stage, build.

php_packages="$build_packages make php8.2-dev php8.2-cli php8.2-cgi"

# Debian's PHP, or whatever PHP a system without Debian's names has.
php_config() {
    if command -v php-config8.2 >/dev/null; then
        echo php-config8.2
    else
        echo php-config
    fi
}

# Where the extension is built: build/php/8.2.
php_work() {
    printf '%s/build/php/%s' "$root" \
        "$("$(php_config)" --version | cut -d. -f1,2)"
}

# The library as a user would install it, with a prefix below build/.
php_libhone() {
    build php-libhone gcc --buildtype=release -Dtools=false \
        --prefix="$root/build/php/libhone" -Dlibdir=lib
    meson install -C build/php-libhone --no-rebuild
}

# With libhone in it: one file that may be loaded from where it is.
php_build() {
    sh tools/phpext.sh build php "$(php_work)" "$(php_config)" \
        --with-hone="$root/build/php/libhone" --enable-hone-static "$@"
}

# php_tests JUNIT ARGUMENT...
php_tests() {
    sh tools/phpext.sh test "$(php_work)" "$(php_config)" "$@"
}

# The bars of a test run, and what to write where.
php_tell() {
    sed -n 's/^\(Tests \(passed\|failed\|skipped\) *:  *[0-9]*\).*/\1/p' \
        "$log/php-test.log"
    php=$("$(php_config)" --php-binary)
    line=extension=$(php_work)/modules/hone.so
    cat <<EOF

To use it, add this line to php.ini ("php --ini" tells where that is):

    $line

or try it first:

    $php -d $line -r 'print_r(Hone\\cpu());'
EOF
}

php_command() {
    need "$php_packages"
    must php-libhone php_libhone
    must php-build php_build
    must php-test php_tests "$root/build/php/tests.xml"
    php_tell
}
