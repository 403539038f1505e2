# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# PHP with threads (ZTS), which Debian has only as a source: it is built below
# build/, with the extensions that the tests use. Sourced by dev, which sets root,
# jobs, log, stage, record, staged; after tools/php-chroot.sh.

zts=$root/build/sysroot/php-zts
zts_config=$zts/usr/bin/php-config
zts_work=$root/build/php/zts
# A shared libphp would need each file compiled twice. At -O0, PHP is compiled in 139
# instead of 249 s of CPU time, but its own functions then need more stack: to
# serialize a list of 3,000 objects takes over 8 MiB.
zts_options='--disable-all --enable-zts --disable-phpdbg --enable-embed=static
    --enable-phar --enable-posix --enable-pcntl'

zts_complete() {
    [ "$(cat "$zts/complete" 2>/dev/null)" = "$zts_options" ]
}

# PHP's own files, without the patches of Debian, by an index of our own. Only
# this suite: the mirrors drop the sources of older security updates. Prints the
# reason of an error as the last line.
zts_source() {
    if zts_complete; then
        return
    fi
    rm -rf "$zts"
    mkdir -p "$zts/apt/lists/partial" "$zts/apt/archives/partial" "$zts/src"
    echo "deb-src $(debian_mirror) bookworm main" >"$zts/apt/sources.list"
    set -- -q -o Dir::State="$zts/apt" -o Dir::Cache="$zts/apt" \
        -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Etc::SourceList="$zts/apt/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Acquire::Languages=none \
        -o APT::Sandbox::User=root
    apt-get "$@" --error-on=any update
    (cd "$zts/apt" && apt-get "$@" source --download-only --tar-only php8.2)
    tar -xJf "$zts"/apt/php8.2_*.orig.tar.xz -C "$zts/src" --strip-components=1
}

zts_php() {
    if zts_complete; then
        return
    fi
    # shellcheck disable=SC2086
    (cd "$zts/src" &&
        ./configure -q --prefix="$zts/usr" $zts_options CFLAGS='-O1 -w')
    make -s -C "$zts/src" -j "$jobs"
    make -s -C "$zts/src" install-sapi install-binaries install-build \
        install-headers install-programs
    rm -rf "$zts/src" "$zts/apt"
    echo "$zts_options" >"$zts/complete"
}

zts_build() {
    zts_php
    libhone_moved "$zts/libhone"
    sh tools/phpext.sh build php "$zts_work" "$zts_config" \
        --with-hone="$zts/libhone" --enable-hone-static
    rm -rf "$zts/export"
    mkdir "$zts/export"
    cp -R include src php "$zts/export"
    PKG_CONFIG_LIBDIR=/nonexistent sh packaging/extension.sh "$zts_config" \
        "$zts/export" CFLAGS=-O0
}

zts_tests() {
    sh tools/phpext.sh test "$zts_work" "$zts_config" "$results/php-zts.xml"
}

zts_threads() {
    tap php-zts sh tests/php/threads/check.sh build/php/zts-threads "$zts_config" \
        "$zts_work/modules/hone.so"
}

zts_stage() {
    zts_build
    steps zts_tests zts_threads
}

test_php_zts() {
    bounded php-zts-source zts_source
    if [ "$stage_status" -ne 0 ]; then
        skip_stages "no source of PHP: $(tail -n 1 "$log/php-zts-source.log")" php-zts
        return
    fi
    bounded php-zts zts_stage
    record pytest "$results/php-zts.xml" tap "$results/php-zts.tap"
}
