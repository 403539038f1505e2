# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# The stages of ./dev test. Sourced by dev: root, jobs, log, stage, build.

# shellcheck source=tools/php-chroot.sh
. tools/php-chroot.sh
# shellcheck source=tools/php-zts.sh
. tools/php-zts.sh
# shellcheck source=tools/fuzz.sh
. tools/fuzz.sh
# shellcheck source=tools/cross.sh
. tools/cross.sh
# shellcheck source=tools/dpdk.sh
. tools/dpdk.sh
# shellcheck source=tools/static.sh
. tools/static.sh

results=$root/build/results
staged=$root/build/stage
# What is under way: a process number for each stage.
running=$root/build/running
# Seconds that a stage may take: several times what the longest one takes. A
# machine that is busy with other work needs more.
stage_limit=${HONE_STAGE_LIMIT:-3600}

# The stages, in the order of the tally: those of ./dev test, and those that --all has
# besides.
test_stages='build gcc asan tsan neon consumers php cli cli-faults cli-remote image'
all_stages='php-more php-server php-zts php83 php84 php85 php86
    cli-sanitizers bare cross docs bench release mutants'

# Each stage but "build" belongs to a group. No group needs another, and the stages of
# a group run one after the other. The longest groups of one process begin first; those
# that use all CPUs come last.
test_groups='test_cli test_image test_asan test_php test_consumers test_cli_faults
    test_tsan test_neon test_gcc test_cli_remote'
all_groups='test_sanitizers test_php_chroots test_php test_cli test_php_zts
    test_cli_faults test_neon test_mutants test_image test_docs test_release
    test_cli_remote test_bare test_bench test_consumers test_gcc'

# Mutants that --all takes at random.
sampled=12

# bounded NAME COMMAND...: a stage with a limit of time. It runs in a process
# group of its own: at the limit, or if the test is interrupted, the whole group
# ends.
# COMMAND runs in a new shell, which gets the exported variables only.
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

# record KIND PATH ...: what the stage just run leaves for tests/support/tally.py.
record() {
    while [ $# -gt 0 ]; do
        printf '%s\t%s\t%s\t%s\n' "$stage_name" "$stage_status" "$1" "$2" \
            >>"$results/stages"
        shift 2
    done
}

# steps STEP...: of a stage, words of commands. The next step runs even if one fails.
steps() {
    failed=
    for each_step; do
        set +e
        # shellcheck disable=SC2086
        (
            set -e
            $each_step
        )
        # shellcheck disable=SC2181
        [ $? -eq 0 ] || failed="$failed $each_step;"
        set -e
    done
    [ -z "$failed" ] || die "failed:$failed"
}

# tap NAME COMMAND...: a step that prints TAP, kept for the tally.
tap() {
    tap_file=$results/$1.tap
    shift
    set +e
    (
        set -e
        "$@"
    ) >"$tap_file"
    tests_status=$?
    set -e
    cat "$tap_file"
    return "$tests_status"
}

# CPU features that a test may not skip on this machine.
must_run() {
    flags=" $(grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null) "
    list=
    case $flags in *' avx2 '*) list=avx2 ;; esac
    case $flags in *' avx512bw '*) list=${list:+$list,}avx512 ;; esac
    printf '%s' "$list"
}

# meson_tests DIR LOG OPTION...: run the tests of a build, results in LOG.json. The
# suite "all" is for ./dev test --all.
meson_tests() {
    dir=build/$1
    base=$2
    shift 2
    rm -f "$dir/meson-logs/$base"*
    meson test -C "$dir" --print-errorlogs --logbase "$base" \
        --num-processes "$jobs" "$@"
}

# What Meson leaves out in ./dev test.
first_tier() {
    [ -z "$tier" ] || echo --no-suite all
}

# What a distribution would ship, below build/stage. Consumers and the tests of
# the command use nothing else.
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

# pytests NAME WITH FILE...: a step. WITH calls pytest. If a test does not end, its
# name is the last one in the log. Tests with the marker "all" are for ./dev test --all.
pytests() {
    name=$1
    with=$2
    shift 2
    set +e
    (
        set -e
        "$with" python3 -m pytest -v -p no:cacheprovider \
            --basetemp="build/pytest-$name" --junitxml="$results/$name.xml" \
            -m "$tier" "$@"
    )
    tests_status=$?
    set -e
    rm -rf "build/pytest-$name"
    return "$tests_status"
}

