# SPDX-License-Identifier: BSD-3-Clause
"""The targets of the PHP extension's cache, which targets.py lists."""
import collections

Target = collections.namedtuple("Target", "name value required")

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


def calls(medians, end):
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


def crowds(medians):
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


def speeds(medians):
    """The targets of medians[case][subject]."""
    yield from calls(medians, "")
    yield from calls(medians, ", no opcache")
    yield from crowds(medians)
    yield from ratio(medians, "Symfony, a cached array of 10,000", ["apcu"],
                     1.3)


def hits(rates):
    """The targets of rates[subject], hit rates between 0 and 1."""
    if "hone" not in rates:
        return
    apcu = [rates[s] for s in ("apcu-php", "apcu-ttl") if s in rates]
    if apcu:
        yield Target("hit rate against APCu's", rates["hone"] / max(apcu), 1)
    if "ideal LRU" in rates:
        yield Target("hit rate against an ideal LRU",
                     rates["hone"] / rates["ideal LRU"], 0.95)


def counts(rows):
    """The targets of rows[case][subject], instructions."""
    for case, rivals, required in ((ENTITIES, APCU[1:2], 3),
                                   (POSTS, ("apcu",), 1.03)):
        for target in ratio(rows, case, rivals, required):
            yield target._replace(name=f"instructions, {target.name}")
