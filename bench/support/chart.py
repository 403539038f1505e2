# SPDX-License-Identifier: BSD-3-Clause
"""What the charts share: colours, text, and a canvas of SVG.

A chart is a light card with a border: it looks the same in a light and in a
dark page. Two of them fit beside each other in a page of GitHub, and the text
of one can be read on a telephone.
"""
import math
from xml.sax.saxutils import escape

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
