# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034 # the sourcing script uses "failed"
# Sourced by the checks that are shell scripts and print TAP. They begin with a
# plan and end with "exit $failed".

number=0
failed=0

# check WHAT COMMAND...: prints the output of the command if it fails.
check() {
    what=$1
    shift
    number=$((number + 1))
    if output=$("$@" 2>&1); then
        echo "ok $number - $what"
    else
        failed=1
        echo "not ok $number - $what"
        printf '%s\n' "$output" | tail -n 60 | sed 's/^/# /'
    fi
}
