# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# ./dev static: the command as one static file by musl; with --check, built twice and
# tried where nothing else is. Sourced by dev, which sets root, jobs, log, stage,
# static_check, and by tools/needs.sh gcc_version.

# In the order of their builds: libnbd parses addresses by libxml2.
static_libraries='zlib libdeflate libzstd xz-utils bzip2 libxml2 libnbd openssl
    curl'

# static_for CPU: what differs between the CPUs.
static_for() {
    cpu=$1
    triplet=$cpu-linux-gnu
    case $cpu in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    esac
    # Headers of the kernel, by libc6-dev, and those that depend on the CPU.
    kernel=/usr/include
    asm=/usr/include/$triplet
    if [ "$cpu" != "$(uname -m)" ]; then
        kernel=/usr/$triplet/include
        asm=$kernel
    fi
    static=$root/build/static
    musl=$static/musl-$cpu
    built=$static/$cpu
}

# static_packages CPU...: what ./dev static needs for them. The CPU of this machine
# needs no cross compiler.
static_packages() {
    echo gcc libc6-dev dpkg-dev meson ninja-build pkgconf git repository
    [ -z "$static_check" ] ||
        echo openssl python3-pytest python3-hypothesis python3-pip /proc
    for each; do
        static_for "$each"
        [ "$cpu" = "$(uname -m)" ] ||
            echo "gcc-$gcc_version-$(echo "$triplet" | tr _ -)" \
                "libc6-dev-$debian-cross"
    done
}

# The sources of the libraries, of Debian 12, whose checksums apt verifies.
static_fetch() {
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    # shellcheck disable=SC2086
    debs_source "$static/sources" $static_libraries cmocka
}

# musl as Debian 13 has it: that of Debian 12 asks DNS servers by UDP alone, and
# has neither statx() nor preadv2().
static_musl() {
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    for each in 'debian trixie' 'debian-security trixie-security'; do
        echo "deb [signed-by=$key] http://deb.debian.org/$each main"
    done >"$static/musl.list"
    debs_unpack "$musl" '' musl-dev \
        -o Dir::Etc::SourceList="$static/musl.list" \
        -o Dir::Etc::SourceParts=- -o APT::Architecture="$debian" \
        -o APT::Architectures="$debian" -o Dir::State::status=/dev/null
}

# static_compiler FOLDER: FOLDER/bin/hone-cc compiles and links with what is in
# FOLDER/usr, and finds no library of this system. No path of FOLDER gets into what
# it makes; OpenSSL keeps the name of its compiler.
static_compiler() {
    where=$1
    rm -rf "$where"
    mkdir -p "$where/bin" "$where/usr"
    cp -R "$musl/usr/include/$cpu-linux-musl" "$where/usr/include"
    cp -R "$musl/usr/lib/$cpu-linux-musl" "$where/usr/lib"
    # On Debian 13 they are links.
    cp -RL "$kernel/linux" "$kernel/asm-generic" "$asm/asm" "$where/usr/include"
    # Macros alone; musl has no such header.
    cp "$asm/sys/queue.h" "$where/usr/include/sys"
    cat >"$where/musl.specs" <<SPECS
*startfile:
%{!shared:$where/usr/lib/rcrt1.o} $where/usr/lib/crti.o crtbeginS.o%s

*endfile:
crtendS.o%s $where/usr/lib/crtn.o

*link:
-nostdlib %{shared:-shared;:-static -pie --no-dynamic-linker} -z text --gc-sections

*link_libgcc:
-L$where/usr/lib -L.%s

*libgcc:
libgcc.a%s libgcc_eh.a%s

*lib:
-lc -ldl_find_object

SPECS
    cat >"$where/bin/hone-cc" <<CC
#!/bin/sh
kind=-static-pie
for each; do
    case \$each in
    -shared) kind= ;;
    # Meson looks there itself.
    --print-search-dirs) exec echo "libraries: =$where/usr/lib/" ;;
    esac
done
exec $triplet-gcc-$gcc_version -nostdinc -isystem "$where/usr/include" \\
    -isystem "$("$triplet-gcc-$gcc_version" -print-file-name=include)" \\
    -specs="$where/musl.specs" \$kind -fPIE -O2 -ffunction-sections \\
    -fdata-sections -fstack-protector-strong \\
    -ffile-prefix-map="$where=." "\$@"
CC
    chmod 755 "$where/bin/hone-cc"
    "$where/bin/hone-cc" -c packaging/dl_find_object.c -o "$where/find.o"
    "$triplet-ar" rcs "$where/usr/lib/libdl_find_object.a" "$where/find.o"
}

# What OpenSSL and the OCI image have as their date.
static_date() {
    SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -S Timestamp \
        -l packaging/debian/changelog)
    export SOURCE_DATE_EPOCH
}

