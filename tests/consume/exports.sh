#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# exports.sh STAGED LIST: the installed shared library exports exactly what
# LIST names, and is called what callers will look for. Prints TAP.
set -eu

staged=$1
list=$2
library=$(find "$staged" -name libhone.so)
failed=0

echo 1..3

# Whatever is defined, with its type: a variable would show here as well.
got=$(nm -D --defined-only "$library" | cut -d' ' -f2- | LC_ALL=C sort)
want=$(grep -v '^#' "$list" | LC_ALL=C sort)
if [ "$got" = "$want" ]; then
    echo "ok 1 - exports are those of $list"
else
    failed=1
    echo "not ok 1 - exports differ from $list"
    printf '%s\n' "$got" |
        awk -v list="$list" '
            BEGIN { while ((getline line < list) > 0) want[line] = 1 }
            { if ($0 in want) delete want[$0]; else print "# not in the list: " $0 }
            END { for (w in want) if (w !~ /^#/) print "# no longer exported: " w }'
fi

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" = libhone.so.0 ] && [ -e "$(dirname "$library")/$soname" ]; then
    echo "ok 2 - SONAME is $soname"
else
    failed=1
    echo "not ok 2 - SONAME is '$soname'"
fi

# Static: what hidden visibility does not cover must at least be named hone_*.
names=$(nm -g --defined-only "$(dirname "$library")/libhone.a" 2>/dev/null |
    awk 'NF == 3 && $3 !~ /^hone_/ { print $3 }')
if [ -z "$names" ]; then
    echo 'ok 3 - every global name of the static library begins with hone_'
else
    failed=1
    echo 'not ok 3 - global names that do not begin with hone_:'
    printf '# %s\n' "$names"
fi
exit "$failed"
