#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# watched.sh MODULE PHP PHP-CONFIG: an extension that watches PHP's file
# functions sees the same calls with hone.file_reads on and off, whatever it
# replaces, and in whatever order the extensions were loaded; and phpinfo() shows
# the functions that are not wrapped. Runs in a scratch folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
module=$1
php=$2
config=$3
watcher=$PWD/watcher.so
failed=0

# Some PHPs have phar inside, and then it is always first.
phar=
"$php" -n -m | grep -qx Phar || phar=phar

cat >watched.php <<'END'
<?php
// Calls each function that reads files as the fast path would serve it, and some
// with streams that are a FILE too; then prints the rows of phpinfo(). Runs in a
// scratch folder.
file_put_contents('watched', str_repeat("0123456789 watched\n", 6000));
file_put_contents('watched.short', "0123456789 watched\n");
$name = getcwd() . '/watched';
foreach ([0, 1] as $turn) {
    realpath($name);
    echo md5(file_get_contents($name)), ' ', count(file($name)), ' ', md5(stream_get_contents(fopen($name, 'r'))), ' ',
        md5(fread(fopen($name, 'r'), 100000)), ' ', json_encode(copy($name, "$name.copy")), "\n";
    ob_start();
    readfile($name);
    fpassthru(fopen("$name.short", 'r'));
    echo md5(ob_get_clean()), "\n";
}
if (function_exists('watcher_read_as_file')) {
    foreach (['fread', 'stream_get_contents', 'fpassthru'] as $function) {
        $stream = fopen($name, 'r');
        echo watcher_read_as_file($stream), ' ';
        ob_start();
        $result = $function === 'fread' ? fread($stream, 100000) : $function($stream);
        echo md5(ob_get_clean()), ' ', is_string($result) ? strlen($result) . ' ' . md5($result) : json_encode($result), ' ', ftell($stream),
            ' ', json_encode(feof($stream)), "\n";
    }
}
ob_start();
(new ReflectionExtension('hone'))->info();
$info = strstr(ob_get_clean(), 'on the fast path');
echo preg_replace('/ => [1-9]\d*$/m', ' => some', strstr($info, "\n\n", true)), "\n";
echo implode(preg_grep('/plain stream/', explode("\n", $info))), "\n";
END

# watched WHERE LEAST EXTENSION...: at least LEAST lines come from the watcher, by
# stderr.
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
            watched.php >"answers.$on" 2>"seen.$on"
        sed '/on the fast path/,$d' "answers.$on" >"same.$on"
    done
    if ! cmp seen.0 seen.1 || ! cmp same.0 same.1 ||
        [ "$(wc -l <seen.1)" -lt "$least" ]; then
        echo "not the same, or too few lines: $names"
        diff seen.0 seen.1 | head -n 5
        diff same.0 same.1 | head -n 5
        failed=1
    fi
}

# info FUNCTION WHAT: the row of phpinfo() in the last run.
info() {
    grep -qx "$1 => $2" answers.1 || {
        echo "$names: phpinfo() does not show $1 => $2"
        failed=1
    }
}

# shellcheck disable=SC2046
gcc -shared -fPIC -Wall -Wextra -Wno-unused-parameter -Werror -o "$watcher" \
    -I"$here/../../php/fileread" \
    $("$config" --includes | sed 's/-I/-isystem /g') "$here/watcher.c"
others="not wrapped: another extension was first"
for where in functions opener reads closes; do
    watched "$where" 14 "$watcher" "$module"
    info file_get_contents "$others"
    info fpassthru "$others"
    watched "$where" 14 "$module" "$watcher"
done
if [ -n "$phar" ]; then
    # Phar wraps two functions, and calls the handlers that it found.
    watched functions 14 "$watcher" phar "$module"
    info file_get_contents "$others"
    info readfile "$others"
    watched functions 14 phar "$watcher" "$module"
    info readfile "$others"
    watched functions 14 phar "$module" "$watcher"
    watched functions 14 "$module" phar "$watcher"
    watched functions 14 "$module" "$watcher" phar
fi
# The watcher finds its handlers restored at the end. Phar alone does not keep a
# function from being wrapped.
for order in "$watcher $module" "$watcher ${phar} $module" \
    "${phar} $watcher $module" "$module $watcher"; do
    # shellcheck disable=SC2086
    watched nothing 0 $order
    info file_get_contents some
    info readfile some
    info fpassthru some
    # The streams that are a FILE too.
    info 'not a plain stream' 3
    if grep . seen.0 seen.1; then
        echo "$names"
        failed=1
    fi
done
exit "$failed"
