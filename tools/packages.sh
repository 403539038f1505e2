# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154,SC2317 # what dev sets; called by stage
# ./dev packages: the Debian packages, built twice and tried as a user does.
# Sourced by dev, which sets root, log, stage; after tools/php-chroot.sh.

# packages_for SUITE: what differs between the releases of Debian.
packages_for() {
    suite=$1
    case $suite in
    bookworm) release=12 php=8.2 ;;
    trixie) release=13 php=8.4 ;;
    esac
    built=$root/build/packages/$suite
    # The chroots: one with what the build needs, one with nothing, a copy of the
    # latter.
    builder=$root/build/sysroot/packages-$suite
    bare=$builder-bare
    user=$builder-user
}

# remove_chroot FOLDER: with what a killed command has mounted.
remove_chroot() {
    chroot=$1
    chroot_unmount
    rm -rf --one-file-system "$chroot"
}

# bare_chroot FOLDER: a minimal Debian that apt can update and add to.
bare_chroot() {
    chroot=$1
    complete=$suite
    # shellcheck disable=SC2034 # for bootstrap; apt is there anyway
    packages=apt
    if ! chroot_complete; then
        remove_chroot "$chroot"
        mkdir -p "$chroot"
        bootstrap "$suite" "$chroot" "$(debian_mirror)"
        # A line of README is typed as it stands.
        echo 'APT::Get::Assume-Yes "true";' >"$chroot/etc/apt/apt.conf.d/50yes"
        echo "$complete" >"$chroot/complete"
    fi
    cp /etc/resolv.conf "$chroot/etc/"
    chroot_run apt-get -q update
}

# Only what debian/control and lintian name, beside the minimum.
builder_chroot() {
    bare_chroot "$builder"
    rm -rf "$builder/build"
    mkdir -p "$builder/build/control"
    debian_folder "$builder/build/control/debian"
    chroot_run sh -euc '
        export DEBIAN_FRONTEND=noninteractive
        apt-get -q --no-install-recommends install dpkg-dev lintian
        apt-get -q --no-install-recommends build-dep /build/control'
}

# debian_folder FOLDER: packaging/debian with the PHP and the version of a release.
debian_folder() {
    rm -rf "$1"
    cp -R packaging/debian "$1"
    if [ "$php" != 8.2 ]; then
        sed -i "s/php8\.2/php$php/g" "$1/control" "$1/tests/control"
        for each in "$1"/php8.2-hone*; do
            mv "$each" "$1/php$php-hone${each##*/php8.2-hone}"
        done
    fi
    sed -i "1s/-1) unstable/-1~deb${release}u1) $suite/" "$1/changelog"
}

# The sources as they are now, packed as a release is, and debian/ in them.
packages_source() {
    folder=$builder/build/first/hone-$version
    mkdir -p "$folder"
    if [ -n "${tarball:-}" ]; then
        # ./dev release packs what it releases.
        cp "$tarball" "$builder/build/first/hone_$version.orig.tar.xz"
        tar -xf "$tarball" --no-same-owner -C "$builder/build/first"
        debian_folder "$folder/debian"
        return
    fi
    source_files | xargs -0 cp --parents -Pt "$folder"
    chroot=$builder
    # By the date of the changelog, the tarball has the same bytes each time.
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        cd /build/first
        chmod -R u=rwX,go=rX "hone-$0"
        date=$(dpkg-parsechangelog -S Date \
            -l "hone-$0/packaging/debian/changelog")
        tar --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner \
            -cf "hone_$0.orig.tar" "hone-$0"
        xz -9 "hone_$0.orig.tar"' "$version"
    debian_folder "$folder/debian"
}

# packages_build FOLDER VARIABLE=VALUE...: source and binary packages.
packages_build() {
    where=/build/$1/hone-$version
    shift
    chroot=$builder
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run "$@" DEB_BUILD_OPTIONS="parallel=$jobs" sh -euc '
        cd "$0"
        dpkg-buildpackage -us -uc' "$where"
}

# What may leave a trace differs from the first time: folder, time, zone, language.
packages_build_again() {
    chroot=$builder
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        mkdir -p "/build/$1"
        cd "/build/$1"
        cp /build/first/hone_*.tar.* .
        dpkg-source --no-check -x /build/first/hone_*.dsc "hone-$0"' \
        "$version" "$second"
    packages_build "$second" TZ=UTC+11 LC_ALL=C HOME=/
}

