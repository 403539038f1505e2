# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# ./dev bench convert and reach. Sourced by dev: root, build_packages, need, must,
# build, rivals; after tools/rivals.sh.

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
    need "$build_packages" libisal-dev e2fsprogs xfsprogs qemu-utils libnbd-bin \
        pigz strace util-linux "$(rivals_needs)"
    rivals_option
    must build build bench-convert gcc --buildtype=release
    python3 bench/convert/convert.py --hone "$root/build/bench-convert/cli/hone" \
        --dir build/bench-convert-images ${rivals_root:+"$rivals_root"} "$@"
}

bench_reach() {
    # qemu-block-extra: qemu-img reads http://.
    need "$build_packages" e2fsprogs qemu-utils qemu-block-extra libnbd-bin pigz \
        nginx-light curl openssl xz-utils zstd util-linux "$(rivals_needs)"
    rivals_option
    must build build bench-convert gcc --buildtype=release
    python3 bench/convert/convert.py --reach \
        --hone "$root/build/bench-convert/cli/hone" \
        --dir build/bench-convert-images ${rivals_root:+"$rivals_root"} "$@"
}
