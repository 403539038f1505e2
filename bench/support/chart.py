# SPDX-License-Identifier: BSD-3-Clause
"""Draw the chart of README.md: libhone beside the best rival, in a typical
case of each part and in its slowest one, on each machine.

The SVG follows the colour scheme of the reader, and has a background of its
own: a page in another scheme does not make it unreadable. It is narrow, so
that its text can be read on a telephone.
"""
import math
from xml.sax.saxutils import escape

import cases
import kept
import tables

WIDTH = 480
OCTAVE = 50  # pixels for a factor of two
LOWEST, HIGHEST = 0.25, 16
LEFT = 58  # of the axis: names of machines are before it
LEVEL = LEFT - OCTAVE * math.log2(LOWEST)  # where the ratio is 1
STEP, BAR = 14, 10

STYLE = """
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
 fill:#1f2328;stroke:#fff;stroke-width:3px;paint-order:stroke}
.title{font-size:16px;font-weight:600}
.part{font-size:13px;font-weight:600}
.about{fill:#59636e}
.right{text-anchor:end}
.middle{text-anchor:middle}
.page{fill:#fff;stroke:#d1d9e0}
.grid{stroke:#e4e8ec}
.level{stroke:#59636e}
.faster{fill:#2f81e0}
.slower{fill:#d4622a}
.same{fill:#8c959f}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3;stroke:#0d1117}
.about{fill:#9aa4ae}
.page{fill:#0d1117;stroke:#3d444d}
.grid{stroke:#262c34}
.level{stroke:#9aa4ae}
.faster{fill:#4a94ee}
.slower{fill:#e07b43}
.same{fill:#6e7781}
}
"""


def text(x, y, content, style=""):
    """One line of text; x and y are where its base line begins."""
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{named}>{escape(content)}</text>'


def place(ratio):
    """The x of a ratio."""
    ratio = min(max(ratio, LOWEST), HIGHEST)
    return LEVEL + OCTAVE * math.log2(ratio)


def plain(name):
    """A name without Markdown."""
    return name.replace("`", "")


class Canvas:
    """Lines of SVG, and how far down they reach."""

    def __init__(self):
        self.lines = []
        self.y = 0

    def bar(self, machine, ratio, note):
        """One bar from the level, and what it says."""
        self.y += STEP
        begin, end = sorted((LEVEL, place(ratio)))
        style = kept.verdict(ratio)
        self.lines += [
            text(LEFT - 4, self.y, kept.MACHINES[machine].short,
                 "about right"),
            f'<rect class="{style}" x="{begin:.1f}" '
            f'y="{self.y - BAR + 1:.0f}" width="{max(end - begin, 1):.1f}" '
            f'height="{BAR}"/>',
            text(max(end, LEVEL) + 5, self.y,
                 kept.plain_times(ratio) + note)]

    def line(self, content, style, x=12, step=STEP):
        """A line of text below what there is."""
        self.y += step
        self.lines.append(text(x, self.y, content, style))


def draw_part(canvas, part, case, runs):
    """The typical case and the slowest of one part."""
    canvas.line(f"{part}: {cases.describe(part, case)}", "part", step=22)
    subject, rivals = next(iter(cases.comparisons(part, case)))
    for machine, run in runs.items():
        result = run.compare(case, subject, rivals)
        if result:
            canvas.bar(machine, result.ratio,
                       " " + plain(cases.NAMES[result.rival]))
    canvas.line("slowest case", "about", step=STEP + 2)
    for machine, run in runs.items():
        worst = run.results()[0]
        canvas.bar(machine, worst.ratio,
                   ": " + cases.describe(part, worst.case))


def grid(top, bottom):
    """A vertical line for each factor of two, and its name above it."""
    lines = []
    ratio = LOWEST
    while ratio <= HIGHEST:
        style = "level" if ratio == 1 else "grid"
        name = f"{ratio:g}x" if ratio >= 1 else f"1/{1 / ratio:g}"
        lines += [f'<path class="{style}" d="M{place(ratio):.1f} {top + 5}'
                  f'V{bottom}"/>',
                  text(place(ratio), top, name, "about middle")]
        ratio *= 2
    return lines


def dates(runs):
    """Machine -> when its runs were made."""
    for key, machine in kept.MACHINES.items():
        found = sorted({of[key].about["date"] for of in runs.values()
                        if key in of})
        if found:
            yield f"{machine.short}: {machine.cpu}, {', '.join(found)}"


def draw(runs):
    """The SVG."""
    canvas = Canvas()
    canvas.line("Speed of libhone over the best rival", "title", step=24)
    canvas.line("The best rival is the fastest of all in the same case on "
                "the same machine.", "about", step=17)
    canvas.line("◀ libhone is slower", "about right", LEVEL - 6, 22)
    canvas.lines.append(text(LEVEL + 6, canvas.y, "libhone is faster ▶",
                             "about"))
    top = canvas.y + 16
    canvas.y = top
    for part, case in tables.CHART:
        draw_part(canvas, part, case, runs[part])
    bottom = canvas.y + 6
    canvas.y = bottom
    canvas.line("./dev bench PART; all cases: docs/benchmarks.md; VMs with 2 "
                "vCPUs:", "about", step=18)
    for line in dates(runs):
        canvas.line(line, "about")
    height = canvas.y + 12
    body = "\n".join(grid(top, bottom) + canvas.lines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">\n'
            "<title>Speed of libhone over the best rival, in a typical and "
            f"in the slowest case of each part</title>\n<style>{STYLE}"
            f'</style>\n<rect class="page" x=".5" y=".5" '
            f'width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
            f"{body}\n</svg>\n")
