# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# DPDK as Debian ships it: a rival of copy, mempool and ring. Sourced by dev,
# which sets root.

# shellcheck source=tools/debs.sh
. tools/debs.sh

# libdpdk-dev would install more than 200 packages, most of them drivers. So its
# headers, and the few libraries that a memory pool needs, are unpacked below
# build/.
dpdk=$root/build/sysroot/dpdk
# apt takes it for a regular expression: a package ends with the number of DPDK's ABI.
dpdk_libraries='^librte-(eal|mempool|mempool-ring|mempool-stack|ring)[0-9]*$'

# Prints the folder of DPDK's .pc files; nothing if DPDK is installed, or not
# available.
dpdk_pkg_config_path() {
    pkg-config --exists libdpdk-libs ||
        find "$dpdk" -name libdpdk-libs.pc -exec dirname {} \; 2>/dev/null || :
}

dpdk_unpack() {
    if pkg-config --exists libdpdk-libs || [ -f "$dpdk/complete" ]; then
        return
    fi
    debs_unpack "$dpdk" "$dpdk_libraries" libdpdk-dev
    # 50 MB of static libraries that no benchmark links.
    find "$dpdk" -name '*.a' -delete
    find "$dpdk" -name 'libdpdk*.pc' \
        -exec sed -i "s|^prefix=/usr|prefix=$dpdk/usr|" {} +
    : >"$dpdk/complete"
}

# dpdk-test, dpdk-testpmd, and the libraries that they are linked with. The
# package dpdk-dev depends on all of DPDK.
dpdk_test=$root/build/sysroot/dpdk-test

dpdk_test_unpack() {
    [ ! -f "$dpdk_test/complete" ] || return 0
    debs_unpack "$dpdk_test" '' dpdk-dev
    # The package of librte_NAME.so.23 is librte-NAME23, or librte-NAME-23 if
    # NAME ends with a digit.
    needed=$(readelf -d "$dpdk_test/usr/bin/dpdk-test" \
        "$dpdk_test/usr/bin/dpdk-testpmd" |
        sed -n 's/.*\[\(librte_[^.]*\)\.so\.\([0-9]*\)\].*/\1 \2/p' |
        tr _ - | sed 's/\([0-9]\) /\1-/;s/ //' | sort -u)
    # What the tests open by name.
    abi=${needed##*[!0-9]}
    needed="$needed librte-net-null$abi librte-mempool-ring$abi
        librte-mempool-stack$abi"
    # shellcheck disable=SC2086
    debs_unpack "$dpdk_test" "$needed" dpdk-dev
    : >"$dpdk_test/complete"
}

# The driver and what its tests run.
dpdk_build() {
    dpdk_unpack
    dpdk_test_unpack
    build dpdk gcc --buildtype=release -Dtools=false -Ddpdk=true \
        -Dpkg_config_path="$(dpdk_pkg_config_path)"
}

# bench_dpdk OPTION...: ./dev bench dpdk.
bench_dpdk() {
    script_arguments 'bench dpdk' bench/dpdk/dpdk.py "$@"
    need "$build_packages" g++ binutils libbenchmark-dev
    must dpdk dpdk_unpack
    must dpdk-test dpdk_test_unpack
    must build build bench-dpdk gcc --buildtype=release -Dbenchmarks=true \
        -Dtools=false -Ddpdk=true -Dpkg_config_path="$(dpdk_pkg_config_path)"
    python3 bench/dpdk/dpdk.py --build build/bench-dpdk --root "$dpdk_test" \
        "$@"
}

# The driver beside the DPDK of another release of Debian, in a chroot that
# build/sysroot keeps: 24.11 of trixie, and what sid has.
dpdk_chroot() {
    chroot=$root/build/sysroot/dpdk-$1
    # shellcheck disable=SC2034 # for bootstrap
    packages=gcc,libc6-dev,meson,ninja-build,pkgconf,python3-hypothesis
    packages=$packages,python3-pytest
    complete=$packages
}

# dpdk_bootstrap SUITE
dpdk_bootstrap() {
    dpdk_chroot "$1"
    if chroot_complete; then
        return
    fi
    chroot_unmount
    rm -rf --one-file-system "$chroot"
    mkdir -p "$chroot"
    bootstrap "$1" "$chroot" "$(debian_mirror)"
    echo "$complete" >"$chroot/complete"
}

# dpdk_in_chroot SUITE: the tests of the stage bench, with what is there now.
dpdk_in_chroot() {
    dpdk_chroot "$1"
    cp /etc/resolv.conf "$chroot/etc/"
    mkdir -p "$chroot/hone"
    for each in dev include src packaging integrations tests tools meson.build \
        meson_options.txt; do
        rm -rf "$chroot/hone/$each"
        cp -Rp "$root/$each" "$chroot/hone/"
    done
    # The index of a mirror may be older than its Release file allows.
    echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/50old"
    # DPDK reads /sys.
    chroot_run sh -euc '
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        cd /hone
        export tier=
        ./dev test --within dpdk_tests'
}

# test_dpdk SUITE: ./dev test dpdk-SUITE.
test_dpdk() {
    need debootstrap /proc root mounts
    must "dpdk-$1-chroot" dpdk_bootstrap "$1"
    must "dpdk-$1" dpdk_in_chroot "$1"
    tail -n 1 "$log/dpdk-$1.log"
}

with_dpdk() {
    HONE_DPDK=$root/build/dpdk
    HONE_DPDK_ROOT=$dpdk_test
    export HONE_DPDK HONE_DPDK_ROOT
    "$@"
}

# Optional: without DPDK the benchmarks have one rival less, and print that.
dpdk_stage() {
    stage dpdk dpdk_unpack
    if [ "$stage_status" -ne 0 ]; then
        say 'not run: DPDK, since it could not be unpacked'
    fi
}
