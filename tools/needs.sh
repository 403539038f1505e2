# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2034,SC2154 # for and from those who source this
# What a command of ./dev needs. Sourced by dev, which sets command, and sets
# needs_only if ./dev COMMAND --needs was typed.

# The compilers and the PHP of the distribution: names of packages have their
# versions.
case $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null) in
trixie)
    gcc_version=14 clang_version=19 php_version=8.4
    allocators='libmimalloc3 libtcmalloc-minimal4t64'
    ;;
*)
    gcc_version=12 clang_version=14 php_version=8.2
    allocators='libmimalloc2.0 libtcmalloc-minimal4'
    ;;
esac

# need WORD...: each command calls it before it builds anything. A WORD is a Debian
# package, which root installs, or a condition: /proc, root, mounts, repository. Ends the
# command if something is missing. With --needs, prints all of it and what is
# missing, and ends the command with status 1 if something is.
need() {
    # shellcheck disable=SC2046,SC2048,SC2086 # one word each
    set -- $(printf '%s\n' $* | sort -u)
    lacking=$(missing "$@")
    if [ -n "$needs_only" ]; then
        say "./dev $command needs:" "$@"
        # shellcheck disable=SC2086
        say missing: ${lacking:-nothing}
        [ -z "$lacking" ] || exit 1
        exit 0
    fi
    [ -n "$lacking" ] || return 0
    need_conditions
    command -v dpkg-query >/dev/null ||
        die "$command needs these programs: $lacking"
    [ "$(id -u)" -eq 0 ] || die "Debian packages are missing. Run as root:
    apt-get install --no-install-recommends $lacking"
    say 'installing packages of Debian; with --needs, the command only lists them'
    must debian-packages install_packages
    # git may be there only now.
    tree_begin
    lacking=$(missing "$@")
    need_conditions
}

# Ends the command if a condition is among $lacking.
need_conditions() {
    case " $lacking " in
    *' /proc '*) die "$command needs /proc: mount -t proc proc /proc" ;;
    *' root '*) die "$command needs root, who may make and enter a chroot" ;;
    *' mounts '*)
        die "$command needs mounts of its own, and 'unshare -m' fails. In a chroot: \
enter it by a folder that is mounted, as mount --bind FOLDER FOLDER makes it"
        ;;
    *' repository '*)
        git ls-files >/dev/null || :
        die "$command needs the repository of git: clone it, as this user"
        ;;
    esac
}

# missing WORD...: those that are not there, in one line.
missing() {
    there=$(installed "$@")
    for each; do
        case $each in
        /proc) [ -e /proc/self ] && continue ;;
        root) [ "$(id -u)" -eq 0 ] && continue ;;
        mounts) unshare -m true 2>/dev/null && continue ;;
        repository)
            ! command -v git >/dev/null || git ls-files >/dev/null 2>&1 && continue
            ;;
        *)
            case " $there " in *" $each "*) continue ;; esac
            ;;
        esac
        printf '%s ' "$each"
    done
}

# installed PACKAGE...: those that are, in one line. On a system without dpkg those
# whose program is there: a library that is missing is found by Meson.
installed() {
    if command -v dpkg-query >/dev/null; then
        # shellcheck disable=SC2016 # dpkg-query expands it
        dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
            sed -n 's/^installed //p' | tr '\n' ' '
        return
    fi
    for each; do
        case $each in
        ninja-build) program=ninja ;;
        pkgconf) program=pkg-config ;;
        gcc | g++ | clang | clang-format | clang-tidy | meson | cmake | make | \
            git | python3 | strace | valgrind | shellcheck | openssl | \
            debootstrap) program=$each ;;
        *) program=: ;;
        esac
        ! command -v "$program" >/dev/null || printf '%s ' "$each"
    done
}

install_packages() {
    say "installing $lacking"
    # Lists at hand may be enough; if not, or if they are stale, fetch them.
    if ! apt_install >/dev/null 2>&1; then
        apt-get -q update
        apt_install
    fi
}

apt_install() {
    # shellcheck disable=SC2086
    apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends $lacking
}
