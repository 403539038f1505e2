# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The stages of ./dev test. Sourced by dev: root, jobs, log, stage, build.

results=$root/build/results
staged=$root/build/stage

# Every stage that has to leave results, in order.
test_stages='gcc O0 asan tsan aarch64 sve128 sve256 sve512 s390x headers
    consume exports spin php82-build php82-setup php82 php82-opcache
    php82-valgrind php82-args php84-build php84 php84-opcache php84-args
    docs-build docs model cli cli-asan'

# record KIND PATH: what the stage just run leaves for tests/tally.py.
record() {
    printf '%s\t%s\t%s\t%s\n' "$stage_name" "$stage_status" "$1" "$2" \
        >>"$results/stages"
}

# CPU features that a test may not skip on this machine.
must_run() {
    flags=" $(grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null) "
    list=
    case $flags in *' avx2 '*) list=avx2 ;; esac
    case $flags in *' avx512bw '*) list=${list:+$list,}avx512 ;; esac
    printf '%s' "$list"
}

# meson_tests DIR LOG OPTION...: run the tests of a build, results in LOG.json.
meson_tests() {
    dir=build/$1
    base=$2
    shift 2
    rm -f "$dir/meson-logs/$base"*
    meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$base" \
        --num-processes "$jobs" "$@"
}

# build_and_test NAME COMPILER OPTION...
build_and_test() {
    rm -f "build/$1/meson-logs/testlog"*
    build "$@" -Dtests=true
    # shellcheck disable=SC2086
    meson_tests "$1" testlog $only
}

# meson_stage NAME COMPILER OPTION...: a stage of its own for one build.
meson_stage() {
    stage "$1" build_and_test "$@"
    record meson "build/$1/meson-logs/testlog.json"
}

# sysroot ARCHITECTURE: Debian has no cross package of cmocka. That of the other
# architecture is unpacked below build/, as if nothing of it were installed.
sysroot() {
    dir=$root/build/sysroot/$1
    [ ! -f "$dir/usr/include/cmocka.h" ] || return 0
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    debs_unpack "$dir" '' 'libcmocka-dev libcmocka0' \
        -o APT::Architecture="$1" -o APT::Architectures="$1" \
        -o Dir::State::status=/dev/null
}

# cross_build NAME DEBIAN-ARCHITECTURE
cross_build() {
    rm -f "build/$1/meson-logs/"*.json
    sysroot "$2"
    printf "[constants]\nsysroot = '%s'\nsource = '%s'\n" \
        "$root/build/sysroot/$2" "$root" >"build/sysroot/$2.ini"
    build "$1" gcc --buildtype=release -Dtests=true -Dtools=false \
        --cross-file "build/sysroot/$2.ini" --cross-file "tests/cross/$1.ini"
}

# cross_tests NAME LOG QEMU-CPU FEATURES-THAT-MUST-RUN OPTION...
cross_tests() {
    build_dir=$1
    log_base=$2
    QEMU_CPU=$3
    HONE_MUST_RUN=$4
    export QEMU_CPU HONE_MUST_RUN
    shift 4
    meson_tests "$build_dir" "$log_base" --timeout-multiplier 4 "$@"
}

test_cross() {
    stage aarch64 cross_build aarch64 arm64
    record none -
    for bits in 128 256 512; do
        # One length only, so that it is the one that the code gets. With the
        # others, only tests of what has vectors.
        cpu=max
        suite=
        [ "$bits" -eq 128 ] || suite='--suite variants'
        for each in 128 256 512; do
            [ "$each" -gt "$bits" ] || cpu=$cpu,sve$each=on
        done
        # shellcheck disable=SC2086
        stage "sve$bits" cross_tests aarch64 "sve$bits" "$cpu" neon,sve $suite
        record meson "build/aarch64/meson-logs/sve$bits.json"
    done
    stage s390x cross_build_and_test
    record meson build/s390x/meson-logs/testlog.json
}

cross_build_and_test() {
    cross_build s390x s390x
    cross_tests s390x testlog max ''
}

# What a distribution would ship, below build/stage: consumers and the tests
# of the command see only this.
stage_install() {
    rm -rf "$staged"
    # Rebuilds what is not up to date, so that nothing stale is installed.
    DESTDIR=$staged meson install -C build/gcc
}

# tap NAME COMMAND...: a stage that prints TAP.
tap_stage() {
    name=$1
    shift
    stage "$name" "$@"
    record tap "$log/$name.log"
}

# pytest_stage NAME FILE...
pytest_stage() {
    name=$1
    shift
    rm -f "$results/$name.xml"
    stage "$name" python3 -m pytest -q --basetemp="build/pytest-$name" \
        --junitxml="$results/$name.xml" "$@"
    record pytest "$results/$name.xml"
    rm -rf "build/pytest-$name"
}

test_all() {
    rm -rf "$results"
    mkdir -p "$results"
    HONE_MUST_RUN=$(must_run)
    HYPOTHESIS_STORAGE_DIRECTORY=$root/build/hypothesis
    PYTHONDONTWRITEBYTECODE=1
    export HONE_MUST_RUN HYPOTHESIS_STORAGE_DIRECTORY PYTHONDONTWRITEBYTECODE
    only=
    all_began=$(date +%s)

    # Where Debian's packages put it: without dpkg-dev, Meson says lib64.
    meson_stage gcc gcc --buildtype=release --prefix=/usr \
        -Dlibdir="lib/$(gcc -print-multiarch)" -Dbenchmarks=true
    meson_stage O0 gcc --buildtype=debug
    meson_stage asan clang --buildtype=debug -Doptimization=1 \
        -Db_sanitize=address,undefined -Db_lundef=false
    only='--suite threads'
    meson_stage tsan clang --buildtype=debug -Doptimization=1 \
        -Db_sanitize=thread -Db_lundef=false
    only=
    test_cross

    stage install stage_install
    record none -
    tap_stage headers sh tests/headers/check.sh "$staged/usr/include"
    tap_stage consume sh tests/consume/check.sh "$staged" build/consume
    tap_stage exports sh tests/consume/exports.sh "$staged" tests/exports.txt
    tap_stage spin python3 tests/model/check.py build/spin
    test_php "$staged"
    HONE=$staged/usr/bin/hone
    HONE_LIB=$(find "$staged" -name 'libhone.so.0' || :)
    LD_LIBRARY_PATH=$(dirname "$HONE_LIB")
    export HONE HONE_LIB LD_LIBRARY_PATH
    stage docs-build build docs gcc --buildtype=release -Ddocs=true
    record none -
    HONE_BUILD=$root/build/docs
    export HONE_BUILD
    pytest_stage docs docs
    pytest_stage model tests/model_test.py tests/ring_model_test.py \
        tests/mempool_model_test.py tests/stream_model_test.py \
        tests/stream_strace_test.py
    pytest_stage cli tests/cli
    unset LD_LIBRARY_PATH
    HONE=$root/build/asan/cli/hone
    pytest_stage cli-asan tests/cli

    say "all stages             $(($(date +%s) - all_began)) s"
    # shellcheck disable=SC2086
    python3 tests/tally.py "$results/stages" $test_stages
}
