# SPDX-License-Identifier: BSD-3-Clause
"""The targets: what each part must reach beside its rivals.

A function of PARTS takes medians[case][subject] in nanoseconds and yields
targets. The value of a target is a ratio of speeds. A function yields no target
for a case or a subject that was not run.
"""
import collections
import re
import statistics

Target = collections.namedtuple("Target", "name value required")

ZERO_RIVALS = ("naive", "memcmp", "qemu-algorithm", "isa-l")


def zero(medians):
    def target(case, rival, required, ours="hone", name=None):
        row = medians.get(case, {})
        if ours in row and rival in row:
            yield Target(name or f"{case}: {ours} against {rival}",
                         row[rival] / row[ours], required)

    for size in ("4K", "8K", "16K", "32K"):
        yield from target(f"hot-{size}", "load-512", 0.90)
        yield from target(f"hot-{size}", "qemu-algorithm", 1.6)
    for size in ("4K", "16K", "32K"):
        yield from target(f"misaligned-{size}", "hone-aligned", 0.95)
    for size in ("1M", "512M"):
        yield from target(f"hot-{size}", "load-512", 0.95)
        yield from target(f"hot-{size}", "qemu-algorithm", 1.0)
    yield from target("lengths-1..256", "qemu-algorithm", 4.0)
    yield from target("lengths-1..256", "isa-l", 3.0)
    for case in ("hot-16", "hot-100", "hot-512"):
        for rival in ZERO_RIVALS:
            yield from target(case, rival, 1.01)
    for case in medians:
        yield from target(case, "qemu-algorithm", 1.0, ours="hone-avx2")
    yield from target("hot-4K", "hone", 0.87, ours="find_nonzero")


def worst(medians, what, required, ratio, cases):
    """One target for many cases: the smallest ratio, named for its case."""
    found = [(r, case) for case in cases for r in ratio(medians[case])]
    if found:
        value, case = min(found)
        yield Target(f"{what}: worst of {len(found)} cases, {case}", value,
                     required)


def against(rival, ours):
    def ratio(row):
        if ours in row and rival in row:
            yield row[rival] / row[ours]
    return ratio


def auto_against_better(row):
    if {"auto", "keep", "stream"} <= set(row):
        yield min(row["keep"], row["stream"]) / row["auto"]


def starting(medians, *stems):
    """The cases STEM-SIZE."""
    return [case for case in medians
            if case.rpartition("-")[0] in stems]


def bytes_of(case):
    """hot-4K -> 4096; 0 for a range"""
    match = re.fullmatch(r".*-(\d+)([KM]?)", case)
    return match and int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]] or 0


def holds(row):
    """Whether two rows of the same code are within 5 %: two of glibc, in a run that
    has two; two of keep, which is what keep of the best variant is."""
    variants = [s for s in row if s.startswith("keep-") and s != "keep-shared"]
    pairs = [("glibc", "glibc-again"), ("keep", (variants or ["keep"])[-1])]
    return all(0.95 <= row.get(again, row[one]) / row[one] <= 1 / 0.95
               for one, again in pairs)


def kept_copies(medians):
    """KEEP beside glibc: never slower, which is what a run can show of it."""
    rows = {case: medians[case] for case in starting(
        medians, "hot", "dst17", "src17", "both17", "dst1-src18", "alike")
        if {"keep", "glibc"} <= set(medians[case])}
    if rows:
        yield Target(f"keep against glibc: geometric mean of {len(rows)} cases",
                     statistics.geometric_mean(
                         row["glibc"] / row["keep"] for row in rows.values()),
                     1.0)
    short = [(row["glibc"] - row["keep"], case) for case, row in rows.items()
             if bytes_of(case) < 1024]
    if short:
        value, case = min(short)
        yield Target(f"keep below 1 KiB: ns that glibc takes more: worst of "
                     f"{len(short)} cases, {case}", value, -0.7)
    yield from worst(medians, "keep against glibc, from 1 KiB on", 0.95,
                     against("glibc", "keep"),
                     [case for case, row in rows.items()
                      if bytes_of(case) >= 1024 and holds(row)])


