# SPDX-License-Identifier: BSD-3-Clause
"""The figures of README.md, from the kept runs."""
import json

import cases
import kept
import pages_cache
import pages_convert
import tables

# Those of Debian 12, for runs that do not have their rivals' versions.
VERSIONS = {"qemu-img": "qemu-img 7.2", "apcu": "APCu 5.1.22",
            "dpdk": "DPDK 22.11"}


def disk_images():
    """The figure of the command, and where it is from."""
    machine, report = pages_convert.newest()
    ours, best = pages_convert.first("raw to qcow2, zlib")
    tool = pages_convert.version(best)
    if "version" not in best:
        tool = VERSIONS.get(best["tool"], tool)
    if pages_convert.is_one_core(best):
        tool += " without `-W`, on one core,"
    large = report.get("large", "40 GiB with 4 GiB of files")
    size = ours["disk_usage"] / best["disk_usage"] - 1
    larger = f" and a file {100 * size:.1f} % larger" if size > 0.001 else ""
    return (f"{large}: {ours['wall']:.1f} s{larger}; "
            f"{tool} takes {best['wall']:.1f} s ({kept.where(machine)})",
            f"`./dev bench convert` {report['machine']['date']}")


def apcu(run):
    """APCu with its version in a run."""
    version = run.versions.get("apcu")
    return f"APCu {version}" if version else VERSIONS["apcu"]


def php(runs):
    """The figure of the cache, and where it is from."""
    run = pages_cache.newest(runs["cache"]) or (
        runs["cache"][tables.README_MACHINE])
    array = run.cases["fetch 10,000 nested"]
    best = min(array[rival] for rival in pages_cache.RIVALS)
    return (f"fetch an array of 10,000 rows: {array['hone']:.0f} ns; "
            f"{apcu(run)} takes {best / 1e6:.1f} ms "
            f"({kept.where(run.machine)})",
            f"`./dev bench cache` {run.about['date']}")


def dpdk(run):
    """DPDK with its version in a run."""
    for package, version in (run.rivals or {"packages": {}})["packages"].items():
        if package.startswith("librte-eal"):
            return f"DPDK {version.split('-')[0]}"
    return VERSIONS["dpdk"]


def library(runs):
    """The figure of the library, and where it is from."""
    run = max(runs["mempool"].values(), key=lambda run: run.about["date"])
    pairs = run.compare("2t-keep8192-n32", "hone", cases.POOL)
    rival = cases.NAMES[pairs.rival].replace("DPDK", dpdk(run))
    return ("get and put objects of a pool, 32 at a time, two threads: "
            f"{kept.shown('mempool', pairs.ns)}; {rival} has "
            f"{kept.shown('mempool', pairs.rival_ns)} "
            f"({kept.where(run.machine)})",
            f"`./dev bench mempool` {run.about['date']}")


def products(runs):
    """The table: a command, a figure and a link for each product."""
    figures, sources = zip(disk_images(), php(runs), library(runs))
    begins = [
        ("**hone**, a command that converts, checks and compares disk images",
         "`hone convert -c disk.img disk.qcow2`", "#disk-images"),
        ("**the PHP extension**, a shared cache with APCu's functions",
         "`apcu_fetch('routes')`", "#php"),
        ("**libhone**, a C library: zero detection, copies, pools, rings, queues, "
         "file reading", "`#include \"hone.h\"`", "#c")]
    rows = [["product", "try it", "one figure, and its rival", ""],
            ["---"] * 4]
    rows += [[what, command, figure, f"[more]({link})"]
             for (what, command, link), figure in zip(begins, figures)]
    return ("\n".join("| " + " | ".join(row) + " |" for row in rows) +
            f"\n\nMeasured by {', '.join(sources)}.")


def price():
    """What the PHP cache costs: the memory of a value, beside APCu."""
    path = max(kept.RESULTS.glob("cache-memory-*.json"))
    sizes = json.loads(path.read_text())["bytes"]

    def factor(value):
        return f"{sizes[value]['hone'] / sizes[value]['apcu-php']:.1f}"

    return ("The price is memory: 1,000 rows of 5 fields take "
            f"{factor('1,000 rows of 5 fields')} times as much as in APCu, small "
            f"arrays {factor('a configuration of 9 small arrays')} times, strings "
            f"{factor('a string of 1,024 bytes')} times. While memory is short, "
            "arrays and objects are packed: they take less than in APCu, and "
            "a fetch takes longer ([all sizes](docs/php-cache.md)).")
