# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # what dev sets
# ./dev check. Sourced by dev: root, jobs, log, stage, must, build.

# sources PATTERN...: files of the tree by name, built ones left out.
sources() {
    for pattern; do
        find . \( -path './build*' -o -path ./.git -o -path ./docs/_build \
            -o -name __pycache__ \) -prune -o -type f -name "$pattern" -print
    done | sort
}

# Files of PHP's generator keep its format.
c_sources() {
    sources '*.c' '*.h' '*.cc' | grep -v '_arginfo\.h$'
}

format() {
    c_sources | xargs clang-format --dry-run -Werror
}

shells() {
    sources '*.sh' dev run | xargs grep -l '^#!.*sh$\|shellcheck shell=' |
        xargs shellcheck -x
    for script in dev tools/*.sh; do
        dash -n "$script"
    done
}

# Rules that no other tool checks: licence line, line ends.
rules() {
    sources '*' | python3 tools/rules.py
}

# The names in the documentation exist. A test first shows that the check works.
names() {
    python3 -B tools/names_test.py
    python3 -B tools/names.py
}

# Each bug of tests/mutants.toml can be planted. A test first shows that the
# check works.
mutants() {
    python3 -B tests/support/planting_test.py
    python3 -B tests/support/jumps_test.py
    python3 -B tests/support/mutants.py --check
}

# docs/benchmarks.md, its charts and README's figures are those of bench/results. A
# test first shows that a rival has its fastest flags.
figures() {
    python3 -B bench/support/rivals_test.py
    python3 -B bench/support/publish.py --check
}

# Find Python that does not compile here, not at its first use.
python_compiles() {
    sources '*.py' | PYTHONPYCACHEPREFIX=build/pycache xargs \
        python3 -m py_compile
}

# tidy_these OPTION...: files of standard input. One file at a time: the check of
# va_list in clang 14 fails with several.
tidy_these() {
    xargs -n 1 -P "$jobs" clang-tidy --quiet -p build/check-clang \
        --warnings-as-errors='*' "$@"
}

# Every source that this machine compiles, with the compiler's own options. The
# analyzer, clang-analyzer-*, takes over nine tenths of the time: tests have it if
# --all is given.
tidy() {
    python3 -c '
import json, os
for entry in json.load(open("build/check-clang/compile_commands.json")):
    path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
    if path.startswith(os.getcwd()) and "/build/" not in path:
        print(path)' | sort -u | grep '\.c$' >build/tidy.all
    grep "^$root/tests/" build/tidy.all >build/tidy.tests
    grep -v "^$root/tests/" build/tidy.all | tidy_these
    if [ -n "$check_tests" ]; then
        tidy_these <build/tidy.tests
    else
        tidy_these --checks='-clang-analyzer-*' <build/tidy.tests
    fi
}

check_stage() {
    stage "$@"
    if [ "$stage_status" -ne 0 ]; then
        check_failed="$check_failed $stage_name"
    fi
}

# Only gcc has warnings that its optimizer finds. No --buildtype: if Meson configures
# a folder again, it takes the optimization from there, and -Doptimization is lost.
# The analyzer needs assertions.
warnings() {
    level=2
    [ "$1" = gcc ] || level=0
    build "check-$1" "$1" -Doptimization="$level" -Ddebug=false \
        -Db_ndebug=false -Dwerror=true -Dtests=true -Dbenchmarks=true --prefix=/usr
    grep -q " -O$level " "$build_dir/build.ninja"
}

# Without assertions, other variables are unused. ./dev test continues with this
# build.
release_warnings() {
    build_release -Dwerror=true
}

headers() {
    rm -rf build/check-stage
    DESTDIR=$root/build/check-stage meson install -C build/check-gcc \
        --no-rebuild >/dev/null
    sh tests/headers/check.sh build/check-stage/usr/include
}

# Programs that are linked to the last release continue to work. A test first shows
# that the check works.
abi() {
    python3 -B tools/abi_test.py
    python3 -B tools/abi.py
}

# check_all [--all]
check_all() {
    check_tests=${1:-}
    check_failed=
    check_stage format format
    check_stage shellcheck shells
    check_stage rules rules
    check_stage names names
    check_stage mutants mutants
    check_stage coverage-list python3 -B tools/coverage_test.py
    check_stage figures figures
    check_stage python python_compiles
    check_stage warnings-gcc warnings gcc
    check_stage warnings-clang warnings clang
    check_stage warnings-release release_warnings
    check_stage public-headers headers
    check_stage abi abi
    # Its test passes before the first release, too.
    sed -n '/^abi: .*nothing to compare/p' "$log/abi.log"
    check_stage clang-tidy tidy
    if [ -n "$check_failed" ]; then
        say "check: failed:$check_failed"
        return 1
    fi
    say 'check: passed'
}

# ./dev check coverage.
coverage_tests() {
    # What an earlier run counted.
    find build/coverage-build -name '*.gcda' -delete
    meson test -C build/coverage-build --no-rebuild --print-errorlogs \
        --timeout-multiplier 4
    HONE=$root/build/coverage-build/cli/hone \
        HONE_LIB=$root/build/coverage-build/src/libhone.so.0 \
        VERDICTS_PLAY=$root/build/coverage-build/tests/image/verdicts_play \
        python3 -m pytest -q --basetemp=build/pytest-coverage \
            tests/cli tests/image ||
        say 'Some failed: faults hit what the coverage itself calls.'
}

coverage_pages() {
    mkdir -p build/coverage
    gcovr -r . --exclude 'tests/' --exclude 'bench/' \
        --exclude-throw-branches --html-details build/coverage/index.html \
        build/coverage-build
}

# As a release, but without optimization: gcc would merge branches and add
# others, and gcov would count those. Threads count atomically.
coverage_all() {
    must coverage-build build coverage-build gcc --buildtype=debug \
        -Db_ndebug=true -Db_coverage=true \
        -Dc_args=-fprofile-update=atomic -Dtests=true
    # ./dev test judges the tests; this command reports what they cover.
    stage coverage-tests coverage_tests
    must coverage-pages coverage_pages
    say 'HTML: build/coverage/index.html'
    stage coverage python3 tools/coverage.py build/coverage-build
    cat "$log/coverage.log"
    return "$stage_status"
}
