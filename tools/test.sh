# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The stages of ./dev test. Sourced by dev: root, jobs, log, stage, build.

results=$root/build/results
staged=$root/build/stage
# What is under way: a process number for each stage.
running=$root/build/running
# Seconds that a stage may take: several times what the longest one takes.
stage_limit=900

# Every stage that has to leave results, in order.
test_stages='gcc O0 asan tsan aarch64 sve128 sve256 sve512 s390x headers
    consume exports spin php82-build php82-setup php82 php82-opcache
    php82-valgrind php82-args php84-build php84 php84-opcache php84-args
    docs-build docs model cli cli-asan'

# Independent of each other once there is test_gcc; what takes longest first.
test_groups='test_php82 test_asan test_php84 test_aarch64 test_cli test_O0
    test_s390x test_tsan test_model test_spin test_consumers test_docs'

# bounded NAME COMMAND...: a stage with a limit of time, in a process group that
# ends with all that it started, at its limit or when the test is interrupted.
# COMMAND is called in a new shell, and has of this one's variables the exported.
bounded() {
    stage "$1" bound "$@"
    rm -f "$running/$1.pid"
}

bound() {
    number=$running/$1.pid
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    sh -c 'echo $$ >"$0"; exec "$@"' "$number" \
        timeout --kill-after=10 "$stage_limit" ./dev test --within "$@" 9>&-
}

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
    meson test -C "$dir" --print-errorlogs --logbase "$base" \
        --num-processes "$jobs" "$@"
}

# build_and_test NAME COMPILER OPTION...
build_and_test() {
    rm -f "build/$1/meson-logs/testlog"*
    build "$@" -Dtests=true
    meson_tests "$1" testlog --no-rebuild
}

# meson_stage NAME COMPILER OPTION...: a stage of its own for one build.
meson_stage() {
    bounded "$1" build_and_test "$@"
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
    meson_tests "$build_dir" "$log_base" --no-rebuild --timeout-multiplier 4 "$@"
}

test_aarch64() {
    bounded aarch64 cross_build aarch64 arm64
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
        bounded "sve$bits" cross_tests aarch64 "sve$bits" "$cpu" neon,sve $suite
        record meson "build/aarch64/meson-logs/sve$bits.json"
    done
}

cross_build_and_test() {
    cross_build s390x s390x
    cross_tests s390x testlog max ''
}

test_s390x() {
    bounded s390x cross_build_and_test
    record meson build/s390x/meson-logs/testlog.json
}

# What a distribution would ship, below build/stage: consumers and the tests
# of the command see only this.
stage_install() {
    rm -rf "$staged"
    # Rebuilds what is not up to date, so that nothing stale is installed.
    DESTDIR=$staged meson install -C build/gcc
}

# tap_stage NAME COMMAND...: a stage that prints TAP.
tap_stage() {
    bounded "$@"
    record tap "$log/$stage_name.log"
}

# pytest_stage NAME WITH FILE...: WITH calls pytest. A test that does not end is
# the last name in the log.
pytest_stage() {
    name=$1
    with=$2
    shift 2
    rm -f "$results/$name.xml"
    bounded "$name" "$with" python3 -m pytest -v --basetemp="build/pytest-$name" \
        --junitxml="$results/$name.xml" "$@"
    record pytest "$results/$name.xml"
    rm -rf "build/pytest-$name"
}

test_gcc() {
    # Where Debian's packages put it: without dpkg-dev, Meson says lib64.
    meson_stage gcc gcc --buildtype=release --prefix=/usr \
        -Dlibdir="lib/$(gcc -print-multiarch)" -Dbenchmarks=true
    bounded install stage_install
    record none -
}

test_O0() {
    meson_stage O0 gcc --buildtype=debug
}

test_asan() {
    meson_stage asan clang --buildtype=debug -Doptimization=1 \
        -Db_sanitize=address,undefined -Db_lundef=false
    pytest_stage cli-asan with_asan tests/cli
}