def copy(medians):
    def target(case, rival, required, ours):
        row = medians.get(case, {})
        for ratio in against(rival, ours)(row):
            yield Target(f"{case}: {ours} against {rival}", ratio, required)

    yield from kept_copies(medians)
    for most, required in (("64", 3.0), ("256", 1.15), ("4K", 0.97),
                           ("64K", 0.97)):
        yield from target(f"lengths-1..{most}", "glibc", required, "keep")
    yield from target("first-word-8..64", "glibc", 0.97, "keep")
    yield from worst(medians, "first word after keep", 0.97,
                     against("glibc", "keep"),
                     starting(medians, "first-word"))
    for size in ("64K", "128K", "256K", "512K", "1M", "2M", "4M"):
        row = medians.get(f"cold-{size}", {})
        loads = [ns for s, ns in row.items() if s.startswith("load-")]
        yield from target(f"cold-{size}", "glibc", 1.5, "stream")
        if loads and "stream" in row:
            yield Target(f"cold-{size}: stream against the fastest load",
                         min(loads) / row["stream"], 0.75)
    for case in ("resident-1M", "resident-half-L2"):
        yield from target(case, "undisturbed", 1 / 1.2, "protect")
    for stem in ("read", "chase"):
        yield from worst(medians, f"{stem}: auto against the better", 1 / 1.05,
                         auto_against_better, starting(medians, stem))
    yield from worst(medians, "blocks: hone against glibc", 1.0,
                     against("glibc", "hone"), starting(medians, "blocks"))


DPDK = "dpdk-ring"  # the default of DPDK
DPDK_OTHERS = ("dpdk-rts", "dpdk-hts", "dpdk-stack", "dpdk-lf-stack")
MALLOCS = ("glibc", "jemalloc", "mimalloc", "mimalloc-3", "tcmalloc")
STORES = ("store-64", "store-128", "store-256", "store-512")


def mempool(medians):
    def target(case, rivals, what, required, ours="hone"):
        row = medians.get(case, {})
        times = [row[r] for r in rivals if r in row]
        if ours in row and times:
            yield Target(f"{case}: {ours} against {what}",
                         min(times) / row[ours], required)

    for case in ("keep512-n32", "keep8192-n8", "keep8192-n32"):
        for ours in ("hone", "hone-cursor"):
            yield from target(f"1t-{case}", [DPDK], DPDK, 3.0, ours)
    yield from target("1t-keep512-n1", [DPDK], DPDK, 3.0, "hone-cursor")
    yield from target("2t-keep8192-n32", [DPDK], DPDK, 4.0)
    for threads, required in ((1, 15.0), (2, 25.0)):
        yield from target(f"{threads}t-keep8192-n256", [DPDK], DPDK, required,
                          "hone-magazine")
    yield from target("one-cpu-keep8192-n32", [DPDK], DPDK, 100.0)
    yield from target("one-cpu-keep8192-n32", DPDK_OTHERS, "the best other",
                      3.0)
    yield from target("64B-1t-keep8192-n32", MALLOCS, "the best malloc", 18.0)
    yield from target("64B-cross-n32", MALLOCS, "the best malloc", 4.0)
    yield from target("1t-keep128-n32", STORES, "the fastest stores", 0.8)
    for keep in (32, 128, 256, 512):
        yield from target(f"native-1t-keep{keep}-n32",
                          [DPDK, "dpdk-later-get"], "the better of DPDK's",
                          1.1)


def stream(medians):
    def target(case, rival, required, ours="hone"):
        row = medians.get(case, {})
        for ratio in against(rival, ours)(row):
            yield Target(f"{case}: {ours} against {rival}", ratio, required)

    # As runs before 2026-11-29 name it.
    php = "php-8.2" if "php-8.2" in medians.get("read-12", {}) else "php"
    for case in medians:
        if case.startswith(("read-", "fresh-")):
            yield from target(case, "bare", 1 / 1.03)
    yield from target("read-12", php, 1.7)
    yield from target("read-10M", php, 2.0)
    yield from target("fresh-10M", php, 2.0, "hone-huge")
    yield from target("fread-700K", php, 1.5)
    yield from target("fread-700K", "stdio", 1.0)
    yield from target("files-10000", "bare", 1.0, "hone-batch")
    yield from target("files-10000", "bare", 1.5, "hone-batch-2t")
    for case in ("lines-80", "lines-80-16M"):
        yield from target(case, "getline", 2.0)
    yield from target("socket-8K", "poll-recv", 1.0)


# The cache of the PHP extension.

APCU = ("apcu-php", "apcu-igbinary", "apcu-default")
SHAPES = ("20 B", "1 KB", "64 integers", "100 keys", "600 options",
          "2,000 rows", "10,000 nested", "object graph")
ARRAYS = SHAPES[2:-1]