# The packages and their source have the same bytes, and go to build/packages.
compare_builds() {
    rm -rf "$built"
    mkdir -p "$built"
    cp "$builder"/build/first/*.deb "$builder/build/first"/*.dsc \
        "$builder"/build/first/*.tar.* "$built"
    count=0
    for each in "$built"/*; do
        cmp "$each" "$builder/build/$second/${each##*/}" || return 1
        count=$((count + 1))
    done
    echo "$count files are the same"
    [ "$count" -ge 10 ]
}

packages_lint() {
    chroot=$builder
    chroot_run sh -euc '
        cd /build/first
        lintian --allow-root --fail-on error,warning --show-overrides \
            hone_*.changes'
}

# user_chroot: a copy of the bare chroot, with the packages in a folder.
user_chroot() {
    remove_chroot "$user"
    # Without a /proc that a killed command has left mounted there.
    cp -a --one-file-system "$bare" "$user"
    mkdir "$user/packages"
    cp "$built"/*.deb "$user/packages"
    chroot=$user
}

# Installed, upgraded, removed and purged.
packages_life() {
    user_chroot
    cp packaging/life.sh "$user/packages"
    chroot_run sh /packages/life.sh "$php"
}

# The lines of README, each product in a chroot of its own.
packages_readme() {
    for product in command php library; do
        user_chroot
        # shellcheck disable=SC2016 # expanded by the inner shell
        chroot_own_mounts sh -euc '
            mount -t proc proc "$1/proc" || :
            exec python3 -B packaging/readme.py "$0" "$1"' \
            "$product" "$user"
    done
}

# Without libhone: the clean export, and in ./dev release the archive for PIE.
packages_extension() {
    user_chroot
    cp packaging/extension.sh "$builder/build/first/hone_$version.orig.tar.xz" \
        "$user/packages"
    if [ -n "${tarball:-}" ]; then
        cp "${tarball%/*}/php_hone-v$version-src.tgz" "$user/packages"
    fi
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_run sh -euc '
        export DEBIAN_FRONTEND=noninteractive
        apt-get -q --no-install-recommends install make gcc clang libc6-dev \
            xz-utils "php$0-dev" "php$0-cli"
        for archive in /packages/*.tar.xz /packages/*.tgz; do
            [ -e "$archive" ] || continue
            for compiler in gcc clang; do
                rm -rf /source
                mkdir /source
                tar -xf "$archive" -C /source --strip-components=1
                sh /packages/extension.sh "php-config$0" /source \
                    "CC=$compiler"
            done
        done' "$php"
}

packages_tests() {
    user_chroot
    # The name of the file has the architecture.
    # shellcheck disable=SC2016 # expanded by the inner shell
    chroot_own_mounts sh -euc '
        mount -t proc proc "$0/proc" || :
        exec autopkgtest -B "$1"/*.dsc "$1"/*.deb -- chroot "$0"' \
        "$user" "$built"
}

# What of README none of the three chroots runs, and why.
packages_left_out() {
    sed -n 's/^[a-z]* leaves out: //p' "$log/$suite-readme.log" | sort |
        uniq -c | sed -n 's/^ *3 /    left out of README: /p'
}

# Size of each package, for docs/packages.md.
packages_sizes() {
    for each in "$built"/*.deb; do
        case $each in
        *-dbgsym_*) continue ;;
        esac
        say "    $(dpkg-deb -f "$each" Package): $(stat -c %s "$each") bytes, $(
            dpkg-deb -f "$each" Installed-Size) KiB installed"
    done
}

# packages_in SUITE
packages_in() {
    packages_for "$1"
    must "$suite-builder" builder_chroot
    must "$suite-bare" bare_chroot "$bare"
    must "$suite-source" packages_source
    must "$suite-build" packages_build first
    must "$suite-build-again" packages_build_again
    must "$suite-compare" compare_builds
    must "$suite-lintian" packages_lint
    must "$suite-life" packages_life
    must "$suite-readme" packages_readme
    packages_left_out
    must "$suite-extension" packages_extension
    must "$suite-tests" packages_tests
    remove_chroot "$user"
    rm -rf "$builder/build"
    packages_sizes
}

packages_all() {
    version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
    second=second/in-another-folder
    case $(head -n 1 packaging/debian/changelog) in
    "hone ($version-1) "*) ;;
    *) die "packages: packaging/debian/changelog is not of $version-1" ;;
    esac
    for each; do
        packages_in "$each"
    done
}
