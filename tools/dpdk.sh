# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# DPDK, the rival of copy and mempool, as Debian ships it. Sourced by dev: root.

# libdpdk-dev would install more than 200 packages, drivers for the most part.
# Its headers, and the few libraries that a memory pool needs, are unpacked
# below build/ instead: this needs no rights and leaves the system as it is.
dpdk=$root/build/sysroot/dpdk
dpdk_libraries='librte-eal23 librte-kvargs23 librte-mempool23
    librte-mempool-ring23 librte-mempool-stack23 librte-ring23 librte-stack23
    librte-telemetry23'

# Where pkg-config finds DPDK: empty if it is installed, or cannot be had.
dpdk_pkg_config_path() {
    pkg-config --exists libdpdk-libs ||
        find "$dpdk" -name libdpdk-libs.pc -exec dirname {} \; 2>/dev/null || :
}

# An index of our own, which may be newer than the system's and needs no root,
# but the system's list of what is installed: these libraries are unpacked even
# if they are there, what they depend on only if not. apt checks signatures.
dpdk_unpack() {
    if pkg-config --exists libdpdk-libs || [ -f "$dpdk/complete" ]; then
        return
    fi
    rm -rf "$dpdk"
    mkdir -p "$dpdk/apt/lists/partial" "$dpdk/apt/cache/archives/partial"
    set -- -q -o Dir::State="$dpdk/apt" \
        -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Cache="$dpdk/apt/cache" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o APT::Sandbox::User=root
    apt-get "$@" update
    # shellcheck disable=SC2086
    lacking=$(apt-get "$@" -s --reinstall --no-install-recommends \
        install $dpdk_libraries | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
    [ -n "$lacking" ]
    # shellcheck disable=SC2086
    (cd "$dpdk/apt" && apt-get "$@" download libdpdk-dev $lacking)
    for package in "$dpdk"/apt/*.deb; do
        dpkg-deb -x "$package" "$dpdk"
    done
    # 50 MB of static libraries that nothing links.
    find "$dpdk" -name '*.a' -delete
    find "$dpdk" -name 'libdpdk*.pc' \
        -exec sed -i "s|^prefix=/usr|prefix=$dpdk/usr|" {} +
    rm -rf "$dpdk/apt"
    : >"$dpdk/complete"
}

# Never required: without it, the benchmarks have a rival less, and say so.
dpdk_stage() {
    stage dpdk dpdk_unpack
    if [ "$stage_status" -ne 0 ]; then
        say 'DPDK, a rival: not run, since it could not be unpacked'
    fi
}
