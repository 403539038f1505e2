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
dpdk_libraries='librte-eal23 librte-kvargs23 librte-mempool23
    librte-mempool-ring23 librte-mempool-stack23 librte-ring23 librte-stack23
    librte-telemetry23'

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

# Optional: without DPDK the benchmarks have one rival less, and print that.
dpdk_stage() {
    stage dpdk dpdk_unpack
    if [ "$stage_status" -ne 0 ]; then
        say 'not run: DPDK, since it could not be unpacked'
    fi
}
