# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# The versions of PHP that Debian 12 lacks: for each a chroot in which libhone and
# the extension are built and tested. Sourced by dev, which sets root, log, stage,
# record; after tools/php.sh.

# Longer than the slowest download that a test run should wait for, and less than
# $stage_limit: after this time the stages are skipped, and do not fail.
chroot_patience=600
ubuntu_mirror=http://archive.ubuntu.com/ubuntu

# chroot_of VERSION: what differs, and the chroot. $later has the packages of
# Debian's experimental suite, which debootstrap cannot choose.
chroot_of() {
    packages=make,gcc,libc6-dev,meson,ninja-build,pkgconf,liblz4-dev
    php=php$1-dev,php$1-cli,php$1-cgi
    later=
    opcache=$php_opcache
    case $1 in
    8.3) suite=noble packages=$packages,$php ;;
    # The keyring is for the row above, and Debian 12 has none.
    8.4) suite=trixie packages=$packages,$php,ubuntu-keyring ;;
    # opcache is a part of this PHP.
    8.5 | 8.6)
        suite=sid later=$php
        opcache=${php_opcache#*zend_extension=opcache}
        ;;
    esac
    base=$root/build/sysroot/$suite
    # Beside each other: a mirror may have only one of 8.5 and 8.6.
    chroot=$base${later:+-$1}
    complete=$packages${later:+,$later}
}

# In a mount namespace of its own, if the system allows one: the mounts for COMMAND
# end with COMMAND, even if it is killed.
chroot_own_mounts() {
    if unshare -m true 2>/dev/null; then
        unshare -m "$@"
    else
        "$@"
    fi
}

# Removes the mounts that a killed debootstrap leaves without a namespace.
chroot_unmount() {
    for each in proc sys dev/pts dev/shm; do
        umount "$chroot/$each" 2>/dev/null || :
    done
}

# The mirror of this system, if debootstrap can use it.
debian_mirror() {
    # shellcheck disable=SC2016 # apt expands it
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        'Origin: Debian' 2>/dev/null | grep -m 1 '^https\?:.*/debian/\?$' ||
        echo http://deb.debian.org/debian
}

# chroot_complete [CHROOT PACKAGES]
chroot_complete() {
    [ "$(cat "${1:-$chroot}/complete" 2>/dev/null)" = "${2:-$complete}" ]
}

# The reason why there can be no chroot; nothing if there is one or may be one.
chroot_obstacle() {
    if [ "$(id -u)" -ne 0 ]; then
        echo 'only root may make and enter a chroot'
    elif ! chroot_complete && ! command -v debootstrap >/dev/null; then
        echo 'debootstrap is not installed'
    elif ! chroot_complete && [ ! -e /proc/self ]; then
        echo '/proc is not mounted, and debootstrap needs it'
    fi
}

# chroot_failed STATUS WHAT LOG: prints the reason as the last line.
chroot_failed() {
    chroot_unmount
    if [ "$1" -eq 124 ]; then # the status of timeout
        echo "$2 took over $chroot_patience s"
    else
        echo "$2 failed: $(tail -n 1 "$3")"
    fi
    return 1
}

# bootstrap ARGUMENT...: in the foreground, so that an interrupt reaches it.
bootstrap() {
    chroot_own_mounts timeout --foreground "$chroot_patience" debootstrap \
        --variant=minbase --include="$packages" "$@" ||
        chroot_failed "$?" debootstrap "$chroot/debootstrap/debootstrap.log"
}

# Installs $later and what it needs. A mirror may be older than its Release file
# allows; debootstrap accepts that, too.
chroot_later() {
    echo "deb $(debian_mirror) experimental main" \
        >"$chroot/etc/apt/sources.list.d/experimental.list"
    cp /etc/resolv.conf "$chroot/etc/"
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run timeout --foreground "$chroot_patience" sh -c '
        apt-get -q -o Acquire::Check-Valid-Until=false update &&
        DEBIAN_FRONTEND=noninteractive apt-get -q -y \
            --no-install-recommends install $(echo "$0" | tr , " ")' \
        "$later" >"$chroot/later.log" 2>&1 ||
        chroot_failed "$?" apt-get "$chroot/later.log"
}

# chroot_base VERSION: what the chroots of 8.5 and 8.6 begin with is made once.
chroot_base() {
    chroot=$base
    if ! chroot_complete "$base" "$packages"; then
        chroot_unmount
        rm -rf --one-file-system "$base"
        mkdir -p "$base"
        bootstrap "$suite" "$base" "$(debian_mirror)"
        echo "$packages" >"$base/complete"
    fi
    chroot_of "$1"
    cp -a --one-file-system "$base/." "$chroot"
    rm "$chroot/complete"
}

