#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# exports.sh STAGED LIST: the installed shared library exports exactly what
# LIST names, with these versions, under the name that callers look for. Prints
# TAP.
set -eu

staged=$1
list=$2
sources=$(dirname "$0")/../../src
library=$(find "$staged" -name libhone.so)
folder=$(dirname "$library")
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

# Whatever is defined, with its type: a variable would show here as well.
exports_are_those_of_the_list() {
    # A line of type A is the version itself.
    nm -D --defined-only --with-symbol-versions "$library" |
        cut -d' ' -f2- | grep -v '^A ' | awk -v list="$list" '
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

# A program that was linked requires a version, and the loader then refuses a
# library that is too old.
a_program_requires_the_version() {
    work=$(mktemp -d)
    printf '%s\n' '#include <hone/hone.h>' \
        'int main(void) { return hone_version()[0] != 48; }' >"$work/user.c"
    gcc -I "$staged/usr/include" -o "$work/user" "$work/user.c" -L "$folder" \
        -lhone && LD_LIBRARY_PATH=$folder "$work/user" &&
        readelf -V "$work/user" | grep 'Name: HONE_0\.1 '
    result=$?
    rm -r "$work"
    return "$result"
}

soname_is_there() {
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    echo "SONAME is '$soname'"
    [ "$soname" = libhone.so.0 ] && [ -e "$folder/$soname" ]
}

# Names that hidden visibility does not cover must begin with hone_. DW.ref.* is
# made by the compiler for exceptions: hidden, and shared by all objects.
static_names_are_hones() {
    nm -g --defined-only "$folder/libhone.a" 2>/dev/null |
        awk 'NF == 3 { names++ }
            NF == 3 && $3 !~ /^(hone_|DW[.]ref[.])/ { print $3; bad = 1 }
            END { exit bad || !names }'
}

# A function of a variant stands in the variant's file with its whole name, so
# that git grep finds the file: hone_zero_is_avx2 in src/zero/avx2.c.
variants_stand_in_their_files() {
    sed -n 's/^HONE_VARIANT(\([a-z0-9]*\),.*/\1/p' "$sources"/*/variants.def |
        sort -u | while read -r variant; do
        nm -g --defined-only "$folder/libhone.a" 2>/dev/null |
            sed -n "s/.* T \(hone_[a-z0-9_]*_$variant\)\$/\1/p" |
            while read -r name; do
                echo "$name"
                grep -qw "$name" "$sources"/*/"$variant.c" ||
                    echo "not in src/*/$variant.c: $name"
            done
    done | awk '/^not in/ { print; bad = 1 } { n++ } END { exit bad || n < 9 }'
}

echo 1..5
check "exports are those of $list" exports_are_those_of_the_list
check 'a program requires the version of its symbols' \
    a_program_requires_the_version
check 'SONAME is libhone.so.0, by which it is found' soname_is_there
check 'every global name of the static library begins with hone_' \
    static_names_are_hones
check 'every function of a variant stands in the file of the variant' \
    variants_stand_in_their_files
exit "$failed"
