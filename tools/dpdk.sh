# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# DPDK, the rival of copy and mempool, as Debian ships it. Sourced by dev: root.

# shellcheck source=tools/debs.sh
. tools/debs.sh

# libdpdk-dev would install more than 200 packages, drivers for the most part.
# Its headers, and the few libraries that a memory pool needs, are unpacked
# below build/ instead.
dpdk=$root/build/sysroot/dpdk
dpdk_libraries='librte-eal23 librte-kvargs23 librte-mempool23
    librte-mempool-ring23 librte-mempool-stack23 librte-ring23 librte-stack23
    librte-telemetry23'

# Where pkg-config finds DPDK: empty if it is installed, or cannot be had.
dpdk_pkg_config_path() {
    pkg-config --exists libdpdk-libs ||
        find "$dpdk" -name libdpdk-libs.pc -exec dirname {} \; 2>/dev/null || :
}

dpdk_unpack() {
    if pkg-config --exists libdpdk-libs || [ -f "$dpdk/complete" ]; then
        return
    fi
    debs_unpack "$dpdk" "$dpdk_libraries" libdpdk-dev
    # 50 MB of static libraries that nothing links.
    find "$dpdk" -name '*.a' -delete
    find "$dpdk" -name 'libdpdk*.pc' \
        -exec sed -i "s|^prefix=/usr|prefix=$dpdk/usr|" {} +
    : >"$dpdk/complete"
}

# Never required: without it, the benchmarks have a rival less, and say so.
dpdk_stage() {
    stage dpdk dpdk_unpack
    if [ "$stage_status" -ne 0 ]; then
        say 'DPDK, a rival: not run, since it could not be unpacked'
    fi
}
