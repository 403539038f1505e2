#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# exports.sh STAGED LIST: the installed shared library exports exactly what
# LIST names, and is called what callers will look for. Prints TAP.
set -eu

staged=$1
list=$2
library=$(find "$staged" -name libhone.so)
folder=$(dirname "$library")
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

# Whatever is defined, with its type: a variable would show here as well.
exports_are_those_of_the_list() {
    nm -D --defined-only "$library" | cut -d' ' -f2- | awk -v list="$list" '
        BEGIN {
            while ((getline line < list) > 0)
                if (line !~ /^#/)
                    want[line] = 1
        }
        !($0 in want) { print "not in the list: " $0; bad = 1 }
        { delete want[$0] }
        END {
            for (line in want) {
                print "no longer exported: " line
                bad = 1
            }
            exit bad
        }'
}

soname_is_there() {
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    echo "SONAME is '$soname'"
    [ "$soname" = libhone.so.0 ] && [ -e "$folder/$soname" ]
}

# What hidden visibility does not cover must at least be named hone_*.
static_names_are_hones() {
    nm -g --defined-only "$folder/libhone.a" 2>/dev/null |
        awk 'NF == 3 { names++ }
            NF == 3 && $3 !~ /^hone_/ { print $3; bad = 1 }
            END { exit bad || !names }'
}

echo 1..3
check "exports are those of $list" exports_are_those_of_the_list
check 'SONAME is libhone.so.0, by which it is found' soname_is_there
check 'every global name of the static library begins with hone_' \
    static_names_are_hones
exit "$failed"