# static_environment: for what follows in this shell.
static_environment() {
    PATH=$where/bin:$PATH
    PKG_CONFIG_LIBDIR=$where/usr/lib/pkgconfig
    PKG_CONFIG_SYSROOT_DIR=$where
    static_date
    CC=hone-cc
    AR=$triplet-ar
    RANLIB=$triplet-ranlib
    # No C++ is compiled. Configure scripts would take the system's compiler, and end
    # if no preprocessor works.
    CXX=false
    CXXCPP='hone-cc -E -x c'
    export PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
    export CC AR RANLIB CXX CXXCPP
}

# static_unpack PACKAGE: its source in FOLDER/PACKAGE, with Debian's patches.
static_unpack() {
    dpkg-source --no-check -x "$static/sources/$1"_*.dsc "$where/$1"
    case $1 in
    curl)
        # The last two are for the builds with other libraries of TLS.
        for each in 99_nss 90_gnutls; do
            patch -R -p1 -d "$where/curl" \
                -i "$where/curl/debian/patches/$each.patch"
        done
        ;;
    esac
    # Nothing that autoconf has made is made anew.
    find "$where/$1" -name aclocal.m4 -exec touch {} +
    find "$where/$1" \( -name configure -o -name config.h.in -o \
        -name Makefile.in -o -name 'stamp-*' \) -exec touch {} +
}

# static_configure OPTION...: as for another machine, so that nothing is run.
static_configure() {
    ./configure --quiet --build="$(gcc -dumpmachine)" \
        --host="$cpu-linux-musl" --prefix=/usr --sysconfdir=/etc \
        --disable-shared --enable-static --disable-dependency-tracking "$@"
}

# static_make ARGUMENT...
static_make() {
    make -j "$jobs" "$@"
}

# static_pc NAME LIBRARY VERSION: the file of pkg-config that the build of this
# library does not make.
static_pc() {
    mkdir -p "$where/usr/lib/pkgconfig"
    printf '%s\n' "Name: $1" "Description: $1" "Version: $3" \
        "Libs: -L/usr/lib -l$2" 'Cflags: -I/usr/include' \
        >"$where/usr/lib/pkgconfig/$1.pc"
}

# static_library PACKAGE, in its folder.
static_library() {
    case $1 in
    zlib)
        ./configure --static --prefix=/usr
        static_make install DESTDIR="$where"
        ;;
    libdeflate)
        static_make CC="$CC" AR="$AR" libdeflate.a
        cp libdeflate.a "$where/usr/lib"
        cp libdeflate.h "$where/usr/include"
        static_pc libdeflate deflate "$(sed -n \
            's/^#define LIBDEFLATE_VERSION_STRING *"\(.*\)"/\1/p' libdeflate.h)"
        ;;
    libzstd)
        static_make -C lib libzstd.a
        static_make -C lib install-static install-includes install-pc \
            PREFIX=/usr DESTDIR="$where"
        ;;
    xz-utils)
        static_configure --disable-xz --disable-xzdec --disable-lzmadec \
            --disable-lzmainfo --disable-scripts --disable-doc --disable-nls
        static_make -C src/liblzma install DESTDIR="$where"
        ;;
    bzip2)
        static_make CC="$CC" AR="$AR" RANLIB="$RANLIB" libbz2.a
        cp libbz2.a "$where/usr/lib"
        cp bzlib.h "$where/usr/include"
        ;;
    libxml2)
        static_configure --with-minimum --with-threads
        static_make libxml2.la
        static_make install-libLTLIBRARIES install-pkgconfigDATA \
            DESTDIR="$where"
        static_make -C include install DESTDIR="$where"
        ;;
    libnbd)
        static_configure --without-gnutls --with-libxml2 --disable-fuse \
            --disable-ocaml --disable-python --disable-golang
        static_make -C common/utils
        static_make -C lib install DESTDIR="$where"
        static_make -C include install DESTDIR="$where"
        echo 'Requires.private: libxml-2.0' >>"$PKG_CONFIG_LIBDIR/libnbd.pc"
        ;;
    cmocka)
        # The linker would lead its clock to a test that has another one.
        # shellcheck disable=SC2086
        "$CC" $cmocka_has -UHAVE_CLOCK_REALTIME -Iinclude -c src/cmocka.c
        "$AR" rcs "$where/usr/lib/libcmocka.a" cmocka.o
        cp include/cmocka*.h "$where/usr/include"
        static_pc cmocka cmocka 1.1.5
        ;;
    openssl) static_openssl ;;
    curl) static_curl ;;
    esac
}