# pytest_stage NAME WITH FILE...: pytests as a stage of its own.
pytest_stage() {
    bounded "$1" pytests "$@"
    record pytest "$results/$1.xml"
}

# What the groups use: the release build, and its installation.
test_build() {
    bounded build build_and_install
    record none -
}

build_and_install() {
    build_release
    stage_install
}

# The stand-in for the services of AWS, which Debian does not have. Without it, the
# examples of docs/recipes.rst that use it are skipped.
install_moto() {
    rm -rf build/moto
    python3 -m pip install --quiet --no-deps --require-hashes \
        --target build/moto -r tests/cli/moto.txt >"$log/moto.log" 2>&1 ||
        say "moto could not be fetched, see $log/moto.log"
}

test_gcc() {
    # shellcheck disable=SC2046
    bounded gcc meson_tests gcc testlog --no-rebuild \
        $(first_tier)
    record meson build/gcc/meson-logs/testlog.json
}

# Each benchmark for one turn, with the checks of its answers.
benches() {
    rm -f build/bench-test/meson-logs/testlog*
    configure bench-test gcc --buildtype=release -Dbenchmarks=true \
        -Dtools=false
    meson_tests bench-test testlog --suite bench
}

# The command without its optional libraries, and its assertions. Meson's
# auto_features is the value of each option that is a feature.
bare_build() {
    configure bare gcc -Dauto_features=disabled -Dwerror=true -Doptimization=0 \
        -Ddebug=false -Db_ndebug=false -Ddefault_library=static
    ninja -j "$jobs" -C build/bare cli/hone
    build/bare/cli/hone --version |
        grep ' without OpenSSL, liblzma, libnbd, libbz2, libcurl$'
}

with_bare() {
    HONE=$root/build/bare/cli/hone
    export HONE
    "$@"
}

# The tests of such a build, and some of what it has.
bare_tests() {
    bare_build
    pytests bare with_bare tests/cli/test_convert.py tests/cli/test_digest.py \
        tests/cli/test_http.py tests/cli/test_nbd.py tests/cli/test_unpack.py \
        -k "$of_bare or accounts_for_every_byte or suffix_names or $packed_there"
}

test_bare() {
    bounded bare bare_tests
    record pytest "$results/bare.xml"
}

# The validator of SPDX lists, which Debian has not. Without it, its tests are skipped,
# which tally.py counts as failures.
install_spdx() {
    rm -rf build/spdx
    python3 -m pip install --quiet --no-deps --require-hashes \
        --only-binary :all: --target build/spdx -r tests/release/spdx.txt || {
        rm -rf build/spdx
        echo 'spdx-tools is not installed'
    }
}

# What ./dev release does itself, with stand-ins for the packages and the static
# command. What ./dev static has made, if it has, and the manifest that uses it.
release_tests() {
    install_spdx
    static_kubernetes
    steps 'pytests release env tests/release' 'pytests static with_static tests/static'
}

test_release() {
    bounded release release_tests
    record pytest "$results/release.xml" pytest "$results/static.xml"
}

# The mempool driver in DPDK's own tests.
dpdk_tests() {
    dpdk_build
    pytests dpdk with_dpdk tests/dpdk
}

test_bench() {
    bounded bench steps benches dpdk_tests
    record meson build/bench-test/meson-logs/testlog.json pytest "$results/dpdk.xml"
}

# sanitized NAME SANITIZERS OPTION...: configure a build. At -O0, clang compiles for a
# third of the time that it takes at -O1. GNU's gold, if it is there, links in half of
# the time. With the shared library of AddressSanitizer, clang links in a tenth of the
# time. --all takes the static one: its tests of the command preload libraries, which
# fails with the shared one. The shared library of ThreadSanitizer crashes in clang 14.
sanitized() {
    name=$1
    sanitizers=$2
    shift 2
    ! command -v ld.gold >/dev/null || export CC_LD=gold
    shared=
    case $sanitizers:$tier in
    address*:?*)
        # Not -print-runtime-dir: of clang 19 it names a folder that Debian 13 has not.
        shared=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
        shared="-shared-libsan -Wl,-rpath,${shared%/*}"
        ;;
    esac
    configure "$name" clang --buildtype=debug -Dc_args=-gline-tables-only \
        -Dc_link_args="$shared" -Db_sanitize="$sanitizers" -Db_lundef=false "$@"
}