# chroot_make VERSION: about 75 s and up to 1 GB, once; build/sysroot keeps it.
chroot_make() {
    chroot_of "$1"
    if chroot_complete; then
        return
    fi
    chroot_unmount
    rm -rf --one-file-system "$chroot"
    mkdir -p "$chroot"
    case $suite in
    # debootstrap of Debian 12 has no script of that name; all are the same.
    noble)
        bootstrap --components=main,universe --keyring="$root/build/sysroot/\
trixie/usr/share/keyrings/ubuntu-archive-keyring.gpg" \
            noble "$chroot" "$ubuntu_mirror" gutsy
        ;;
    sid)
        chroot_base "$1"
        chroot_later
        ;;
    *) bootstrap "$suite" "$chroot" "$(debian_mirror)" ;;
    esac
    rm -rf "$chroot"/var/cache/apt/archives/*.deb "$chroot"/usr/share/doc
    echo "$complete" >"$chroot/complete"
}

# chroot_run COMMAND...: in the chroot; with /proc if possible, as users of PHP have
# it.
chroot_run() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_own_mounts sh -c '
        if [ -z "$(ls -A "$0/proc")" ] && unshare -m true 2>/dev/null; then
            mount -t proc proc "$0/proc" || :
        fi
        exec chroot "$0" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
            HONE_JOBS="${HONE_JOBS:-}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            "$@"' "$chroot" "$@"
}

# chroot_build VERSION: copies the sources as they are now, builds and installs
# libhone, and builds the extension with it, all by the tools of the chroot. Before,
# a clean export is built and loaded without libhone.
chroot_build() {
    chroot_of "$1"
    rm -rf "$chroot/hone"
    mkdir "$chroot/hone"
    for each in include src packaging php tools/phpext.sh meson.build \
        meson_options.txt; do
        cp -R "$root/$each" "$chroot/hone/"
    done
    mkdir "$chroot/hone/export"
    for each in include src php packaging/extension.sh; do
        cp -R "$root/$each" "$chroot/hone/export/"
    done
    mkdir "$chroot/hone/bench"
    cp -R "$root/bench/args" "$chroot/hone/bench/"
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        cd /hone
        rm -rf /usr/lib/libhone.* /usr/lib/pkgconfig/hone.pc /usr/include/hone
        sh export/extension.sh "php-config$0" export CFLAGS=-O0
        meson setup build --buildtype=release -Dtools=false --prefix=/usr \
            -Dlibdir=lib
        meson install -C build
        sh phpext.sh build php work "php-config$0" --with-hone' "$1"
}

# chroot_tests VERSION JUNIT ARGUMENT...
chroot_tests() {
    chroot_of "$1"
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -c 'cd /hone && exec sh phpext.sh test work \
        "php-config$0" "$@"' "$@"
}

chroot_args() {
    chroot_of "$1"
    chroot_run sh /hone/bench/args/compare.sh /hone/args "php-config$1"
}

# skip_stages REASON STAGE...
skip_stages() {
    reason=$1
    shift
    for name; do
        stage "$name" echo "1..0 # SKIP $reason"
        record tap "$log/$name.log"
    done
}

chroot_opcache() {
    chroot_of "$1"
    # shellcheck disable=SC2086
    chroot_tests "$1" /hone/opcache.xml $opcache work/tests
}

# PHP 8.3 stands between 8.2 and 8.4, which have opcache and arguments too.
chroot_stage() {
    chroot_build "$1"
    set -- "$1" "chroot_tests $1 /hone/tests.xml" "chroot_opcache $1" "chroot_args $1"
    [ "$1" != 8.3 ] || set -- "$1" "$2"
    shift
    steps "$@"
}

# test_in_chroot VERSION: the stage phpNN.
test_in_chroot() {
    chroot_of "$1"
    number=php$(echo "$1" | tr -d .)
    obstacle=$(chroot_obstacle)
    if [ -z "$obstacle" ]; then
        bounded "$number-chroot" chroot_make "$1"
        [ "$stage_status" -eq 0 ] || obstacle=$(tail -n 1 \
            "$log/$number-chroot.log")
    fi
    if [ -n "$obstacle" ]; then
        skip_stages "no chroot with PHP $1: $obstacle" "$number"
        return
    fi
    bounded "$number" chroot_stage "$1"
    record pytest "$chroot/hone/tests.xml"
    [ "$1" = 8.3 ] || record pytest "$chroot/hone/opcache.xml"
}

# One after the other: the chroot of PHP 8.4 has the keyring for that of 8.3.
test_php_chroots() {
    for each_version in 8.4 8.5 8.6 8.3; do
        test_in_chroot "$each_version"
    done
}
