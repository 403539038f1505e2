#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2317 # functions are called through check()
# check.sh STAGED WORK: build and run small users of the library installed
# below STAGED (prefix /usr), one for each way to find it. Prints TAP.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/support/tap.sh
. "$top/tests/support/tap.sh"
staged=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
rm -rf "${work:?}"/*
cd "$work"

libdir=$(dirname "$(find "$staged" -name libhone.so)")
export PKG_CONFIG_SYSROOT_DIR="$staged"
export PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
unset CC CXX

# run PROGRAM: with the installed library, which is in no system path.
run() {
    LD_LIBRARY_PATH=$libdir "$@"
}

# needs PROGRAM yes|no: does it load libhone.so.0?
needs() {
    got=no
    if readelf -d "$1" | grep -q 'NEEDED.*libhone\.so\.0'; then
        got=yes
    fi
    [ "$got" = "$2" ]
}

# shellcheck disable=SC2046
pkg_config_c() {
    gcc -std=c99 -pedantic -Wall -Wextra -Werror -o c "$here/use.c" \
        $(pkg-config --cflags --libs hone) &&
        needs c yes && run ./c
}

# shellcheck disable=SC2046
pkg_config_cxx() {
    g++ -std=c++11 -pedantic -Wall -Wextra -Werror -x c++ -o cxx \
        "$here/use.c" $(pkg-config --cflags --libs hone) &&
        needs cxx yes && run ./cxx
}

# shellcheck disable=SC2046
pkg_config_static() {
    gcc -static -o static "$here/use.c" \
        $(pkg-config --static --cflags --libs hone) &&
        ./static
}

# Sizes and offsets that programs are compiled with. For 64 bits.
layout_is_frozen() {
    if [ "$(getconf LONG_BIT)" -ne 64 ]; then
        echo 'this machine has not 64 bits' && return
    fi
    # shellcheck disable=SC2046
    gcc -std=c11 -fsyntax-only "$here/layout.c" $(pkg-config --cflags hone)
}

# shellcheck disable=SC2046
exceptions_pass() {
    g++ -std=c++11 -Wall -Wextra -Werror -o throw "$here/throw.cc" \
        $(pkg-config --cflags --libs hone) && run ./throw &&
        g++ -std=c++11 -static -o throw-static "$here/throw.cc" \
            $(pkg-config --static --cflags --libs hone) && ./throw-static
}

pkg_config_version() {
    [ "$(pkg-config --modversion hone)" = "$(run ./c | cut -d' ' -f1)" ]
}

cmake_shared() {
    cmake -G Ninja -S "$here/cmake" -B cmake -DCMAKE_PREFIX_PATH="$staged/usr" &&
        cmake --build cmake &&
        needs cmake/use_shared yes && run cmake/use_shared
}

cmake_static() {
    needs cmake/use_static no && cmake/use_static
}

# The tree may be moved after it was installed.
cmake_moved() {
    cp -a "$staged/usr" moved &&
        cmake -G Ninja -S "$here/cmake" -B cmake-moved \
            -DCMAKE_PREFIX_PATH="$work/moved" &&
        cmake --build cmake-moved &&
        LD_LIBRARY_PATH='' cmake-moved/use_shared
}

cmake_newer_is_refused() {
    mkdir newer &&
        printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' \
            'project(newer C)' 'find_package(hone 99.0 REQUIRED)' \
            >newer/CMakeLists.txt &&
        ! cmake -G Ninja -S newer -B newer/build -DCMAKE_PREFIX_PATH="$staged/usr"
}

# The sources as a subproject, through the wrap file.
meson_subproject() {
    mkdir -p meson/subprojects/hone &&
        cp "$here/meson/meson.build" "$here/use.c" meson/ &&
        cp "$top/packaging/hone.wrap" meson/subprojects/ &&
        for each in include src packaging meson.build meson_options.txt; do
            cp -R "$top/$each" meson/subprojects/hone/ || return 1
        done &&
        uninstalled meson setup meson/build meson --wrap-mode=nodownload \
            --buildtype=plain &&
        meson_use yes
}

# uninstalled COMMAND...: without the installed library.
uninstalled() {
    env -u PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR=/nonexistent "$@"
}

# meson_use yes|no: builds and runs the program, and needs().
meson_use() {
    uninstalled ninja -C meson/build use && meson/build/use &&
        needs meson/build/use "$1"
}

# In the folder of the test before: the objects are there.
meson_static() {
    meson configure meson/build -Dhone:default_library=static && meson_use no
}

# race_is_reported PROGRAM...: ThreadSanitizer's exit status.
race_is_reported() {
    status=0
    "$@" race >/dev/null 2>&1 || status=$?
    [ "$status" -eq 66 ]
}

# The installed library was built without ThreadSanitizer: the headers tell the
# tool of the order that the library makes. Older tools need fixed addresses.
thread_sanitizer() {
    still='env'
    setarch -R true 2>/dev/null && still='setarch -R'
    for compiler in gcc clang; do
        if ! echo 'int main(void) { return 0; }' |
            "$compiler" -fsanitize=thread -x c -o can - || ! $still ./can; then
            echo "$compiler has no ThreadSanitizer here" && continue
        fi
        # shellcheck disable=SC2046,SC2086
        "$compiler" -std=c11 -O1 -g -fsanitize=thread -Wall -Wextra -Werror \
            -D_GNU_SOURCE -o tsan "$here/tsan.c" \
            $(pkg-config --cflags --libs hone) -lpthread &&
            run $still ./tsan && race_is_reported run $still ./tsan || return 1
    done
}

# What the library loads is what README says; a build may lack liburing.
libraries_are_few() {
    others=$(readelf -d "$libdir/libhone.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -v '^lib\(c\|gcc_s\|uring\)\.so\.\|^ld-linux') || :
    [ -z "$others" ] || { echo "it needs $others" && false; }
}

# full_relro FILE...
full_relro() {
    for file; do
        readelf -lW "$file" | grep -q GNU_RELRO &&
            readelf -d "$file" | grep -q 'FLAGS.*NOW' || return 1
    done
}

relro() {
    full_relro "$libdir/libhone.so" "$staged/usr/bin/hone"
}

echo 1..15
check 'pkg-config, C99' pkg_config_c
check 'pkg-config, C++11' pkg_config_cxx
check 'pkg-config, wholly static program' pkg_config_static
check 'structs have the layout of docs/abi.md' layout_is_frozen
check 'exceptions pass through the library' exceptions_pass
check 'ThreadSanitizer in a program, not in the library' thread_sanitizer
check 'pkg-config tells the version of the library' pkg_config_version
check 'CMake, hone::hone' cmake_shared
check 'CMake, hone::static' cmake_static
check 'CMake, after the installed tree was moved' cmake_moved
check 'CMake refuses a version to come' cmake_newer_is_refused
check 'Meson subproject by the wrap file' meson_subproject
check 'Meson subproject with default_library=static' meson_static
check 'the library needs no other library than README says' libraries_are_few
check 'the library and the command have full RELRO' relro
exit "$failed"
