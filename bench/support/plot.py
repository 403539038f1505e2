#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draw the plots of docs/design/copy.md from a file of report.py --json.

The same figures give the same bytes. If the cases of a plot were not run, its
file is left unchanged.
"""
import argparse
import json
import pathlib
import re
import sys

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)
from matplotlib.colors import TwoSlopeNorm  # noqa: E402

matplotlib.rcParams.update({"svg.hashsalt": "hone", "svg.fonttype": "none",
                            "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3})
DARK = 1.6  # the factor at which a cell is too dark for black
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


def bytes_of(name):
    number, unit = re.fullmatch(r"(\d+)([KM]?)", name).groups()
    return int(number) * UNITS[unit]


def medians(results, pattern):
    """Groups of the pattern in the name of a case -> subject -> ns."""
    found = {}
    for case, row in results.items():
        match = re.fullmatch(pattern, case)
        if match:
            found[match.groups()] = {s: m["median_ns"]
                                     for s, m in row.items()}
    return found


def save(figure, machine, path):
    figure.text(0.01, 0.005, f"{machine['cpu']}, {machine['date']}, "
                f"{machine['commit']}", fontsize=6, color="gray")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    # Matplotlib leaves white space at line ends.
    path.write_text("\n".join(
        line.rstrip() for line in path.read_text().splitlines()) + "\n")
    print(path)


def keep_or_stream(results, machine, path):
    """The time of STREAM over the time of KEEP, by size and by reader."""
    rows = {("chased as pointers,\nat once",): medians(
                results, r"chase-(\w+)"),
            ("read at once",): medians(results, r"read-(\w+)")}
    later = medians(results, r"read-(\w+)-after-(\w+)")
    for gap in sorted({g for _, g in later}, key=bytes_of):
        rows[(f"read after\n{gap} of other copies",)] = {
            (size,): row for (size, g), row in later.items() if g == gap}
    rows[("not read again",)] = medians(results, r"cold-(\w+)")
    ratios = {label[0]: {size[0]: row["stream"] / row["keep"]
                         for size, row in cells.items()
                         if "stream" in row and "keep" in row
                         and 4096 <= bytes_of(size[0]) <= 64 << 20}
              for label, cells in rows.items()}
    sizes = sorted({s for cells in ratios.values() for s in cells},
                   key=bytes_of)
    if not later or not sizes:
        return
    labels = list(ratios)
    grid = [[ratios[label].get(size, float("nan")) for size in sizes]
            for label in labels]
    figure, axes = plt.subplots(figsize=(10, 4.8))
    axes.imshow(grid, aspect="auto", cmap="RdBu_r",
                norm=TwoSlopeNorm(1.0, 0.5, 2.0), alpha=0.8)
    for y, line in enumerate(grid):
        for x, ratio in enumerate(line):
            if ratio == ratio:
                axes.text(x, y, f"{ratio:.2f}" if ratio < 10
                          else f"{ratio:.0f}", ha="center", va="center",
                          fontsize=8, color="black"
                          if 1 / DARK < ratio < DARK else "white")
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(False)
    axes.set_xlabel("bytes copied, source and destination cold")
    axes.set_title("Time with STREAM over time with KEEP, copy and read: "
                   "blue, stream; red, keep")
    save(figure, machine, path)


def prefetch(results, machine, path):
    """Speed by prefetch distance: one panel a size, one line a loop."""
    panels = medians(results, r"prefetch-(\w+)")
    if not panels:
        return
    figure, all_axes = plt.subplots(1, len(panels), figsize=(10, 3.6),
                                    squeeze=False)
    for axes, ((size,), row) in zip(all_axes[0], panels.items()):
        lines = {}
        for subject, ns in row.items():
            kernel, distance = subject.rsplit("-", 1)
            lines.setdefault(kernel, []).append(
                (int(distance), bytes_of(size) / ns))
        for kernel, points in lines.items():
            points.sort()
            axes.plot(range(len(points)), [speed for _, speed in points],
                      marker="o", markersize=3, label=kernel)
        axes.set_xticks(range(len(points)),
                        ["none" if d == 0 else str(d) for d, _ in points],
                        rotation=60)
        axes.set_title(f"{size}, both cold")
        axes.set_xlabel("prefetched bytes ahead")
        axes.set_ylim(bottom=0)
    all_axes[0][0].set_ylabel("GB/s")
    all_axes[0][0].legend(fontsize=7)
    save(figure, machine, path)


def resident(results, machine, path):
    """Time to read a resident set again after a copy, by policy."""
    panels = medians(results, r"resident-([\w-]+)")
    if not panels:
        return
    figure, all_axes = plt.subplots(1, len(panels), figsize=(10, 3.2),
                                    squeeze=False)
    for axes, ((what,), row) in zip(all_axes[0], panels.items()):
        names = sorted(row, key=row.get, reverse=True)
        bars = axes.barh(names, [row[n] / row["undisturbed"] for n in names]
                         if "undisturbed" in row else [0] * len(names))
        axes.bar_label(bars, fmt="%.2f", fontsize=7)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_title(f"{what.replace('-', ' ')} resident")
        axes.set_xlabel("times undisturbed, after 1 MiB copied")
        axes.margins(x=0.15)
    save(figure, machine, path)


PLOTS = {"keep-or-stream": keep_or_stream, "prefetch": prefetch,
         "resident": resident}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=pathlib.Path,
                        help="a file of report.py --json")
    parser.add_argument("directory", type=pathlib.Path,
                        help="the folder for the plots, such as docs/design")
    options = parser.parse_args()
    report = json.loads(options.report.read_text())
    if "copy" not in report["parts"]:
        sys.exit(f"{options.report}: has no results of the part copy")
    for name, draw in PLOTS.items():
        draw(report["parts"]["copy"], report["machine"],
             options.directory / f"copy-{name}.svg")


if __name__ == "__main__":
    main()
