#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# watched.sh MODULE PHP PHP-CONFIG: an extension that watches PHP's file
# functions sees and changes as much with hone.file_reads on as off, wherever it
# stands and in whatever order they were loaded, and phpinfo() tells what was
# left alone for it. Run in a folder for scratch.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
module=$1
php=$2
config=$3
watcher=$PWD/watcher.so
failed=0

# Some PHPs have it inside; then it comes first whatever is said.
phar=
"$php" -n -m | grep -qx Phar || phar=phar

# watched WHERE LEAST EXTENSION...: told `LEAST` times or more, by stderr.
watched() {
    where=$1
    least=$2
    shift 2
    names="$where: $*"
    load=
    for extension; do
        load="$load -d extension=$extension"
    done
    for on in 0 1; do
        # shellcheck disable=SC2086
        WATCH=$where "$php" -n $load -d hone.file_reads="$on" \
            "$here/watched.php" >"answers.$on" 2>"told.$on"
        sed '/the short way/,$d' "answers.$on" >"same.$on"
    done
    if ! cmp told.0 told.1 || ! cmp same.0 same.1 ||
        [ "$(wc -l <told.1)" -lt "$least" ]; then
        echo "not the same, or too little: $names"
        diff told.0 told.1 | head -n 5
        diff same.0 same.1 | head -n 5
        failed=1
    fi
}

# info FUNCTION WHAT: what phpinfo() said of the last.
info() {
    grep -qx "$1 => $2" answers.1 || {
        echo "$names: phpinfo() does not say $1: $2"
        failed=1
    }
}

# shellcheck disable=SC2046
gcc -shared -fPIC -Wall -Wextra -Wno-unused-parameter -Werror -o "$watcher" \
    $("$config" --includes | sed 's/-I/-isystem /g') "$here/watcher.c"
others="left alone: another extension's"
for where in functions opener reads closes; do
    watched "$where" 14 "$watcher" "$module"
    info file_get_contents "$others"
    info fpassthru "$others"
    watched "$where" 14 "$module" "$watcher"
done
if [ -n "$phar" ]; then
    # Phar wraps two of them, and passes on to what it found.
    watched functions 14 "$watcher" phar "$module"
    info file_get_contents "$others"
    info readfile "$others"
    watched functions 14 phar "$watcher" "$module"
    info readfile "$others"
    watched functions 14 phar "$module" "$watcher"
    watched functions 14 "$module" phar "$watcher"
    watched functions 14 "$module" "$watcher" phar
fi
# Every handler that it found has to be back at the end, and phar is no one to
# be left alone for.
for order in "$watcher $module" "$watcher ${phar} $module" \
    "${phar} $watcher $module" "$module $watcher"; do
    # shellcheck disable=SC2086
    watched nothing 0 $order
    info file_get_contents some
    info readfile some
    info fpassthru some
    # Those that are a FILE too.
    info 'other than a plain stream' 3
    if grep . told.0 told.1; then
        echo "$names"
        failed=1
    fi
done
exit "$failed"
