#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# single.sh STAGED WORK [all]: hone.c and hone.h, which tools/single.py makes, in
# programs; libhone.so is that below STAGED. With "all", each option of hone.c with
# each compiler. Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/support/tap.sh
. "$top/tests/support/tap.sh"
staged=$(cd "$1" && pwd)
library=$(find "$staged" -name libhone.so)
archive=$(find "$staged" -name libhone.a)
mkdir -p "$2"
work=$(cd "$2" && pwd)
all=${3:-}
rm -rf "${work:?}"/*
cd "$work"
# Those of a strict program that takes the two files.
warnings='-Wall -Wextra -Wshadow -Wundef -Wconversion -Wsign-conversion -Werror'
# Older sanitizers need fixed addresses.
still='env'
setarch -R true 2>/dev/null && still='setarch -R'

# The second one from another folder. Names of this machine are in neither. musl has no
# headers of the kernel, so hone.c includes none. cpuid.h of GCC 10 has no guard.
made_twice() {
    mkdir again &&
        python3 -B "$top/tools/single.py" . &&
        (cd / && python3 -B "$top/tools/single.py" "$work/again") &&
        cmp hone.c again/hone.c && cmp hone.h again/hone.h &&
        ! python3 -B "$top/tools/single.py" 2>usage && grep -q FOLDER usage &&
        ! grep -F -e "$top/include" -e "$top/src" -e "$top/tools" hone.c hone.h &&
        ! grep '#include <\(linux\|asm\)/' hone.c hone.h &&
        [ "$(grep -c '#include <cpuid.h>' hone.c)" -eq 1 ]
}

# Lines of hone.c outside of each #if that asks for other parts.
zero_alone_is_short() {
    lines=$(awk '/^#if/ { depth++; if (!off && /HONE_ONLY/ && !/ZERO/) off = depth }
        !off { n++ }
        /^#endif/ { if (off == depth) off = 0; depth-- }
        END { print n }' hone.c) &&
        [ "$lines" -gt 1000 ] && [ "$lines" -le 2500 ]
}

# parts NAME COMPILER OPTION...: hone.c, and a program that uses its parts.
# shellcheck disable=SC2086
parts() {
    name=$1
    shift
    runs=${emulator:-$still}
    libraries=
    case $* in *URING*) libraries=-luring ;; esac
    "$@" $warnings -std=c11 -c -o "$name.o" hone.c &&
        "$@" $warnings -std=c99 -pedantic -I. -o "$name" "$here/parts.c" \
            "$name.o" $libraries -pthread &&
        $runs "./$name" "$here/parts.c"
}

# With the object of another test.
# shellcheck disable=SC2086
cxx() {
    for compiler in g++ clang++; do
        "$compiler" -std=c++11 $warnings -pedantic -I. -x c++ -o cxx \
            "$here/parts.c" -x none gcc.o -pthread &&
            ./cxx "$here/parts.c" || return 1
    done
}

# Each function, as libhone.so has them, if a program asks for it.
exports_are_those_of_the_library() {
    gcc -O0 -shared -fPIC -DHONE_EMIT_INLINES -o exports.so \
        -D'HONE_API=__attribute__((visibility("default")))' hone.c -pthread &&
        nm -D --defined-only exports.so | cut -d' ' -f3 | sort >has &&
        sed -n 's/^[A-Z] \(.*\)@@.*/\1/p' "$top/tests/exports.txt" | sort >wants &&
        diff wants has
}

# With the object of another test, too. -rdynamic exports what is not hidden. Then the
# module has libhone.a in place of hone.c.
copies_in_a_process() {
    gcc -shared -fPIC -DMODULE -I. -o module.so "$here/copies.c" gcc.o -pthread &&
        gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -rdynamic -I. -o copies \
            "$here/copies.c" gcc.o -ldl -pthread &&
        ./copies ./module.so "$library" &&
        gcc -shared -fPIC -DMODULE -I. -o archive.so "$here/copies.c" "$archive" \
            -Wl,--exclude-libs,ALL -pthread &&
        ./copies ./archive.so "$library"
}

# The variants of another CPU, or none.
cross() {
    triplet=$1
    emulator="$2 -L /usr/$1"
    shift 2
    version=$(gcc -dumpversion)
    parts "$triplet" "$triplet-gcc-${version%%.*}" "$@"
}

