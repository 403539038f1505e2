#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make docs/benchmarks.md, the pages of docs/benchmarks/, docs/design/targets.md,
the charts docs/chart-*.svg and the figures of README.md from the runs that
bench/results keeps.

The same runs give the same bytes. With --check nothing is written, and the
exit status is 1 if a file is not up to date.
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import charts  # noqa: E402 (after the line above)
import kept  # noqa: E402
import pages  # noqa: E402
import pages_readme  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
END = "<!-- end -->\n"


def replace(text, begin, made):
    """The text with what stands between begin and END made again."""
    pattern = re.escape(begin) + ".*?" + re.escape(END)
    text, found = re.subn(pattern, lambda _: f"{begin}{made}\n{END}", text,
                          flags=re.DOTALL)
    if found != 1:
        sys.exit(f"README.md: {found} places between {begin.strip()} and "
                 f"{END.strip()}; one is needed")
    return text


def readme(runs):
    """README.md with its figures made again."""
    text = (ROOT / "README.md").read_text()
    text = replace(text, "<!-- made by ./dev plot -->\n",
                   pages_readme.products(runs))
    return replace(text, "<!-- the price, made by ./dev plot -->\n",
                   pages_readme.price())


def files():
    """Path -> what it has to hold."""
    runs = kept.load()
    return {"docs/benchmarks.md": pages.benchmarks(runs),
            **{f"docs/benchmarks/{name}.md": text
               for name, text in pages.subpages(runs).items()},
            "docs/design/targets.md": pages.missed(runs),
            "docs/chart-convert.svg": charts.convert(),
            "docs/chart-fetch.svg": charts.fetch(runs),
            "docs/chart-parts.svg": charts.parts(runs),
            "README.md": readme(runs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 if a file is not up to "
                        "date")
    options = parser.parse_args()
    stale = 0
    for name, content in files().items():
        path = ROOT / name
        if path.exists() and path.read_text() == content:
            continue
        stale += 1
        if options.check:
            print(f"{name} is not what ./dev plot makes of bench/results")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
            print(name)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
