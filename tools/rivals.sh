# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The rivals of the benchmarks as Debian's unstable suite has them, in a chroot: the
# programs run beside hone on this system, and the benchmarks of libraries are
# built and run there; and ./dev bench convert and reach. No test uses it. Sourced by
# dev: root, say, die, must, need, build, build_packages; after tools/php-chroot.sh.

# The libraries of DPDK have a new name for each of its ABIs, and libdpdk-dev
# depends on all of them: its headers are unpacked without the packages.
rivals_dpdk='eal mempool mempool-ring mempool-stack ring stack telemetry kvargs'
rivals_packages='gcc g++ libc6-dev meson ninja-build pkgconf python3 qemu-utils
    qemu-block-extra libnbd-bin nbdkit pigz zstd xz-utils curl openssl tar gzip
    coreutils libbenchmark-dev libisal-dev libck-dev libjemalloc2 libmimalloc-dev
    libconcurrentqueue-dev libgoogle-perftools-dev liburing-dev liblz4-dev make php-cli php-cgi
    php-dev php-apcu php-igbinary php-msgpack php-memcached php-redis memcached redis-server'

# Sets what the functions of the chroots use.
rivals_place() {
    chroot=$root/build/sysroot/rivals
    complete=$rivals_packages
}

# rivals_chosen ARGUMENT...: prints newest or debian12, as --rivals in the arguments
# says.
rivals_chosen() {
    chosen=newest
    while [ $# -gt 0 ]; do
        case $1 in
        --rivals) chosen=${2:-} ;;
        esac
        shift
    done
    case $chosen in
    newest | debian12) echo "$chosen" ;;
    *) die "bench: --rivals: '$chosen' is not newest or debian12" ;;
    esac
}

# rivals_make: about 2 minutes and 2 GB, once; build/sysroot keeps it.
rivals_make() {
    rivals_place
    if chroot_complete; then
        return
    fi
    chroot_unmount
    rm -rf --one-file-system "$chroot"
    mkdir -p "$chroot"
    chroot_own_mounts debootstrap --variant=minbase sid "$chroot" \
        "$(debian_mirror)"
    cp /etc/resolv.conf "$chroot/etc/"
    # The index of a mirror may be older than its Release file allows.
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run env DEBIAN_FRONTEND=noninteractive sh -euc '
        apt-get -q -o Acquire::Check-Valid-Until=false update
        # No server starts when its package is installed.
        printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d
        chmod 755 /usr/sbin/policy-rc.d
        libraries=
        for name in $1; do
            libraries="$libraries $(apt-cache pkgnames "librte-$name" |
                grep -x "librte-$name-\?[0-9]*")"
        done
        apt-get -q -y --no-install-recommends install $0 $libraries
        cd /tmp
        # yac and APCu conflict, and one of them cannot be installed.
        php=$(basename "$(readlink -f "$(command -v php)")")
        for name in libdpdk-dev "$php-yac"; do
            apt-get -q -o APT::Sandbox::User=root download "$name"
            dpkg-deb -x "$name"_*.deb /
        done
        rm ./*.deb
        apt-get clean' "$rivals_packages" "$rivals_dpdk"
    echo "$complete" >"$chroot/complete"
}

# rivals_sources: what is built in the chroot.
rivals_sources() {
    rivals_place
    mkdir -p "$chroot/hone"
    for each in include src packaging bench php tools/phpext.sh meson.build \
        meson_options.txt; do
        rm -rf "$chroot/hone/${each##*/}"
        # Only what has changed is compiled again.
        cp -Rp "$root/$each" "$chroot/hone/"
    done
}

# rivals_php: the extension for the PHP of the chroot, with libhone inside.
rivals_php() {
    rivals_sources
    chroot_run sh -euc '
        cd /hone
        [ -f build-php/build.ninja ] || meson setup build-php \
            --buildtype=release -Dtools=false --prefix=/hone/libhone \
            -Dlibdir=lib
        meson install -C build-php
        sh phpext.sh build php ext php-config --with-hone=/hone/libhone \
            --enable-hone-static'
}

# rivals_build: the benchmarks of libraries, by the compiler of the chroot.
rivals_build() {
    rivals_sources
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        cd /hone
        [ -f build/build.ninja ] || meson setup build --buildtype=release \
            -Dtools=false -Dbenchmarks=true
        ninja -C build'
}

# rivals_needs: what need() takes for $rivals. Without root, rivals_ready says what
# to do.
rivals_needs() {
    if [ "$rivals" = newest ] && [ "$(id -u)" -eq 0 ]; then
        echo debootstrap /proc
    fi
}

# rivals_ready: makes the chroot, or ends the command with what is in the way.
rivals_ready() {
    rivals_place
    obstacle=$(chroot_obstacle)
    [ -z "$obstacle" ] || die "bench: there can be no chroot with the newest \
rivals: $obstacle; add: --rivals debian12"
    must rivals rivals_make
}

# rivals_run COMMAND...: on this system. In the chroot are /proc, /dev/shm, /sys, which
# DPDK reads, and under their names /tmp and bench/, which the PHP of the chroot
# reads.
rivals_run() {
    rivals_place
    mkdir -p "$chroot$root/bench"
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare -m sh -c '
        mount --bind /tmp "$0/tmp"
        mount --bind "$1/bench" "$0$1/bench"
        shift
        mount -t proc proc "$0/proc"
        mount -t sysfs sysfs "$0/sys"
        mount -t tmpfs tmpfs "$0/dev/shm"
        exec "$@"' "$chroot" "$root" "$@"
}

# rivals_option: makes what $rivals asks for, and sets $rivals_root to the option of
# convert.py that names it.
rivals_option() {
    rivals_root=
    if [ "$rivals" = newest ]; then
        rivals_ready
        rivals_root=--root=build/sysroot/rivals
    fi
}

bench_convert() {
    script_arguments 'bench convert' bench/convert/convert.py "$@"
    need "$build_packages" libisal-dev e2fsprogs xfsprogs qemu-utils libnbd-bin \
        pigz strace util-linux "$(rivals_needs)"
    rivals_option
    must build build bench-convert gcc --buildtype=release
    python3 bench/convert/convert.py --hone "$root/build/bench-convert/cli/hone" \
        --dir build/bench-convert-images ${rivals_root:+"$rivals_root"} "$@"
}

bench_reach() {
    script_arguments 'bench reach' bench/convert/convert.py "$@"
    # qemu-block-extra: qemu-img reads http://.
    need "$build_packages" e2fsprogs qemu-utils qemu-block-extra libnbd-bin pigz \
        nginx-light curl openssl xz-utils zstd util-linux "$(rivals_needs)"
    rivals_option
    must build build bench-convert gcc --buildtype=release
    python3 bench/convert/convert.py --reach \
        --hone "$root/build/bench-convert/cli/hone" \
        --dir build/bench-convert-images ${rivals_root:+"$rivals_root"} "$@"
}
