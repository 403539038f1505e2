# SPDX-License-Identifier: BSD-3-Clause
"""Objects, hit rates, instructions and missed targets of the PHP extension's
cache, for docs/benchmarks.md."""
import kept
import pages_convert
import targets

NAMES = {"hone": "hone", "apcu-php": "APCu", "apcu-ttl": "APCu, apc.ttl=1",
         "yac": "yac", "ideal LRU": "ideal LRU"}
ARRAY_NAMES = {"hone": "hone", "hone-warm": "`hone.cache_cold = off`",
               "apcu-php": "APCu", "apcu-igbinary": "APCu, igbinary",
               "ideal LRU": "ideal LRU"}


def rates(of, names):
    """The cells of a row: subject -> {rate}."""
    return [f"{of[subject]['rate'] * 100:.1f} %" if subject in of else "–"
            for subject in names]

RIVALS = ("apcu-igbinary", "apcu-php")
VALUES = (*targets.OBJECTS,
          targets.ENTITIES.removeprefix("fetch "))


def newest(runs):
    """The last run with objects, or None."""
    found = [run for run in runs.values() if "fetch 20 posts" in run.cases]
    return max(found, key=lambda run: run.about["date"], default=None)


def beside(run, case):
    """Cells of a case: hone, both rivals, and the ratio to the first one."""
    row = run.cases.get(case, {})
    cells = [kept.shown("cache", row[subject]) if subject in row else "–"
             for subject in ("hone", *RIVALS)]
    result = run.compare(case, "hone", RIVALS[:1])
    return [*cells, kept.times(result.ratio) if result else "–"]


def objects(markdown, runs):
    """A table in a list; an empty list if no run has objects."""
    run = newest(runs)
    if not run:
        return []
    header = ["value", *(f"{work}{name}" for work in ("fetch", "store")
                         for name in ("", ", igbinary", ", php", ", ratio"))]
    body = [[value, *beside(run, f"fetch {value}"),
             *beside(run, f"store {value}")] for value in VALUES]
    return [f"### Objects, {kept.MACHINES[run.machine].name}\n\n"
            "The columns `igbinary` and `php` are APCu's with these serializers. "
            "The ratio is\nthat of APCu with igbinary. Doctrine's metadata has a "
            "key for each entity; the time\nis that of all 50 fetches.\n\n"
            f"{markdown(header, body)}\n"]


def instructions(markdown, runs):
    """A table in a list; an empty list if no run has counts."""
    run = newest({machine: run for machine, run in runs.items()
                  if run.instructions})
    if not run:
        return []
    names = {"hone": "hone", "apcu": "APCu, php", "apcu-php": "APCu, php",
             "apcu-igbinary": "APCu, igbinary", "none": "no cache"}
    columns = list(dict.fromkeys(names.values()))
    body = []
    for case, row in run.instructions.items():
        counted = {names[subject]: f"{count:,}"
                   for subject, count in row.items()}
        body.append([case, *(counted.get(name, "–") for name in columns)])
    return ["### Instructions of real programs that cache objects\n\n"
            f"{kept.MACHINES[run.machine].name}, {run.about['date']}. "
            "Counted by valgrind, with warm caches. The rows of WordPress "
            "are for a request, those of\nDoctrine for all fetches, without "
            "opcache.\n\n"
            f"{markdown(['case', *columns], body)}\n"]


# What the overview has: the part, and the case.
SUMMARY = (*(("cache", f"{work} {value}") for work in ("fetch", "store")
             for value in ("20 B", "100 keys", "10,000 nested")),
           *(("cache", f"{work} 20 posts") for work in ("fetch", "store")),
           ("php", "file_get_contents 4k"), ("php", "file_get_contents 700k"),
           ("php", "fread 20000"), ("php", "passed on: a short fread"))


def overview(markdown, runs, cells):
    """The table of docs/benchmarks.md, of the last run of each part."""
    last = {part: max(runs[part].values(), key=lambda run: run.about["date"])
            for part in ("cache", "php")}
    last["cache"] = newest(runs["cache"]) or last["cache"]
    body = [[kept.MACHINES[last[part].machine].name,
             *cells(part, last[part], case)] for part, case in SUMMARY]
    body = [[row[1], row[0], *row[2:]] for row in body if row[-1] != "–"]
    dates = "\n".join(f"- {part}, {run.about['date']}: {suite(run)}."
                      for part, run in last.items())
    return (f"{dates}\n\n" +
            markdown(["call", "machine", "hone", "best rival", "ratio"], body))


NAMED = {"php": "PHP", "apcu": "APCu", "redis": "phpredis",
         "memcached": "php-memcached"}


def suite(run):
    """PHP and the rivals of a run, with their versions where it has them."""
    if not run.versions:
        return "PHP 8.2 and the rivals of Debian 12"
    shown = ", ".join(f"{NAMED.get(name, name)} {version}"
                      for name, version in run.versions.items()
                      if name != "hone" and version)
    return f"{pages_convert.without_name(run.rivals['suite'])}: {shown}"


def versions(run):
    """The same as lines of a list; none if it does not have them."""
    if not run.versions:
        return []
    return [f"- {suite(run)}",
            "- hone is built by " +
            run.rivals["compiler_of_rivals"].replace("4:", "")]


def hits(markdown, runs):
    """Tables in a list; an empty list if no run has hit rates."""
    name = {machine: kept.MACHINES[machine].name for machine in runs}
    texts = [[name[machine], *rates(run.hits, NAMES)]
             for machine, run in runs.items() if run.hits]
    arrays = [[name[machine], part, *rates(of, ARRAY_NAMES)]
              for machine, run in runs.items()
              for part, of in run.array_hits.items()]
    of_runs = "".join(
        f"- {name[machine]}: `{run.hits_apart[1]['command']}`, "
        f"{run.hits_apart[1]['machine']['date']}, commit "
        f"{run.hits_apart[1]['machine']['commit']} "
        f"([run](../bench/results/{run.hits_apart[0].name}))\n\n"
        for machine, run in runs.items() if run.hits_apart)
    found = []
    if texts:
        found.append("### Hits with half of the memory that all values need"
                     "\n\n40,000 keys, Zipf's law with exponent 0.9, values of"
                     " 200 to 1,999 B. The ideal LRU\nhas no overhead.\n\n"
                     f"{markdown(['machine', *NAMES.values()], texts)}\n")
    if arrays:
        header = ["machine", "bytes", *ARRAY_NAMES.values()]
        found.append(f"### The same with arrays\n\n{of_runs}8,000 keys, values "
                     "of 2 to 41 rows of 5 fields. Each cache has this part of "
                     "the bytes that\n`serialize()` writes of all values. The "
                     "ideal LRU keeps what `serialize()` writes.\n\n"
                     f"{markdown(header, arrays)}\n")
    return found


def missed(part, runs):
    """Lists of targets in a list; an empty list if all are met."""
    found = []
    for machine, run in runs.items():
        short = [f"- {target['name']}: {target['value']:.2f} of "
                 f"{target['required']:.4g}" for target in run.targets
                 if target["verdict"] == "short"]
        if short:
            found.append(f"## {part}, "
                         f"{kept.MACHINES[machine].name}\n\n" +
                         "\n".join(short) + "\n")
    return found
