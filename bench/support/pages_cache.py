# SPDX-License-Identifier: BSD-3-Clause
"""Hit rates and missed targets of the PHP extension's cache, for
docs/benchmarks.md."""
import kept

NAMES = {"hone": "hone", "apcu-php": "APCu", "apcu-ttl": "APCu, apc.ttl=1",
         "yac": "yac", "ideal LRU": "ideal LRU"}


def hits(markdown, runs):
    """A table in a list; an empty list if no run has hit rates."""
    body = [[kept.MACHINES[machine].name,
             *(f"{run.hits[subject]['rate'] * 100:.1f} %"
               if subject in run.hits else "–" for subject in NAMES)]
            for machine, run in runs.items() if run.hits]
    if not body:
        return []
    return ["### Hits with half of the memory that all values need\n\n"
            "40,000 keys, Zipf's law with exponent 0.9, values of 200 to "
            "1,999 B. The ideal LRU\nhas no overhead.\n\n"
            f"{markdown(['machine', *NAMES.values()], body)}\n"]


def missed(runs):
    """Lists of targets in a list; an empty list if all are met."""
    found = []
    for machine, run in runs.items():
        short = [f"- {target['name']}: {target['value']:.2f} of "
                 f"{target['required']:.4g}" for target in run.targets
                 if target["verdict"] == "short"]
        if run.hits and short:
            found.append("### Targets that were missed on "
                         f"{kept.MACHINES[machine].name}\n\n" +
                         "\n".join(short) + "\n")
    return found
