# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# PHP 8.4, which Debian 12 lacks: a chroot of Debian 13 in which libhone and
# the extension are built and tested. Sourced by dev: root, log, stage, record.

trixie=$root/build/sysroot/trixie
trixie_packages=php8.4-dev,php8.4-cli,php8.4-cgi,make,gcc,libc6-dev,meson,\
ninja-build,pkgconf
# Longer than the slowest download that is worth waiting for in a test run, and
# less than $stage_limit: to give up is to skip, and no failure.
trixie_patience=600

# In a mount namespace of its own where that is allowed: whatever is mounted
# for COMMAND is gone with it, even if it is killed.
trixie_own_mounts() {
    if unshare -m true 2>/dev/null; then
        unshare -m "$@"
    else
        "$@"
    fi
}

# What a debootstrap that was killed may have left, where it had to be run
# without a namespace.
trixie_unmount() {
    for each in proc sys dev/pts dev/shm; do
        umount "$trixie/$each" 2>/dev/null || :
    done
}

# The mirror that this system uses, if debootstrap can.
trixie_mirror() {
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Origin: Debian' 2>/dev/null | grep -m 1 '^https\?:.*/debian/\?$' ||
        echo http://deb.debian.org/debian
}

trixie_complete() {
    [ "$(cat "$trixie/complete" 2>/dev/null)" = "$trixie_packages" ]
}

# Why there can be no chroot; nothing if there is one or may be one.
trixie_obstacle() {
    if [ "$(id -u)" -ne 0 ]; then
        echo 'not root, who alone may make and enter a chroot'
    elif ! trixie_complete && ! command -v debootstrap >/dev/null; then
        echo 'debootstrap is not installed'
    elif ! trixie_complete && [ ! -e /proc/self ]; then
        echo '/proc is not mounted, without which debootstrap fails'
    fi
}

# trixie_failed STATUS: why, on the last line.
trixie_failed() {
    trixie_unmount
    if [ "$1" -eq 124 ]; then # timeout's own
        echo "debootstrap took over $trixie_patience s"
    else
        echo "debootstrap failed: $(tail -n 1 \
            "$trixie/debootstrap/debootstrap.log")"
    fi
    return 1
}

# About 75 s and 700 MB, once; build/sysroot keeps it.
trixie_make() {
    if trixie_complete; then
        return
    fi
    trixie_unmount
    rm -rf --one-file-system "$trixie"
    mkdir -p "$trixie"
    # In the foreground, so that an interrupt reaches it.
    trixie_own_mounts timeout --foreground "$trixie_patience" debootstrap \
        --variant=minbase --include="$trixie_packages" \
        trixie "$trixie" "$(trixie_mirror)" || trixie_failed "$?"
    rm -rf "$trixie"/var/cache/apt/archives/*.deb "$trixie"/usr/share/doc
    echo "$trixie_packages" >"$trixie/complete"
}

# trixie_run COMMAND...: in the chroot, with /proc where it can be had, since
# PHP's users have it.
trixie_run() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    trixie_own_mounts sh -c '
        if [ -z "$(ls -A "$0/proc")" ] && unshare -m true 2>/dev/null; then
            mount -t proc proc "$0/proc" || :
        fi
        exec chroot "$0" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
            HONE_JOBS="${HONE_JOBS:-}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            "$@"' "$trixie" "$@"
}

# The sources as they are now, libhone built and installed, the extension
# against it: all of it by the chroot's own tools.
php84_build() {
    rm -rf "$trixie/hone"
    mkdir "$trixie/hone"
    for each in include src packaging php tools/phpext.sh meson.build \
        meson_options.txt; do
        cp -R "$root/$each" "$trixie/hone/"
    done
    trixie_run sh -euc '
        cd /hone
        meson setup build --buildtype=release -Dtools=false --prefix=/usr -Dlibdir=lib
        meson install -C build
        sh phpext.sh build php work php-config8.4'
}

php84_tests() {
    junit=$1
    shift
    trixie_run sh -c 'cd /hone && exec sh phpext.sh test work \
        php-config8.4 "$@"' sh "/hone/$junit" "$@"
}

# php84_skip REASON STAGE...
php84_skip() {
    reason=$1
    shift
    for name; do
        stage "$name" echo "1..0 # SKIP $reason"
        record tap "$log/$name.log"
    done
}

test_php84() {
    obstacle=$(trixie_obstacle)
    if [ -z "$obstacle" ]; then
        bounded php84-chroot trixie_make
        [ "$stage_status" -eq 0 ] || obstacle=$(tail -n 1 \
            "$log/php84-chroot.log")
    fi
    if [ -n "$obstacle" ]; then
        php84_skip "no chroot with PHP 8.4: $obstacle" php84-build php84 \
            php84-opcache php84-args
        return
    fi
    bounded php84-build php84_build
    record none -
    bounded php84 php84_tests tests.xml
    record pytest "$trixie/hone/tests.xml"
    # shellcheck disable=SC2086
    bounded php84-opcache php84_tests opcache.xml $php_opcache work/tests
    record pytest "$trixie/hone/opcache.xml"
    bounded php84-args trixie_run sh /hone/php/args/compare.sh /hone/args \
        php-config8.4
    record none -
}
