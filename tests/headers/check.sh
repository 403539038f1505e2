#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check.sh DIRECTORY: each installed public header compiles on its own, twice
# over, as C99 and as C++11, with both compilers. Prints TAP.
set -eu

include=$1
warnings='-pedantic -Wall -Wextra -Wshadow -Wundef -Werror'
number=0
failed=0

# check COMPILER LANGUAGE STANDARD HEADER
check() {
    number=$((number + 1))
    # shellcheck disable=SC2086
    if output=$(printf '#include <%s>\n#include <%s>\n' "$4" "$4" |
        "$1" -x "$2" "-std=$3" $warnings -I "$include" -fsyntax-only - 2>&1)
    then
        echo "ok $number - $4 as $3 by $1"
    else
        failed=1
        echo "not ok $number - $4 as $3 by $1"
        printf '%s\n' "$output" | sed 's/^/# /'
    fi
}

for path in "$include"/hone/*.h; do
    header=hone/$(basename "$path")
    check gcc c c99 "$header"
    check clang c c99 "$header"
    check g++ c++ c++11 "$header"
    check clang++ c++ c++11 "$header"
done
echo "1..$number"
exit "$failed"
