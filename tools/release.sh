# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# ./dev release VERSION: what a person signs and uploads, made twice. Sourced by
# dev, which sets root, log, stage; after tools/packages.sh and tools/static.sh.

work=$root/build/release/work
# Where all is made for the second time.
other=$work/again/in-another-folder
cpus='x86_64 aarch64'

# release_has FILE VERSION: ends the command if the FILE has another one.
release_has() {
    [ "$2" = "$released" ] ||
        die "release: $1 has version '$2', not '$released'"
}

# release_ready VERSION: ends the command if it would not be a release.
release_ready() {
    [ $# -eq 1 ] || die 'release: takes one version, such as 0.1.0'
    released=$1
    tree_is_known ||
        die "release: $tree_unknown"
    release_has meson.build \
        "$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)"
    release_has NEWS.md "$(sed -n '/^## /{s///p;q}' NEWS.md)"
    release_has packaging/debian/changelog \
        "$(sed -n '1s/^hone (\(.*\)-[^-]*) .*/\1/p' packaging/debian/changelog)"
    [ -z "$(git status --porcelain --untracked-files=normal)" ] ||
        die 'release: the tree has changes that are not committed, see git status'
    tag=$(git rev-parse -q --verify "refs/tags/v$released^{commit}" || :)
    case $tag in
    '' | "$(git rev-parse HEAD)") ;;
    *) die "release: the tag v$released is not the commit that is checked out" ;;
    esac
}

# The date of the tarball and the lists: that of the commit. The packages and the
# static command have that of packaging/debian/changelog, so that they can be made
# again of the tarball alone.
release_date() {
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
}

# release_xz FILE
release_xz() {
    (
        unset XZ_OPT XZ_DEFAULTS
        xz -9 -T 1 "$1"
    )
}

# release_commit REPOSITORY FOLDER NAME [PATH...]: its commit, or these paths of it,
# as FOLDER/NAME.tar, whatever the user, the umask and the settings of git are.
# `meson dist` would write the name of the user.
release_commit() {
    repository=$1
    folder=$2
    name=$3
    shift 3
    mkdir -p "$folder"
    git -C "$repository" -c tar.umask=0022 -c core.autocrlf=false \
        -c core.eol=lf -c core.attributesFile=/dev/null archive --format=tar \
        --prefix="$name/" --output="$folder/$name.tar" HEAD -- "$@"
}

# release_source REPOSITORY FOLDER: FOLDER/hone-VERSION.tar.xz, hone.c and hone.h, and
# the extension for PHP's installer PIE, which puts the name of the tag into that of
# the file.
release_source() {
    release_commit "$1" "$2" "hone-$released"
    release_xz "$2/hone-$released.tar"
    extension=php_hone-v$released-src
    release_commit "$1" "$2" "$extension" composer.json LICENSE php src include
    gzip -9 -n <"$2/$extension.tar" >"$2/$extension.tgz"
    rm "$2/$extension.tar"
    python3 -B "$1/tools/single.py" "$2"
}

# release_other COMMAND...: what may leave a trace differs from the first time.
release_other() {
    (
        umask 077
        TZ=UTC+11 LC_ALL=C HOME=/
        export TZ LC_ALL HOME
        "$@"
    )
}

# The sources, from this repository and from a clone of it.
release_sources() {
    rm -rf "$work"
    release_source "$root" "$work/files"
    mkdir -p "$other"
    release_other git clone -q "file://$root" "$other/clone"
    release_other release_source "$other/clone" "$other/files"
    rm -rf "$other/clone"
    diff "$work/files" "$other/files"
}

# release_tar FILE OPTION...: without owners, in one order, by one date.
release_tar() {
    LC_ALL=C tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" \
        --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf "$@"
}

# release_files BUILT FOLDER: all files of the release into FOLDER, which has the
# tarball. BUILT has what ./dev packages and ./dev static made.
release_files() {
    release_date
    for each in $cpus; do
        name=hone-$released-linux-$each
        release_tar "$2/$name.tar" --transform="s,^,$name/," \
            -C "$1/static/$each" hone licences
        release_xz "$2/$name.tar"
    done
    release_tar "$2/hone-$released-oci.tar" -C "$1/static/oci" \
        blobs index.json oci-layout
    for each in "$1"/packages/*; do
        release_debian "$each" "$2"
    done
    cmp "$2/hone-$released.tar.xz" "$2/hone_$released.orig.tar.xz"
    python3 -B packaging/spdx.py "$released" "$2" "$1/static/sources"
    (cd "$2" && LC_ALL=C sha256sum -- *) >"$2.sums"
    mv "$2.sums" "$2/SHA256SUMS"
}

# release_debian BUILT FOLDER: the packages of one Debian. Two of them have the same
# file if they have the same name.
release_debian() {
    for file in "$1"/*; do
        copy=$2/${file##*/}
        if [ -e "$copy" ]; then
            cmp "$file" "$copy" || return 1
        else
            cp "$file" "$copy"
        fi
    done
}

# Of copies, whose dates and modes are others.
release_again() {
    mkdir "$other/static"
    cp -R "$root/build/packages" "$other"
    for each in sources oci $cpus; do
        cp -R "$root/build/static/$each" "$other/static"
    done
    release_files "$other" "$other/files"
}

# The files have the same bytes, and go to build/release/VERSION.
release_compare() {
    diff -r "$work/files" "$other/files"
    count=$(find "$work/files" -type f | wc -l)
    echo "$count files are the same"
    rm -rf "$root/build/release/$released"
    mv "$work/files" "$root/build/release/$released"
    rm -rf "$work"
}

# release_bare SUITE: README's lines that need the source tree, as a new user types
# them.
release_bare() {
    packages_for "$1"
    user_chroot
    git clone -q "file://$root" "$user/hone"
    chroot_run sh /hone/packaging/bare.sh
    remove_chroot "$user"
}

# After release_ready.
release_all() {
    must release-source release_sources
    # shellcheck disable=SC2034 # packages_source packs it
    tarball=$work/files/hone-$released.tar.xz
    packages_all bookworm trixie
    for each in bookworm trixie; do
        must "$each-dev" release_bare "$each"
    done
    # shellcheck disable=SC2086
    static_all $cpus
    must release-files release_files "$root/build" "$work/files"
    must release-again release_other release_again
    must release-compare release_compare
    say "    build/release/$released: $(git rev-parse HEAD)"
}
