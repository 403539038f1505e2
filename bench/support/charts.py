# SPDX-License-Identifier: BSD-3-Clause
"""The charts of README.md and of the site: seconds to convert, the time of a
fetch by the size of the value, and the parts of the library."""
import statistics

import chart
import kept
import pages_cache
import pages_convert
import tables

RIGHT = chart.WIDTH - chart.MARGIN


def seconds(value):
    """12.6 s, 0.36 s"""
    return f"{value:.1f} s" if value >= 9.95 else f"{value:.2f} s"


def convert():
    """Five bars: the share of the best rival's time that hone takes."""
    machine, report = pages_convert.newest()
    canvas = chart.Canvas("Seconds to convert, beside the best rival")
    one_core = False
    for case, label in pages_convert.CHART:
        found = pages_convert.first(case)
        if not found:
            continue
        ours, best = found
        width = RIGHT - chart.MARGIN
        star = "*" if pages_convert.is_one_core(best) else ""
        one_core |= bool(star)
        canvas.line(label, "", step=30)
        canvas.text(RIGHT, canvas.y, f"hone {seconds(ours['wall'])}, "
                    f"{best['tool']}{star} {seconds(best['wall'])}", "right")
        canvas.bar("track", chart.MARGIN, canvas.y + 6, width, 12)
        canvas.bar("hone", chart.MARGIN, canvas.y + 6,
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
    canvas = chart.Canvas("Time to fetch a value from a PHP cache")
    top, bottom, left, right = canvas.y + 16, canvas.y + 256, 58, RIGHT - 112
    wide = chart.Scale(500, 1e6, left, right)
    high = chart.Scale(1e1, 4e6, bottom, top)
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
    canvas = chart.Canvas("Speed over the best rival, by benchmark")
    top = canvas.y + 22
    scale = chart.Scale(0.25, 8, 84, RIGHT - 10)
    canvas.text(scale(1) - 8, top - 2, "slower", "about right")
    canvas.text(scale(1) + 8, top - 2, "faster", "about")
    bottom = top + 8 + 28 * len(found)
    ticks(canvas, scale, ((.25, "0.25x"), (.5, "0.5x"), (1, "1x"), (2, "2x"),
                          (4, "4x"), (8, "8x")), True, top + 6, bottom)
    canvas.path("level", [(scale(1), top + 6), (scale(1), bottom)])
    y = top + 8
    for part, of in found.items():
        y += 28
        canvas.text(chart.MARGIN, y - 8, part, "name")
        for every in of.values():
            canvas.dot("slow", scale(max(every[0], scale.low)), y - 12)
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