# Case: required ratios of a fetch and of a store, to APCu with igbinary.
OBJECTS = {"1,000 posts": (5, 2.5), "1,333 linked objects": (4, 2.5),
           "an object with 10,000 rows": (500, 2.5),
           "1,000 objects, one hooked": (3, 2.5),
           "an object, 300 ints, 50 rows": (4, 2.5),
           "an object of 5 properties": (2, 1.5), "200 dates": (1.2, 1.2)}
ENTITIES = "fetch Doctrine's metadata of 50 entities"
POSTS = "WordPress, 20 posts"


def ratio(medians, case, rivals, required, ours="hone", what=None):
    """The fastest of the rivals over ours."""
    row = medians.get(case, {})
    times = [row[rival] for rival in rivals if rival in row]
    if ours in row and times:
        yield Target(f"{case}: {ours} against {what or rivals[0]}",
                     min(times) / row[ours], required)


def cache_calls(medians, end):
    """Of one process; `end` is the end of the names of its cases."""
    best = {"what": "APCu's best"}
    case = "fetch 10,000 nested" + end
    yield from ratio(medians, case, APCU[:1], 5000)
    yield from ratio(medians, case, APCU, 2000, **best)
    small = medians.get("fetch 20 B" + end, {})
    if "hone" in small and "hone" in medians.get(case, {}):
        yield Target(f"{case}: hone against hone's 20 B",
                     small["hone"] / medians[case]["hone"], 1 / 1.3)
    for shape in SHAPES[:2]:
        for work in ("fetch", "one fetch"):
            yield from ratio(medians, f"{work} {shape}{end}", APCU, 3, **best)
    for shape in ARRAYS:
        for work in ("block copy", "first fetch"):
            yield from ratio(medians, f"{work} {shape}{end}", APCU, 7,
                             "hone-block", **best)
    yield from ratio(medians, f"fetch and read 2,000 rows{end}", APCU, 4,
                     **best)
    for shape, required in OBJECTS.items():
        for work, each in zip(("fetch", "store"), required):
            yield from ratio(medians, f"{work} {shape}{end}", APCU[1:2], each)
    yield from ratio(medians, ENTITIES + end, APCU[1:2], 3)
    for shape in SHAPES:
        required = 4 if shape == "10,000 nested" else 2
        # Objects are serialized; APCu's best serializer is igbinary.
        ours = "hone-igbinary" if shape == "object graph" else "hone"
        yield from ratio(medians, f"store {shape}{end}", APCU, required, ours,
                         **best)


def cache_crowds(medians):
    """Of readers and a writer: a figure is the time of all readers."""
    for shape in ("20 B", "100 keys"):
        for readers, required in (("1 reader", 0.95), ("2 readers", 0.95)):
            alone = medians.get(f"{readers}, {shape}", {})
            row = medians.get(f"{readers}, a writer, {shape}", {})
            if "hone" in alone and "hone" in row:
                yield Target(f"{readers}, {shape}: with a writer against "
                             "without", alone["hone"] / row["hone"], required)
        one = medians.get(f"1 reader, {shape}", {})
        two = medians.get(f"2 readers, {shape}", {})
        if "hone" in one and "hone" in two:
            yield Target(f"2 readers against 1, {shape}",
                         one["hone"] / two["hone"], 1.9)


def cache(medians):
    """The targets of medians[case][subject]."""
    yield from cache_calls(medians, "")
    yield from cache_calls(medians, ", no opcache")
    yield from cache_crowds(medians)
    yield from ratio(medians, "Symfony, a cached array of 10,000", ["apcu"],
                     1.3)


def cache_hits(rates):
    """The targets of rates[subject], hit rates between 0 and 1."""
    if "hone" not in rates:
        return
    apcu = [rates[s] for s in ("apcu-php", "apcu-ttl") if s in rates]
    if apcu:
        yield Target("hit rate against APCu's", rates["hone"] / max(apcu), 1)
    if "ideal LRU" in rates:
        yield Target("hit rate against an ideal LRU",
                     rates["hone"] / rates["ideal LRU"], 0.95)


def cache_counts(rows):
    """The targets of rows[case][subject], instructions."""
    for case, rivals, required in ((ENTITIES, APCU[1:2], 3),
                                   (POSTS, ("apcu",), 1.03)):
        for target in ratio(rows, case, rivals, required):
            yield target._replace(name=f"instructions, {target.name}")


PARTS = {"zero": zero, "copy": copy, "mempool": mempool, "stream": stream,
         "cache": cache}

# Some tables show a rate in place of nanoseconds: the number over them.
RATES = {"mempool": ("M pairs/s", 1e6), "ring": ("M elements/s", 1e6)}