# Without what loads code or reads openssl.cnf, and without old algorithms.
static_openssl() {
    ./Configure "linux-$cpu" --prefix=/usr --libdir=lib --openssldir=/etc/ssl \
        no-shared no-module no-dso no-engine no-legacy no-tests no-async \
        no-autoload-config no-ui-console no-comp no-dtls no-srp no-cms no-cmp \
        no-ts no-ct no-ocsp no-gost no-aria no-bf no-camellia no-cast no-idea \
        no-mdc2 no-rc2 no-rc4 no-seed no-sm2 no-sm3 no-sm4 no-whirlpool
    static_make build_libs
    static_make install_dev DESTDIR="$where"
}

static_curl() {
    static_configure --with-openssl --disable-ftp --disable-file \
        --disable-ldap --disable-ldaps --disable-rtsp --disable-dict \
        --disable-telnet --disable-tftp --disable-pop3 --disable-imap \
        --disable-smb --disable-smtp --disable-gopher --disable-mqtt \
        --disable-manual --disable-ntlm --disable-tls-srp --disable-alt-svc \
        --disable-hsts --disable-openssl-auto-load-config \
        --without-zlib --without-brotli --without-zstd --without-libpsl \
        --without-libidn2 --without-librtmp --without-nghttp2 \
        --without-libssh2 --without-libgsasl --without-ca-path \
        --with-ca-bundle=/etc/ssl/certs/ca-certificates.crt
    static_make -C lib
    static_make -C lib install DESTDIR="$where"
    static_make -C include install DESTDIR="$where"
    static_make install-pkgconfigDATA DESTDIR="$where"
}

# static_build_libraries FOLDER PACKAGE...
static_build_libraries() {
    where=$1
    shift
    static_environment
    for package; do
        static_unpack "$package"
        (cd "$where/$package" && static_library "$package")
        # Programs in the way of a linker.
        rm -f "$where/usr/lib/"*.la
        # Its licence is all that is needed.
        mkdir -p "$where/licences"
        cp "$where/$package/debian/copyright" \
            "$where/licences/$package.copyright"
        rm -rf "${where:?}/$package"
    done
}

# The sources as they are now, in FOLDER/hone.
static_copy() {
    where=$1
    rm -rf "$where/hone" "$where/build"
    mkdir "$where/hone"
    source_files | xargs -0 cp --parents -Pt "$where/hone"
}

