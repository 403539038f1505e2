#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh DIRECTORY: each installed public header compiles on its own, twice
# over, as C99 and as C++11, with both compilers. Prints TAP.
set -eu

include=$1
warnings='-pedantic -Wall -Wextra -Wshadow -Wundef -Werror'
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

# compiles COMPILER LANGUAGE STANDARD HEADER: twice over, alone.
compiles() {
    # shellcheck disable=SC2086
    printf '#include <%s>\n#include <%s>\n' "$4" "$4" |
        "$1" -x "$2" "-std=$3" $warnings -I "$include" -fsyntax-only -
}

# each COMPILER LANGUAGE STANDARD HEADER
each() {
    check "$4 as $3 by $1" compiles "$@"
}

for path in "$include"/hone/*.h; do
    header=hone/$(basename "$path")
    each gcc c c99 "$header"
    each clang c c99 "$header"
    each g++ c++ c++11 "$header"
    each clang++ c++ c++11 "$header"
done
echo "1..$number"
exit "$failed"
