# SPDX-License-Identifier: BSD-3-Clause
"""The bars: what each part must reach beside its rivals.

A function of PARTS takes medians[case][subject] in nanoseconds and yields
bars whose value is a ratio of speeds. A bar whose case or subject was not run
is not yielded.
"""
import collections

Bar = collections.namedtuple("Bar", "name value required")

ZERO_RIVALS = ("naive", "memcmp", "qemu-algorithm", "isa-l")


def zero(medians):
    def bar(case, rival, required, ours="hone", name=None):
        row = medians.get(case, {})
        if ours in row and rival in row:
            yield Bar(name or f"{case}: {ours} against {rival}",
                      row[rival] / row[ours], required)

    for size in ("4K", "8K", "16K", "32K"):
        yield from bar(f"hot-{size}", "load-512", 0.90)
        yield from bar(f"hot-{size}", "qemu-algorithm", 1.6)
    for size in ("4K", "16K", "32K"):
        yield from bar(f"misaligned-{size}", "hone-aligned", 0.95)
    for size in ("1M", "512M"):
        yield from bar(f"hot-{size}", "load-512", 0.95)
        yield from bar(f"hot-{size}", "qemu-algorithm", 1.0)
    yield from bar("lengths-1..256", "qemu-algorithm", 4.0)
    yield from bar("lengths-1..256", "isa-l", 3.0)
    for case in ("hot-16", "hot-100", "hot-512"):
        for rival in ZERO_RIVALS:
            yield from bar(case, rival, 1.01)
    for case in medians:
        yield from bar(case, "qemu-algorithm", 1.0, ours="hone-avx2")
    yield from bar("hot-4K", "hone", 0.87, ours="find_nonzero")


PARTS = {"zero": zero}