# sanitized_tests NAME SANITIZERS OPTION...: Meson compiles what these tests need.
sanitized_tests() {
    rm -f "build/$1/meson-logs/testlog"*
    sanitized "$1" "$2" -Dtests=true
    name=$1
    shift 2
    meson_tests "$name" testlog "$@"
}

test_asan() {
    # shellcheck disable=SC2046
    bounded asan sanitized_tests asan address,undefined $(first_tier)
    record meson build/asan/meson-logs/testlog.json
}

test_tsan() {
    bounded tsan sanitized_tests tsan thread --suite threads
    record meson build/tsan/meson-logs/testlog.json
}

# Of --all: the command in the builds of both stages.
test_sanitizers() {
    test_asan
    test_tsan
    bounded cli-sanitizers steps cli_asan cli_tsan
    record pytest "$results/cli-asan.xml" pytest "$results/cli-tsan.xml"
}

cli_asan() {
    ninja -j "$jobs" -C build/asan
    pytests cli-asan with_asan tests/cli tests/image -k "not $of_bare" -m 'not all'
}

cli_tsan() {
    ninja -j "$jobs" -C build/tsan cli/hone
    pytests cli-tsan with_tsan tests/cli/test_http.py \
        tests/cli/test_http_nginx.py tests/cli/test_nbd.py \
        tests/cli/test_oci.py tests/cli/test_servers.py -k "$of_tsan" \
        -m 'not all'
}

headers() {
    tap headers sh tests/headers/check.sh "$staged/usr/include"
}

consume() {
    tap consume sh tests/consume/check.sh "$staged" build/consume
}

single() {
    tap single sh tests/consume/single.sh "$staged" build/single ${all:+all}
}

exports() {
    tap exports sh tests/consume/exports.sh "$staged" tests/exports.txt
}

# What needs no build of the pages.
page_lists() {
    pytests lists env docs/test_lists.py docs/test_headers.py
}

# ./dev itself.
models() {
    pytests model with_installed tests/dev
}

# model_checks WHICH
model_checks() {
    tap "model-$1" python3 tests/support/model/check.py build/spin "$1"
}

test_consumers() {
    # shellcheck disable=SC2086
    bounded consumers steps headers consume single exports fuzz_compile \
        'model_checks code' page_lists models ${all:+'model_checks some'}
    record pytest "$results/lists.xml" pytest "$results/model.xml"
    for each in headers consume single exports model-code ${all:+model-some}; do
        record tap "$results/$each.tap"
    done
}