# Bytes that are copied, cleared or read, in a buffer with room for fewer. The last byte
# is in another buffer if the room is 20 or 100. The first call finds the variant of the
# CPU.
overflow_is_reported() {
    cat >overflow.c <<'C'
#include <stdlib.h>
#include "hone.h"
int
main(int argc, char **argv)
{
	size_t room = (size_t)atoi(argv[1]), n = (size_t)atoi(argv[2]);
	char *all[9], *to, from[256] = {0};
	int what = argc > 3 ? argv[3][0] : 0;

	for (int i = 0; i < 9; i++)
		all[i] = calloc(1, room);
	to = all[4];
	hone_memcpy(to, from, room, HONE_COPY_KEEP);
	if (what == 'c')
		hone_memset_zero(to, n, HONE_COPY_KEEP);
	else if (what == 'm')
		hone_memcpy(to, from, n, HONE_COPY_KEEP);
	else if (what == 't')
		room += hone_buffer_is_zero(to, n);
	else if (what == 'f')
		room += hone_find_nonzero(to, n);
	for (int i = 0; i < 9; i++)
		free(all[i]);
	return room == 1000; /* never */
}
C
    gcc -O2 -DNDEBUG -fsanitize=address -I. -o overflow overflow.c hone.c -pthread
    # shellcheck disable=SC2086
    for sizes in '2 3' '4 5' '8 9' '59 60' '20 60' '100 200' '100 228'; do
        for what in move clear test find; do
            $still ./overflow ${sizes% *} ${sizes% *} "$what" || return 1
            ! $still ./overflow $sizes "$what" 2>overflow.log &&
                grep -q heap-buffer-overflow overflow.log || return 1
        done
    done
}

# With functions of the program that leave by exceptions.
exceptions_pass() {
    gcc -O2 -fexceptions -c -o throws.o hone.c &&
        g++ -std=c++11 -Wall -Wextra -Werror -I. -o throw "$here/throw.cc" throws.o \
            -pthread && ./throw
}

# The tool checks the order that the library makes, without the headers' help.
# shellcheck disable=SC2086
thread_sanitizer() {
    for compiler in gcc clang; do
        set -- "$compiler" -std=c11 -O1 -g -fsanitize=thread $warnings -DHONE_NO_TSAN
        "$@" -c -o tsan.o hone.c &&
            "$@" -D_GNU_SOURCE -I. -o tsan "$here/tsan.c" tsan.o -pthread &&
            $still ./tsan || return 1
        status=0
        $still ./tsan race >/dev/null 2>&1 || status=$?
        [ "$status" -eq 66 ] || return 1
    done
}

check 'hone.c and hone.h have the same bytes when made again' made_twice
check 'HONE_ONLY_ZERO leaves at most 2,500 lines' zero_alone_is_short
# Where the programs for the installed library look.
mkdir hone && cp hone.h hone
check 'gcc' parts gcc gcc -O0 -fPIC
check 'C++11' cxx
check 'three copies in a process, of which one is unloaded' copies_in_a_process
check 'exports are those of libhone.so' exports_are_those_of_the_library
check 'clang with AddressSanitizer and UBSan' parts asan clang -O0 \
    -fsanitize=address,undefined -fno-sanitize-recover=all
for part in ZERO COPY RING MEMPOOL STREAM; do
    check "gcc, HONE_ONLY_$part" parts only gcc -O0 "-DHONE_ONLY_$part"
done
if [ -n "$all" ]; then
    check 'as many instructions as libhone.a' \
        python3 -B "$top/tests/counts/single.py" "$staged" .
    check 'clang with MemorySanitizer' parts msan clang -O0 -fsanitize=memory
    check 'aarch64' cross aarch64-linux-gnu qemu-aarch64 -O0
    check 's390x' cross s390x-linux-gnu qemu-s390x -O2
    check 'exceptions pass through hone.c' exceptions_pass
    check 'ThreadSanitizer in hone.c and the program' thread_sanitizer
    check 'MemorySanitizer with an optimizer' parts msan clang -O2 -DNDEBUG \
        -fsanitize=memory
    check 'AddressSanitizer and UBSan with an optimizer' parts asan clang -O1 \
        -fsanitize=address,undefined -fno-sanitize-recover=all
    check 'gcc with AddressSanitizer reports the overflow of short copies' \
        overflow_is_reported
    check 'io_uring' parts uring gcc -O0 -DHONE_WITH_URING
    for level in -O0 -O2 -O3; do
        for compiler in gcc clang; do
            check "$compiler $level" parts other "$compiler" "$level"
            check "$compiler $level -DNDEBUG" parts other "$compiler" "$level" -DNDEBUG
        done
    done
    for part in ZERO COPY RING MEMPOOL STREAM; do
        check "clang -O2, HONE_ONLY_$part" \
            parts only clang -O2 "-DHONE_ONLY_$part" -DNDEBUG
    done
fi
echo "1..$number"
exit "$failed"
