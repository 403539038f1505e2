# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Debian packages unpacked in a folder, which needs no rights and leaves the
# system as it is. Sourced by what tools/ has for ./dev.

# debs_unpack FOLDER WHOLE ALONE APT-OPTION...: empty FOLDER and unpack there
# the packages WHOLE, even if this system has them, with what they depend on
# and this system has not; and the packages ALONE, by themselves.
#
# By an index of our own, which may be newer than the system's, but the
# system's list of what is installed. apt checks the signatures.
debs_unpack() {
    debs=$1
    whole=$2
    alone=$3
    shift 3
    rm -rf "$debs"
    mkdir -p "$debs/apt/lists/partial" "$debs/apt/cache/archives/partial"
    set -- -q -o Dir::State="$debs/apt" \
        -o Dir::State::status=/var/lib/dpkg/status \
        -o Dir::Cache="$debs/apt/cache" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o APT::Sandbox::User=root "$@"
    apt-get "$@" update
    if [ -n "$whole" ]; then
        # shellcheck disable=SC2086
        whole=$(apt-get "$@" -s --reinstall --no-install-recommends \
            install $whole | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
        [ -n "$whole" ]
    fi
    # shellcheck disable=SC2086
    (cd "$debs/apt" && apt-get "$@" download $whole $alone)
    for package in "$debs"/apt/*.deb; do
        dpkg-deb -x "$package" "$debs"
    done
    rm -rf "$debs/apt"
}

# debs_once FOLDER WHOLE ALONE: debs_unpack, unless FOLDER has these packages.
debs_once() {
    [ "$(cat "$1/complete" 2>/dev/null)" != "$2 $3" ] || return 0
    debs_unpack "$1" "$2" "$3"
    rm -rf "$1/usr/share/doc" "$1/usr/share/locale"
    echo "$2 $3" >"$1/complete"
}

# debs_source FOLDER PACKAGE...: Debian 12's source packages in an empty FOLDER,
# not unpacked. By an index of our own, as above.
debs_source() {
    debs=$1
    shift
    wanted=$*
    rm -rf "$debs"
    mkdir -p "$debs/apt/lists/partial" "$debs/apt/cache/archives/partial"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    for each in 'debian bookworm' 'debian-security bookworm-security'; do
        echo "deb-src [signed-by=$key] http://deb.debian.org/$each main"
    done >"$debs/apt/source.list"
    set -- -q -o Dir::State="$debs/apt" -o Dir::Cache="$debs/apt/cache" \
        -o Dir::Etc::SourceList="$debs/apt/source.list" \
        -o Dir::Etc::SourceParts=- -o Acquire::Languages=none \
        -o APT::Sandbox::User=root
    apt-get "$@" update
    for package in $wanted; do
        debs_newest "$@"
    done
    rm -rf "$debs/apt"
}

# What the configuration of cmocka would find. Its library is one file.
# shellcheck disable=SC2034 # for who builds it
cmocka_has='-DHAVE_MALLOC_H -DHAVE_INTTYPES_H -DHAVE_SIGNAL_H -DHAVE_STRINGS_H
    -DHAVE_GCC_THREAD_LOCAL_STORAGE -DHAVE_CLOCK_REALTIME -DHAVE_STRUCT_TIMESPEC
    -DHAVE_SIGLONGJMP -DHAVE_STRSIGNAL'

# debs_newest APT-OPTION...: the newest version of the source package $package whose
# files the mirror has. It may have an index that is newer than its files.
debs_newest() {
    for version in $(apt-cache "$@" showsrc "$package" |
        sed -n 's/^Version: //p' | sort -rVu); do
        if (cd "$debs" && apt-get "$@" source --download-only \
            "$package=$version"); then
            return
        fi
        echo "the mirror lacks files of $package $version"
        rm -f "$debs/${package}_"*
    done
    return 1
}
