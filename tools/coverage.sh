# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # dev sets the variables
# ./dev check coverage. Sourced by dev: root, log, stage, must, build.

coverage_tests() {
    # What an earlier run counted.
    find build/coverage-build -name '*.gcda' -delete
    meson test -C build/coverage-build --no-rebuild --print-errorlogs \
        --timeout-multiplier 4
    HONE=$root/build/coverage-build/cli/hone \
        HONE_LIB=$root/build/coverage-build/src/libhone.so.0 \
        VERDICTS_PLAY=$root/build/coverage-build/tests/image/verdicts_play \
        python3 -m pytest -q --basetemp=build/pytest-coverage \
            tests/mempool/mempool_model_test.py \
            tests/stream/stream_model_test.py tests/cli tests/image ||
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
