#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# As root in a bare Debian with a clone of the repository in /hone: apt knows what
# each command of ./dev needs, and the first lines of README work. ./dev release
# runs it in chroots.
set -eu

cd /hone
# Each command, and the options with other needs.
sed -n 's/^\([a-z]*\)) cmd_.*/\1/p' dev >/commands
printf '%s\n' 'test --all' 'test models' 'test mutants' 'test dpdk-sid' 'check abi' \
    'check coverage' 'bench --rivals debian12' 'bench php' 'bench cache' \
    'bench convert' 'bench reach' 'bench dpdk' 'bench args' 'php --real' \
    'php --arginfo' 'static --check' >>/commands
while read -r words; do
    # shellcheck disable=SC2086
    said=$(./dev $words --needs </dev/null || :)
    echo "$said" | sed -n '/^missing: /!p'
    # What apt cannot install ends this script.
    # shellcheck disable=SC2046
    apt-get -q -s --no-install-recommends install \
        $(echo "$said" | sed -n 's/^missing: nothing//; s/^missing: //p') >/dev/null
done </commands

./dev static "$(uname -m)"
"build/static/$(uname -m)/hone" --version
./dev run
