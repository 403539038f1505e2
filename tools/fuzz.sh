# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # dev sets the variables
# ./dev fuzz. Sourced by dev: stage, must, need, build.

# fuzz_names FILE: the targets of tests/PART/NAME_fuzz.c, each TARGET() of it or NAME.
fuzz_names() {
    sed -n 's/^TARGET(\(.*\))$/\1/p' "$1" | grep . || basename "$1" _fuzz.c
}

# fuzz_clang WORD...: the compiler, for the part $part.
fuzz_clang() {
    # shellcheck disable=SC2046 # words of options
    clang -std=c11 -D_GNU_SOURCE -DHONE_LZ4 -Iinclude "-Isrc/$part" -Icli -Iimage \
        -Iimage/include -Iphp/cache/snapshot -Iphp/cache/values \
        $("$(php_config)" --includes | sed 's/-I/-isystem /g') "$@"
}

# Whether the targets compile: a stage of ./dev test, which runs none of them.
fuzz_compile() {
    for each in tests/*/*_fuzz.c; do
        part=$(basename "$(dirname "$each")")
        fuzz_clang -Wall -Werror=implicit -fsyntax-only "$each"
    done
}

# fuzz_target FILE NAME: build and run this target.
fuzz_target() {
    part=$(basename "$(dirname "$1")")
    name=$2
    entry=
    ! grep -q '^TARGET(' "$1" || entry="-Wl,--defsym=LLVMFuzzerTestOneInput=fuzz_$name"
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus"
    with=build/fuzz/src/libhone.a
    longest=8192
    # For a target whose branches libFuzzer does not see.
    keep=
    source=$1
    case $part/$name in
    cli/size) with=cli/text.c ;;
    cache/snapshot) with=php/cache/snapshot/parse.c ;;
    cache/cold)
        source="$source tests/cache/value_text.c"
        for each in build builder cold_read cold_write date graph place text; do
            source="$source php/cache/values/$each.c"
        done
        with="$with $(pkg-config --libs liblz4)"
        ;;
    image/*)
        with="build/fuzz/image/libimage.a $with
            $(pkg-config --libs libdeflate libzstd zlib)
            $(pkg-config --silence-errors --libs libisal || :)
            $(pkg-config --silence-errors --libs liblzma || :)
            $(echo '#include <bzlib.h>' | clang -E - >/dev/null 2>&1 &&
                echo -lbz2)"
        ;;
    esac
    case $name in
    archive | qcow2 | check | convert | gpt | tables | unpack | vhd | vmdk)
        source="$source tests/image/fake_memory.c"
        ;;
    esac
    case $name in
    qcow2 | check | convert)
        # Extended L2 entries need clusters of 16 KiB.
        longest=131072
        python3 -B tests/image/seeds.py "$corpus"
        ;;
    archive)
        longest=32768
        python3 -B tests/image/seeds.py --archives "$corpus"
        ;;
    compressed)
        python3 -B tests/image/seeds.py --streams "$corpus"
        keep=-keep_seed=1
        ;;
    unpack)
        longest=32768
        python3 -B tests/image/seeds.py --packed "$corpus"
        ;;
    vhd)
        longest=131072
        python3 -B tests/image/seeds.py --vhd "$corpus"
        ;;
    vmdk)
        longest=32768
        python3 -B tests/image/seeds.py --vmdk "$corpus"
        ;;
    address)
        python3 -B tests/image/seeds.py --addresses "$corpus"
        ;;
    fields)
        python3 -B tests/image/seeds.py --fields "$corpus"
        ;;
    sums)
        python3 -B tests/image/seeds.py --lists "$corpus"
        ;;
    oci)
        python3 -B tests/image/seeds.py --oci "$corpus"
        ;;
    profile)
        python3 -B tests/image/seeds.py --profiles "$corpus"
        ;;
    esac
    # shellcheck disable=SC2086
    fuzz_clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -o "build/fuzz/$name" $source $with $entry
    "build/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
        -max_len="$longest" ${keep:+"$keep"} \
        -artifact_prefix="build/fuzz/$name-" "$corpus"
}

# fuzz_all SECONDS: every target.
fuzz_all() {
    seconds=$1
    case $seconds in
    '' | *[!0-9]*) die "fuzz: '$seconds' is not a number of seconds" ;;
    esac
    need "$build_packages" clang "libclang-rt-$clang_version-dev" qemu-utils xz-utils zstd \
        "php$php_version-dev" liblz4-dev
    must fuzz-build build fuzz clang --buildtype=debug \
        -Doptimization=1 -Db_lundef=false \
        -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link \
        -Dc_link_args=-fsanitize=fuzzer-no-link
    failed=0
    for target in tests/*/*_fuzz.c; do
        for each in $(fuzz_names "$target"); do
            stage "fuzz-$each" fuzz_target "$target" "$each"
            [ "$stage_status" -eq 0 ] || failed=1
        done
    done
    return "$failed"
}
