# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The rivals of the benchmarks as Debian's unstable suite has them, in a chroot: the
# programs run beside hone on this system, and the benchmarks of libraries are
# built and run there. No test uses it. Sourced by dev: root, say, die, must; after
# tools/php-chroot.sh.

# The libraries of DPDK have a new name for each of its ABIs, and libdpdk-dev
# depends on all of them: its headers are unpacked without the packages.
rivals_dpdk='eal mempool mempool-ring mempool-stack ring stack telemetry kvargs'
rivals_packages='gcc g++ libc6-dev meson ninja-build pkgconf python3 qemu-utils
    qemu-block-extra libnbd-bin nbdkit pigz zstd xz-utils curl openssl tar gzip
    coreutils php-cli php-apcu libbenchmark-dev libisal-dev libck-dev libjemalloc2
    libmimalloc-dev libgoogle-perftools-dev liburing-dev'

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
        libraries=
        for name in $1; do
            libraries="$libraries $(apt-cache pkgnames "librte-$name" |
                grep -x "librte-$name-\?[0-9]*")"
        done
        apt-get -q -y --no-install-recommends install $0 $libraries
        cd /tmp
        apt-get -q -o APT::Sandbox::User=root download libdpdk-dev
        dpkg-deb -x libdpdk-dev_*.deb /
        rm libdpdk-dev_*.deb
        apt-get clean' "$rivals_packages" "$rivals_dpdk"
    echo "$complete" >"$chroot/complete"
}

# rivals_build: the benchmarks of libraries, by the compiler of the chroot.
rivals_build() {
    rivals_place
    mkdir -p "$chroot/hone"
    for each in include src packaging bench meson.build meson_options.txt; do
        rm -rf "$chroot/hone/$each"
        # Only what has changed is compiled again.
        cp -Rp "$root/$each" "$chroot/hone/"
    done
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        cd /hone
        [ -f build/build.ninja ] || meson setup build --buildtype=release \
            -Dtools=false -Dbenchmarks=true
        ninja -C build'
}

# rivals_needs ARGUMENT...: what need() takes for the rivals. Without root,
# rivals_ready says what to do.
rivals_needs() {
    if [ "$(rivals_chosen "$@")" = newest ] && [ "$(id -u)" -eq 0 ]; then
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

# rivals_run COMMAND...: on this system, with /proc, /dev/shm and /sys, which DPDK
# reads, in the chroot.
rivals_run() {
    rivals_place
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare -m sh -c '
        mount -t proc proc "$0/proc"
        mount -t sysfs sysfs "$0/sys"
        mount -t tmpfs tmpfs "$0/dev/shm"
        exec "$@"' "$chroot" "$@"
}