# static_cross FOLDER: FOLDER/cross.ini is Meson's file for its compiler.
static_cross() {
    where=$1
    cat >"$where/cross.ini" <<INI
[binaries]
c = '$where/bin/hone-cc'
ar = '$triplet-gcc-ar-$gcc_version'
strip = '$triplet-strip'
pkgconfig = 'pkg-config'

[properties]
sys_root = '$where'
pkg_config_libdir = '$where/usr/lib/pkgconfig'
needs_exe_wrapper = $([ "$cpu" = "$(uname -m)" ] && echo false || echo true)

[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
INI
}

# static_meson OPTION...: by the compiler of FOLDER alone.
static_meson() {
    unset CC CXX AR
    meson setup "$where/build" "$where/hone" --cross-file "$where/cross.ini" \
        --buildtype=release --prefix=/usr -Dlibdir=lib \
        -Ddefault_library=static -Dprefer_static=true -During=disabled \
        -Disal=disabled "$@"
}

# static_hone FOLDER: FOLDER/out has the command and its licences.
static_hone() {
    static_copy "$1"
    static_cross "$1"
    static_environment
    static_meson -Dlibcrypto=enabled -Dliblzma=enabled -Dlibbz2=enabled \
        -Dlibcurl=enabled -Dlibnbd=enabled
    ninja -j "$jobs" -C "$where/build" cli/hone
    rm -rf "$where/out"
    mkdir "$where/out"
    "$triplet-strip" -o "$where/out/hone" "$where/build/cli/hone"
    cp -R "$where/licences" "$where/out"
    cp LICENSE "$where/out/licences/hone.copyright"
    cp "$musl/usr/share/doc/musl-dev/copyright" \
        "$where/out/licences/musl.copyright"
    cp "/usr/share/doc/gcc-$gcc_version-base/copyright" \
        "$where/out/licences/libgcc.copyright"
    static_sources >"$where/out/licences/sources"
}

# static_row FILE NAME: the checksum of FILE under another name.
static_row() {
    digest=$(sha256sum <"$1")
    printf '%s  %s\n' "${digest%% *}" "$2"
}

# What the command consists of: Debian's sources, and the archives that Debian has
# compiled.
static_sources() {
    for each in $static_libraries; do
        (cd "$static/sources" && sha256sum "${each}_"*.dsc)
    done
    static_row "$where/usr/lib/libc.a" "musl_$(dpkg-parsechangelog -S Version \
        -l "$musl/usr/share/doc/musl-dev/changelog.Debian.gz").a"
    libgcc=$("$triplet-gcc-$gcc_version" -print-libgcc-file-name)
    static_row "$libgcc" "libgcc_$(dpkg-query -W -f '${Version}' \
        "$(dpkg-query -S "$libgcc" | sed 's/:.*//')").a"
}

# What may leave a trace differs from the first time: folder, time, zone, language.
static_again() {
    TZ=UTC+11 LC_ALL=C HOME=/
    export TZ LC_ALL HOME
    static_compiler "$again"
    # shellcheck disable=SC2086
    static_build_libraries "$again" $static_libraries
    static_hone "$again"
}

# The command has the same bytes.
static_compare() {
    diff -r "$first/out" "$again/out"
    rm -rf "$again"
}

# The command goes to build/static/CPU.
static_keep() {
    rm -rf "$built"
    cp -R "$first/out" "$built"
    sha256sum "$built/hone"
    size=$(stat -c %s "$built/hone")
    echo "$size bytes"
    [ "$size" -lt 10000000 ]
}

# The emulator of a CPU that is not this one's, for a folder that has nothing else.
static_emulator() {
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    debs_unpack "$static/qemu" '' qemu-user-static
}

# kubernetes-validate, which Debian has not. Without it, its tests are skipped, which
# ./dev test --all counts as failures.
static_kubernetes() {
    rm -rf build/kubernetes
    python3 -m pip install --quiet --no-deps --require-hashes \
        --only-binary :all: --target build/kubernetes \
        -r tests/static/kubernetes.txt || {
        rm -rf build/kubernetes
        echo 'kubernetes-validate is not installed'
    }
}

# with_static COMMAND...: in a network of its own, if the system allows one.
with_static() {
    static_for "${cpu:-$(uname -m)}"
    HONE_STATIC=$built
    export HONE_STATIC
    if [ "$cpu" != "$(uname -m)" ]; then
        HONE_EMULATOR=$static/qemu/usr/bin/qemu-$cpu-static
        export HONE_EMULATOR
    fi
    if unshare -n true 2>/dev/null; then
        HONE_OWN_NETWORK=yes unshare -n "$@"
    else
        "$@"
    fi
}

static_tests() {
    with_static python3 -m pytest -v -p no:cacheprovider \
        --basetemp=build/pytest-static tests/static
}

# The image for all CPUs that were built.
static_oci() {
    version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
    for each; do
        set -- "$@" "$each=$static/$each"
        shift
    done
    static_date
    python3 -B packaging/oci.py "$version" "$static/oci" "$@"
}

static_in() {
    static_for "$1"
    first=$static/trees/$cpu
    again=$static/again/in-another-folder/$cpu
    must "$cpu-musl" static_musl
    must "$cpu-compiler" static_compiler "$first"
    for library in $static_libraries; do
        must "$cpu-$library" static_build_libraries "$first" "$library"
    done
    must "$cpu-hone" static_hone "$first"
    if [ -z "$static_check" ]; then
        must "$cpu-keep" static_keep
        return
    fi
    must "$cpu-again" static_again
    must "$cpu-compare" static_compare
    must "$cpu-keep" static_keep
    [ "$cpu" = "$(uname -m)" ] || must "$cpu-emulator" static_emulator
    must "$cpu-tests" static_tests
    # What of README the test leaves out, and why.
    sed -n 's/^file leaves out: /    left out of README: /p' "$log/$cpu-tests.log"
}

# static_all CPU...
static_all() {
    static_for x86_64
    mkdir -p "$static"
    must static-sources static_fetch
    if [ -n "$static_check" ]; then
        stage static-kubernetes static_kubernetes
        [ -d build/kubernetes ] ||
            say '    kubernetes-validate is not installed, so its tests are skipped'
    fi
    for each; do
        static_in "$each"
    done
    must static-oci static_oci "$@"
    for each; do
        say "    build/static/$each/hone: $(stat -c %s "$static/$each/hone") bytes"
    done
}

# musl_configure: the library with musl and its tests, in build/musl. They need
# nothing but cmocka.
musl_configure() {
    static_for x86_64
    # shellcheck source=tools/debs.sh
    . tools/debs.sh
    where=$static/musl-tests
    complete=$(cksum tools/static.sh packaging/dl_find_object.c)
    if [ "$(cat "$where/complete" 2>/dev/null)" != "$complete" ]; then
        mkdir -p "$static"
        [ -d "$musl/usr/lib" ] || static_musl
        [ -d "$static/sources" ] || debs_source "$static/sources" cmocka
        static_compiler "$where"
        (static_build_libraries "$where" cmocka)
        static_cross "$where"
        echo "$complete" >"$where/complete"
    fi
    configure musl gcc --cross-file "$where/cross.ini" --buildtype=release \
        -Dtests=true -Dtools=false -Ddefault_library=static \
        -Dprefer_static=true -During=disabled
}
