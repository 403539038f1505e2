# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev and tools/test.sh set
# The stages of other CPU families: built by a cross compiler, run by qemu-user.
# Sourced by tools/test.sh.

# sysroot ARCHITECTURE: Debian has no cross package of cmocka. The package of the
# other architecture is unpacked below build/, not installed.
sysroot() {
    dir=$root/build/sysroot/$1
    [ ! -f "$dir/usr/include/cmocka.h" ] || return 0
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    if [ "$1" = riscv64 ]; then
        cmocka_of_source "$dir"
    else
        debs_unpack "$dir" '' 'libcmocka-dev libcmocka0' \
            -o APT::Architecture="$1" -o APT::Architectures="$1" \
            -o Dir::State::status=/dev/null
    fi
}

# cmocka_of_source FOLDER: Debian 12 has no packages for riscv64, only compilers.
# A shared library, so that no --wrap of a test's link reaches into it.
cmocka_of_source() {
    debs_source "$1/source" cmocka
    tar -xf "$1"/source/cmocka_*.orig.tar.xz -C "$1/source" --strip-components=1
    lib=usr/lib/riscv64-linux-gnu
    mkdir -p "$1/$lib/pkgconfig"
    # shellcheck disable=SC2086
    clang-19 --target=riscv64-linux-gnu -O2 -fPIC -shared \
        -o "$1/$lib/libcmocka.so" $cmocka_has \
        -I"$1/source/include" "$1/source/src/cmocka.c"
    printf '%s\n' 'Name: cmocka' 'Description: tests' 'Version: 1.1.5' \
        "Libs: -L/$lib -lcmocka" 'Cflags: -I/usr/include' \
        >"$1/$lib/pkgconfig/cmocka.pc"
    # The header is last: with it, the folder is whole.
    mkdir -p "$1/usr/include"
    cp "$1"/source/include/cmocka*.h "$1/usr/include"
}

# cross_configure NAME DEBIAN-ARCHITECTURE
cross_configure() {
    rm -f "build/$1/meson-logs/"*.json
    sysroot "$2"
    printf "[constants]\nsysroot = '%s'\nsource = '%s'\ngcc = '%s'\n" \
        "$root/build/sysroot/$2" "$root" "$gcc_version" >"build/sysroot/$2.ini"
    configure "$1" gcc --buildtype=release -Dtests=true -Dtools=false \
        --cross-file "build/sysroot/$2.ini" --cross-file "tests/cross/$1.ini"
}

# cross_tests NAME LOG QEMU-CPU FEATURES-THAT-MUST-RUN OPTION...: Meson compiles
# what these tests need.
cross_tests() {
    build_dir=$1
    log_base=$2
    QEMU_CPU=$3
    HONE_MUST_RUN=$4
    export QEMU_CPU HONE_MUST_RUN
    shift 4
    meson_tests "$build_dir" "$log_base" --timeout-multiplier 4 "$@"
}

# Of aarch64, ./dev test has the variants: the rest is the same code as on x86-64.
neon_tests() {
    cross_configure aarch64 arm64
    cross_tests aarch64 neon max,sve=off neon zero-neon copy-neon
}

# sve_tests BITS OPTION...: QEMU runs the code with the longest length that is on.
sve_tests() {
    bits=$1
    shift
    cpu=max
    for each in 128 256 512; do
        [ "$each" -gt "$bits" ] || cpu=$cpu,sve$each=on
    done
    cross_tests aarch64 "sve$bits" "$cpu" neon,sve "$@"
}

s390x_tests() {
    cross_configure s390x s390x
    cross_tests s390x testlog max ''
}

# All unit tests of the portable code, on a CPU without vectors. No tests of the
# cache: its mutexes are robust, and glibc makes none on riscv64 without
# set_robust_list(), which QEMU does not have.
riscv64_tests() {
    cross_configure riscv64 riscv64
    cross_tests riscv64 rv64 rv64 '' --suite unit --no-suite cache
}

# The tests of src/ with another libc.
musl_tests() {
    musl_configure
    meson_tests musl testlog
}

# Of the tests, those of the variants for SVE alone depend on the length.
cross_all() {
    other_libc=
    [ "$(uname -m)" != x86_64 ] || other_libc=musl_tests
    # shellcheck disable=SC2086
    steps 'sve_tests 128' 'sve_tests 256 zero-sve copy-sve' \
        'sve_tests 512 zero-sve copy-sve' s390x_tests riscv64_tests $other_libc
}

test_neon() {
    bounded neon neon_tests
    record meson build/aarch64/meson-logs/neon.json
    [ -n "$all" ] || return 0
    bounded cross cross_all
    for each in aarch64/meson-logs/sve128 aarch64/meson-logs/sve256 \
        aarch64/meson-logs/sve512 s390x/meson-logs/testlog \
        riscv64/meson-logs/rv64; do
        record meson "build/$each.json"
    done
    [ "$(uname -m)" != x86_64 ] ||
        record meson build/musl/meson-logs/testlog.json
}