# Nothing is compiled but what the threads use.
threads_with_tsan() {
    rm -f build/tsan/meson-logs/testlog*
    configure tsan clang --buildtype=debug -Doptimization=1 -Dtests=true \
        -Db_sanitize=thread -Db_lundef=false
    meson_tests tsan testlog --suite threads
}

test_tsan() {
    bounded tsan threads_with_tsan
    record meson build/tsan/meson-logs/testlog.json
}

test_consumers() {
    tap_stage headers sh tests/headers/check.sh "$staged/usr/include"
    tap_stage consume sh tests/consume/check.sh "$staged" build/consume
    tap_stage exports sh tests/consume/exports.sh "$staged" tests/exports.txt
}

test_spin() {
    tap_stage spin python3 tests/model/check.py build/spin
}

with_asan() {
    HONE=$root/build/asan/cli/hone
    export HONE
    "$@"
}

with_installed() {
    HONE=$staged/usr/bin/hone
    HONE_LIB=$(find "$staged" -name 'libhone.so.0' || :)
    LD_LIBRARY_PATH=$(dirname "$HONE_LIB")
    HONE_BUILD=$root/build/docs
    export HONE HONE_LIB LD_LIBRARY_PATH HONE_BUILD
    "$@"
}

test_docs() {
    bounded docs-build build docs gcc --buildtype=release -Ddocs=true
    record none -
    pytest_stage docs with_installed docs
}

test_model() {
    pytest_stage model with_installed tests/model_test.py \
        tests/ring_model_test.py tests/mempool_model_test.py \
        tests/stream_model_test.py tests/stream_strace_test.py
}

test_cli() {
    pytest_stage cli with_installed tests/cli
}

# side_by_side WORKERS GROUP...: as many at a time are under way, with a share
# of the CPUs each, so that what one leaves idle another one uses.
side_by_side() {
    count=$1
    shift
    HONE_JOBS=$(((jobs + count - 1) / count))
    export HONE_JOBS
    several=
    # shellcheck disable=SC2034 # for stage
    [ "$count" -eq 1 ] || several=$count
    workers=
    while [ "$count" -gt 0 ]; do
        work "$@" &
        workers="$workers $!"
        count=$((count - 1))
    done
    for each in $workers; do
        wait "$each" || :
    done
    workers=
}

# work GROUP...: every one that no other worker has begun.
work() {
    for each; do
        if mkdir "$running/$each" 2>/dev/null; then
            "$each"
        fi
    done
}

# First those that would begin another stage, then the stages.
interrupted() {
    trap - INT TERM HUP
    # shellcheck disable=SC2086
    kill $workers 2>/dev/null || :
    # shellcheck disable=SC2013 # one word a line
    for each in $(cat "$running"/*.pid 2>/dev/null); do
        kill "$each" 2>/dev/null || continue
        while kill -0 "$each" 2>/dev/null; do
            sleep 0.1
        done
    done
    die 'interrupted'
}

test_all() {
    # Held by this shell and its workers: one that was killed with no chance to
    # end what it began still has it.
    mkdir -p build
    exec 9>build/test.lock
    flock --nonblock 9 || die 'another ./dev test is under way here'
    rm -rf "$results" "$running"
    mkdir -p "$results" "$running"
    HONE_MUST_RUN=$(must_run)
    HYPOTHESIS_STORAGE_DIRECTORY=$root/build/hypothesis
    PYTHONDONTWRITEBYTECODE=1
    export HONE_MUST_RUN HYPOTHESIS_STORAGE_DIRECTORY PYTHONDONTWRITEBYTECODE
    all_began=$(date +%s)
    trap interrupted INT TERM HUP

    side_by_side 1 test_gcc
    # shellcheck disable=SC2086
    side_by_side 2 $test_groups

    say "all stages             $(($(date +%s) - all_began)) s"
    # shellcheck disable=SC2086
    python3 tests/tally.py "$results/stages" $test_stages
}
