# SPDX-License-Identifier: BSD-3-Clause
"""The charts of README.md and of the site: seconds to convert, the time of a
fetch by the size of the value, and the parts of the library.

A chart is a light card with a border: it looks the same in a light and in a
dark page. Two of them fit beside each other in a page of GitHub, and the text
of one can be read on a telephone.
"""
import math
import statistics
from xml.sax.saxutils import escape

import kept
import pages_cache
import pages_convert
import tables

WIDTH = 400
MARGIN = 12

STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
 fill:#1f2328}
.title{font-size:16px;font-weight:600}
.name{font-weight:600}
.about{fill:#59636e;font-size:12px}
.right{text-anchor:end}
.middle{text-anchor:middle}
.page{fill:#fff;stroke:#d1d9e0}
.grid{stroke:#e4e8ec}
.level{stroke:#59636e}
.track{fill:#d1d9e0}
.hone{fill:#2f81e0}
.slow{fill:#fff;stroke:#d4622a;stroke-width:2}
.c0{stroke:#2f81e0}.c1{stroke:#8250df}.c2{stroke:#bf5f00}.c3{stroke:#1a7f37}
.t0{fill:#2f81e0}.t1{fill:#8250df}.t2{fill:#bf5f00}.t3{fill:#1a7f37}
.line{fill:none;stroke-width:2.5}
.dashed{stroke-dasharray:5 4}
"""


class Canvas:
    """Elements of SVG, and how far down they reach."""

    def __init__(self, title):
        self.elements = []
        self.y = 0
        self.name = title
        self.line(title, "title", step=26)

    def text(self, x, y, content, style=""):
        """One line of text; x and y are where its base line begins."""
        named = f' class="{style}"' if style else ""
        self.elements.append(f'<text x="{x:.0f}" y="{y:.0f}"{named}>'
                             f'{escape(content)}</text>')

    def line(self, content, style="about", step=17):
        """A line of text below what there is."""
        self.y += step
        self.text(MARGIN, self.y, content, style)

    def bar(self, style, x, y, width, height):
        """A filled rectangle."""
        self.elements.append(f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" '
                             f'width="{max(width, 1.5):.1f}" '
                             f'height="{height}"/>')

    def path(self, style, points):
        """A line through points."""
        self.elements.append(f'<path class="{style}" d="M' + "L".join(
            f"{x:.1f} {y:.1f}" for x, y in points) + '"/>')

    def dot(self, style, x, y):
        """A filled circle."""
        self.elements.append(
            f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')

    def finish(self):
        """The SVG."""
        height = self.y + MARGIN + 2
        body = "\n".join(self.elements)
        return ('<svg xmlns="http://www.w3.org/2000/svg" '
                f'width="{WIDTH}" height="{height}" '
                f'viewBox="0 0 {WIDTH} {height}" role="img">\n'
                f"<title>{escape(self.name)}</title>\n<style>{STYLE}"
                '</style>\n<rect class="page" x=".5" y=".5" '
                f'width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
                f"{body}\n</svg>\n")


class Scale:
    """A logarithmic axis: low is at begin, high at end."""

    def __init__(self, low, high, begin, end):
        self.low, self.begin = low, begin
        self.step = (end - begin) / math.log(high / low)

    def __call__(self, value):
        return self.begin + self.step * math.log(value / self.low)


RIGHT = WIDTH - MARGIN


def seconds(value):
    """12.6 s, 0.36 s"""
    return f"{value:.1f} s" if value >= 9.95 else f"{value:.2f} s"


def convert():
    """Five bars: the share of the best rival's time that hone takes."""
    machine, report = pages_convert.newest()
    canvas = Canvas("Seconds to convert, beside the best rival")
    one_core = False
    for case, label in pages_convert.CHART:
        found = pages_convert.first(case)
        if not found:
            continue
        ours, best = found
        width = RIGHT - MARGIN
        star = "*" if pages_convert.is_one_core(best) else ""
        one_core |= bool(star)
        canvas.line(label, "", step=30)
        canvas.text(RIGHT, canvas.y, f"hone {seconds(ours['wall'])}, "
                    f"{best['tool']}{star} {seconds(best['wall'])}", "right")
        canvas.bar("track", MARGIN, canvas.y + 6, width, 12)
        canvas.bar("hone", MARGIN, canvas.y + 6,
                   width * min(ours["wall"] / best["wall"], 1), 12)
        canvas.y += 12
    canvas.line(f"Blue: hone. Grey: {pages_convert.version(best)}.", step=28)
    if one_core:
        canvas.line("*: without -W, on one core.")
    elif best.get("tried"):
        canvas.line("Each rival has its fastest flags, and all cores.")
    canvas.line(f"./dev bench convert, {kept.where(machine)}, "
                f"{report['machine']['date']}")
    return canvas.finish()


# Arrays, and the bytes of serialize() of bench/cache/php/shapes.php.
FETCHED = (("64 integers", 818), ("100 keys", 3405), ("600 options", 53120),
           ("2,000 rows", 328329), ("10,000 nested", 676670))
# Objects, in the same way.
POSTS = (("3 posts", 1359), ("20 posts", 9067), ("200 posts", 91368),
         ("1,000 posts", 458569))
POSTS_NAMES = ("Hone, posts", "igbinary, posts")
LINES = (("hone", "Hone"), ("apcu-igbinary", "APCu, igbinary"),
         ("apcu-php", "APCu, php"), ("include", "include"))


def ticks(canvas, scale, values, vertical, begin, end):
    """Lines of a grid and their names."""
    for value, name in values:
        at = scale(value)
        if vertical:
            canvas.path("grid", [(at, begin), (at, end)])
            canvas.text(at, end + 16, name, "about middle")
        else:
            canvas.path("grid", [(begin, at), (end, at)])
            canvas.text(begin - 6, at + 4, name, "about right")


def posts(run):
    """The time for some objects, beside APCu's best."""
    row = run.cases["fetch 20 posts"]
    best = min(row[subject] for subject in pages_cache.RIVALS)
    return (f"20 posts: Hone {kept.shown('cache', row['hone'])}, "
            f"APCu {kept.shown('cache', best)}.")


def string(run):
    """The time for a string."""
    row = run.cases["fetch 1 KB"]
    return (f"A string of 1 KB: Hone {row['hone']:.0f} ns, "
            f"APCu {row['apcu-php']:.0f} ns.")


def name_lines(canvas, x, names):
    """The names of lines at their ends: none covers another."""
    lowest = 0
    for y, name, style in sorted(names):
        lowest = max(y, lowest + 15)
        canvas.text(x, lowest, name, style)


def fetch(runs):
    """Lines: the time of a fetch over the size of the value."""
    objects = pages_cache.newest(runs["cache"])
    run = objects or runs["cache"][tables.README_MACHINE]
    canvas = Canvas("Time to fetch a value from a PHP cache")
    top, bottom, left, right = canvas.y + 16, canvas.y + 256, 58, RIGHT - 112
    wide = Scale(500, 1e6, left, right)
    high = Scale(1e1, 4e6, bottom, top)
    ticks(canvas, wide, ((1e3, "1 KB"), (1e4, "10 KB"),
                         (1e5, "100 KB"), (1e6, "1 MB")), True, top, bottom)
    ticks(canvas, high, ((1e1, "10 ns"), (1e2, "100 ns"), (1e3, "1 us"),
                         (1e4, "10 us"), (1e5, "100 us"), (1e6, "1 ms")),
          False, left, right)
    names = []
    for number, (subject, name) in enumerate(LINES):
        points = [(wide(size), high(run.cases[f"fetch {value}"][subject]))
                  for value, size in FETCHED]
        canvas.path(f"line c{number}", points)
        names.append((points[-1][1] + 4, name, f"t{number}"))
    if objects:
        for number in (1, 0):
            points = [(wide(size), high(run.cases[f"fetch {value}"][
                LINES[number][0]])) for value, size in POSTS]
            canvas.path(f"line dashed c{number}", points)
            names.append((points[-1][1] + 4, POSTS_NAMES[number],
                          f"t{number}"))
    name_lines(canvas, right + 6, names)
    canvas.y = bottom + 18
    canvas.line("Size: that of serialize(). Solid lines: arrays, to which")
    canvas.line("Hone returns a pointer into shared memory.")
    if objects:
        canvas.line("Dashed: 3, 20, 200 and 1,000 posts, objects with the "
                    "fields")
        canvas.line("of WordPress's. " + posts(run))
    else:
        canvas.line(string(run))
    canvas.line(f"./dev bench cache, {kept.where(run.machine)}, "
                f"{run.about['date']}")
    return canvas.finish()


def ratios(runs):
    """Part -> for each machine, the ratios of all cases in order."""
    machine, report = pages_convert.newest()
    found = {"convert": {machine: pages_convert.ratios(report)}}
    for part, of in runs.items():
        found[part] = {key: [result.ratio for result in run.results()]
                       for key, run in of.items()}
    return found


def parts(runs):
    """A row of dots for each part: the median and the slowest case of each
    machine."""
    found = ratios(runs)
    canvas = Canvas("Speed over the best rival, by benchmark")
    top = canvas.y + 22
    slowest = min(every[0] for of in found.values() for every in of.values())
    scale = Scale(min(0.1, slowest), 4, 84, RIGHT - 10)
    canvas.text(scale(1) - 8, top - 2, "slower", "about right")
    canvas.text(scale(1) + 8, top - 2, "faster", "about")
    bottom = top + 8 + 28 * len(found)
    ticks(canvas, scale, ((.125, "0.125x"), (.25, "0.25x"), (.5, "0.5x"),
                          (1, "1x"), (2, "2x"), (4, "4x")), True, top + 6,
          bottom)
    canvas.path("level", [(scale(1), top + 6), (scale(1), bottom)])
    y = top + 8
    for part, of in found.items():
        y += 28
        canvas.text(MARGIN, y - 8, part, "name")
        for every in of.values():
            canvas.dot("slow", scale(every[0]), y - 12)
            canvas.dot("hone", scale(statistics.median(every)), y - 12)
    canvas.y = bottom + 20
    canvas.line("convert: disk images. php: file functions. The others are")
    canvas.line("parts of the C library, and the cache is PHP's.")
    canvas.line("A full dot is the median of all cases on one machine, an")
    canvas.line("open dot the slowest case.")
    machines = sorted({key for of in found.values() for key in of},
                      key=list(kept.MACHINES).index)
    canvas.line("./dev bench; " + ", ".join(
        kept.MACHINES[key].name for key in machines))
    return canvas.finish()
