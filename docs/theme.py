# SPDX-License-Identifier: BSD-3-Clause
"""Repair the theme Furo as Debian 12 and 13 package it.

Its script imports another script, which only a module may do, so no script of
the theme runs: there is no switch between light and dark. Its style sheet
lacks the rule for browsers that prefer dark, and imports a file that only web
servers of Debian have. A Furo without these faults is left as it is.
"""
import re

IMPORT = re.compile(r'import (\* as )?Gumshoe from "./gumshoe-patched.js";\n')
DARK = re.compile(r'body\[data-theme="dark"\] \{(.*?)\}', re.DOTALL)
RESET_IMPORT = "@import url(/javascript/normalize.css/normalize.css);"
# What the theme takes from that file: it sets all other properties itself.
RESET = """
body { margin: 0; }
html { line-height: 1.15; text-size-adjust: 100%; }
code, pre { font-size: 1em; }
button, input { font: inherit; margin: 0; }
"""
PREFERS_DARK = """
@media not print {
  @media (prefers-color-scheme: dark) {
    body:not([data-theme="light"]) {%s}
  }
}
"""


def mend(static):
    """Repair the files of the theme in the folder _static of a site."""
    script = static / "scripts" / "furo.js"
    text = script.read_text(encoding="utf-8")
    begin = IMPORT.match(text)
    if begin:
        imported = script.with_name("gumshoe-patched.js")
        script.write_text(imported.read_text(encoding="utf-8")
                          + text[begin.end():], encoding="utf-8")
    style = static / "styles" / "furo.css"
    text = style.read_text(encoding="utf-8")
    mended = text.replace(RESET_IMPORT, RESET)
    if "prefers-color-scheme" not in text:
        mended += PREFERS_DARK % DARK.search(text)[1]
    style.write_text(mended, encoding="utf-8")