test_mutants() {
    seed=${HONE_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    tap_stage mutants python3 tests/support/mutants.py --sample "$sampled" \
        --seed "$seed"
    say "mutants                $sampled at random, HONE_SEED=$seed"
}

with_asan() {
    HONE=$root/build/asan/cli/hone
    VERDICTS_PLAY=$root/build/asan/tests/image/verdicts_play
    export HONE VERDICTS_PLAY
    "$@"
}

# After a report of ThreadSanitizer, the command ends with status 66, which no test
# accepts.
with_tsan() {
    HONE=$root/build/tsan/cli/hone
    export HONE
    "$@"
}

with_installed() {
    HONE=$staged/usr/bin/hone
    HONE_LIB=$(find "$staged" -name 'libhone.so.0' || :)
    LD_LIBRARY_PATH=$(dirname "$HONE_LIB")
    HONE_BUILD=$root/build/docs
    VERDICTS_PLAY=$root/build/gcc/tests/image/verdicts_play
    export HONE HONE_LIB LD_LIBRARY_PATH HONE_BUILD VERDICTS_PLAY
    "$@"
}

docs_tests() {
    # The pages show what the command prints, and no time.
    build docs gcc --buildtype=plain -Ddocs=true
    pytests docs with_installed docs
}

test_docs() {
    bounded docs docs_tests
    record pytest "$results/docs.xml"
}

# Those that mostly wait, for servers in the test or for the end of a time.
cli_remote='tests/cli/test_http.py tests/cli/test_http_nginx.py tests/cli/test_nbd.py
    tests/cli/test_servers.py'
cli_faults='tests/cli/test_faults.py tests/cli/test_faults_servers.py'
# A part of the names of the tests of the stage bare, which other builds skip.
of_bare=a_build_without
packed_there='(how_it_is_packed and (gzip or zstd))'
# Tests of the threads that read from servers and write to them: several
# connections, lost ones, streams, TLS, ends in the middle.
of_tsan="ranges_are_long or six_requests or 16_mib or goes_on_at_the_byte or \
changes_meanwhile or stops_in_the_middle or ranges_comes_again or \
without_ranges_is_read or limit_of_the_rate or many_and_large or made_again or \
over_lost or fewer_connections or handshakes_are_finished or another_size or \
errors_of_the_server or tries_are_bounded or renewed_inside"

test_cli() {
    # shellcheck disable=SC2046,SC2086
    pytest_stage cli with_installed tests/cli -k "not $of_bare" \
        $(printf -- '--ignore=%s ' $cli_remote $cli_faults)
}

cli_remote_tests() {
    # shellcheck disable=SC2086
    pytests cli-remote with_installed $cli_remote -k "not $of_bare"
}

test_cli_remote() {
    bounded cli-remote cli_remote_tests
    record pytest "$results/cli-remote.xml"
}

test_cli_faults() {
    # shellcheck disable=SC2086
    pytest_stage cli-faults with_installed $cli_faults
}

test_image() {
    pytest_stage image with_installed tests/image
}

# side_by_side WORKERS GROUP...: run the groups, WORKERS at a time. Each may use all
# CPUs: most stages are one process, and while one waits, another uses its CPU.
side_by_side() {
    count=$1
    shift
    several=
    # shellcheck disable=SC2034 # for stage
    [ "$count" -eq 1 ] || several=$count
    workers=
    # Tests with servers use a third of a CPU: in ./dev test, they have a worker more.
    case ${all:-}:" $* " in
    :*' test_cli_remote '*)
        work test_cli_remote &
        workers=$!
        ;;
    esac
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

# work GROUP...: run each group that no other worker has begun.
work() {
    for each; do
        if mkdir "$running/$each" 2>/dev/null; then
            "$each"
        fi
    done
}

# Ends the workers first, so that no further stage begins, then the stages.
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

# Whether the tests left the tree as it was.
tree_unchanged() {
    if [ -z "$tree_known" ]; then
        echo "1..0 # SKIP $tree_unknown"
        return
    fi
    echo 1..1
    if changes=$(tree_changes); then
        echo 'ok 1 - nothing changed outside build/'
    else
        echo 'not ok 1 - nothing changed outside build/'
        printf '%s\n' "$changes" | sed 's/^/# /'
        return 1
    fi
}

# counts_all OPTION...: ./dev counts.
counts_all() {
    mkdir -p "$results" "$running"
    test_build
    bounded php-build php_build_with_staged
    # shellcheck disable=SC2046
    python3 -B tests/counts/counts.py $(counted) "$@"
}

# is_stage NAME: of ./dev test.
is_stage() {
    # shellcheck disable=SC2086
    printf '%s\n' $test_stages | grep -qxF -e "$1"
}

# test_one NAME: the tests that have this in their names: in C and in Python, and the
# .phpt files. HONE_TEST is the pattern that tests/support/test.c knows.
test_one() {
    one_failed=0
    files=
    for file in $(one_files "$1"); do
        case $file in
        tests/php/server/* | tests/static/* | tests/dpdk/* | docs/test_examples.py | \
            docs/test_pages.py)
            say "dev: $file needs what a stage of --all makes: ./dev test --all" >&2
            one_failed=1
            ;;
        *) files="$files $file" ;;
        esac
    done
    [ -z "$files" ] || one_build "$1"
    for file in $files; do
        case $file in
        *.py) python3 -m pytest -q -p no:cacheprovider "$file" -k "$1" ;;
        *)
            name=$(basename "${file%/*}")_$(basename "${file%_test.c}")
            meson test -C "$one" --no-rebuild -v "$(echo "$name" |
                sed 's/_variants$/-generic/')"
            ;;
        esac || one_failed=1
    done
    files=$(one_phpts "$1")
    [ -z "$files" ] || one_php || one_failed=1
    return "$one_failed"
}

one_build() {
    must build build one gcc --buildtype=debug -Dtests=true -Dlibdir=lib
    one=$root/build/one
    HONE=$one/cli/hone
    HONE_LIB=$one/src/libhone.so.0
    VERDICTS_PLAY=$one/tests/image/verdicts_play
    HONE_TEST="*$1*"
    export HONE HONE_LIB VERDICTS_PLAY HONE_TEST LD_LIBRARY_PATH="$one/src"
}

one_files() {
    grep -rlE "^\w+\(\w*$1\w*[,)]|^\w*$1\w*\(void \*\*|^ *def test_\w*${1#test_}" \
        --include='*_test.c' --include='test_*.py' --include='*_test.py' tests docs || :
}

# By the name of the file, or its title, in which a blank is "_".
one_phpts() {
    awk -v name="$(echo "$1" | tr _ .)" \
        'FNR == 2 && (FILENAME ~ name || $0 ~ name) { print FILENAME }' php/tests/*.phpt
}

one_php() {
    must php-libhone php_libhone
    must php-build php_build
    # shellcheck disable=SC2046
    php_tests "$root/build/php/one.xml" $(printf '%s\n' "$files" |
        sed "s|^php/|$(php_work)/|")
}

# test_chosen STAGE... | NAME
test_chosen() {
    # shellcheck disable=SC2086
    if [ $# -eq 1 ] && ! is_stage "$1" &&
        ! printf '%s\n' $all_stages | grep -qxF -e "$1" &&
        [ -n "$(one_files "$1")$(one_phpts "$1")" ]; then
        need "$test_packages" "$php_packages"
        test_one "$1"
        return
    fi
    for each; do
        # shellcheck disable=SC2086
        printf '%s\n' $all_stages | grep -qxF -e "$each" &&
            die "test: '$each' is a stage of --all, which has no run of its own"
        # shellcheck disable=SC2086
        is_stage "$each" || die "test: '$each' is neither in the name of a test nor a" \
            "stage; the stages are:" $test_stages
    done
    need "$test_packages" "$php_packages"
    test_everything "$@"
}

# test_everything [--all | STAGE...]
test_everything() {
    all=
    tier='not all'
    case ${1:-} in
    '') ;;
    --all)
        all=yes tier=
        test_groups=$all_groups
        test_stages="$test_stages $all_stages"
        ;;
    *)
        test_groups=$(printf 'test_%s ' "$@" | tr - _)
        test_stages="build $*"
        ;;
    esac
    export tier
    # This shell and its workers hold the lock: if one is killed and its stage
    # goes on, the lock stays.
    mkdir -p build
    exec 9>build/test.lock
    flock --nonblock 9 || die 'another ./dev test runs in this tree'
    rm -rf "$results" "$running"
    mkdir -p "$results" "$running"
    HONE_MUST_RUN=$(must_run)
    export HONE_MUST_RUN
    all_began=$(date +%s)
    trap interrupted INT TERM HUP
    side_by_side 1 test_build
    [ -z "$all" ] || install_moto
    say 'stages run side by side; the line of each comes at its end:'
    # Three stages for two CPUs, since tests also wait. With four, owners of a lock of the
    # PHP cache were stopped for 0.1 s, and writes refused.
    # shellcheck disable=SC2086
    side_by_side 3 $test_groups
    stage tree tree_unchanged
    record tap "$log/tree.log"
    tree_known= # reported

    say "all stages             $(($(date +%s) - all_began)) s"
    # shellcheck disable=SC2086
    python3 tests/support/tally.py ${all:+--all} "$results/stages" $test_stages tree
}
