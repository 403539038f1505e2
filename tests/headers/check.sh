#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh DIRECTORY: each installed public header compiles on its own, twice
# over, as C99 and as C++11, with both compilers, without a warning; the inline
# functions too, and for 32 bits. Prints TAP.
set -eu

include=$1
warnings='-pedantic -Wall -Wextra -Wshadow -Wundef -Wstrict-aliasing=1 -Werror'
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"

# compiles COMPILER LANGUAGE STANDARD HEADER [OPTION...]: twice over, alone. The
# inline functions become code, for warnings that depend on it; those of gcc depend on
# its optimizer, too.
compiles() {
    compiler=$1
    language=$2
    standard=$3
    header=$4
    shift 4
    if [ "$language" = c++ ]; then
        set -- -Wold-style-cast -Wzero-as-null-pointer-constant "$@"
    else
        set -- -Wbad-function-cast "$@"
    fi
    case $compiler in
    g*) set -- -O2 "$@" ;;
    esac
    # shellcheck disable=SC2086
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
        "$compiler" -x "$language" "-std=$standard" $warnings \
            -DHONE_EMIT_INLINES "$@" -I "$include" -c -o /dev/null -
}

# each COMPILER LANGUAGE STANDARD HEADER
each() {
    check "$4 as $3 by $1" compiles "$@"
}

# What the comments of a header name, the header declares.
names_are_declared() {
    printf '%s\n' '#include <hone/read_file.h>' \
        'size_t no_limit = SIZE_MAX;' 'int current = AT_FDCWD;' |
        gcc -x c -std=c99 -D_GNU_SOURCE -I "$include" -fsyntax-only - &&
        printf '%s\n' '#include <hone/stream.h>' 'size_t none = SIZE_MAX;' \
            'int from[] = {SEEK_SET, SEEK_CUR, SEEK_END};' |
        gcc -x c -std=c99 -I "$include" -fsyntax-only -
}

# Who drops an element, an object or an error is warned.
results_are_looked_at() {
    for call in 'hone_ring_enqueue(ring, 0)' 'hone_mempool_get(cache)' \
        'hone_read_file(file, "", 0)' 'hone_stream_read(stream, file, 1)'; do
        ! printf '#include <hone/hone.h>\nvoid f(struct hone_ring *ring, %s%s { %s; }\n' \
            'struct hone_mempool_cache *cache, struct hone_stream *stream, ' \
            'struct hone_file_data *file)' "$call" |
            gcc -x c -std=c99 -Wall -Werror -I "$include" -c -o /dev/null - \
                2>/dev/null || return 1
    done
}

# The C library's headers of x86-64 serve i386 too, but for one that is empty.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/gnu"
: >"$work/gnu/stubs-32.h"

# each_32 COMPILER LANGUAGE STANDARD HEADER
each_32() {
    check "$4 as $3 by $1 for i386" compiles "$@" -m32 -isystem "$work" \
        -isystem "/usr/include/$(gcc -print-multiarch)"
}

for path in "$include"/hone/*.h; do
    header=hone/$(basename "$path")
    each gcc c c99 "$header"
    each clang c c99 "$header"
    each g++ c++ c++11 "$header"
    each clang++ c++ c++11 "$header"
    if [ "$(uname -m)" = x86_64 ]; then
        each_32 clang c c99 "$header"
        each_32 clang++ c++ c++11 "$header"
    else
        number=$((number + 1))
        echo "ok $number - $header for i386 # SKIP this is not x86-64"
    fi
done
check 'read_file.h and stream.h declare what they name' names_are_declared
check 'results that must not be lost are looked at' results_are_looked_at
echo "1..$number"
exit "$failed"
