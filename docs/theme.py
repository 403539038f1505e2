# SPDX-License-Identifier: BSD-3-Clause
"""Repair the theme Furo as Debian 12 packages it (2022.12.07+dfsg-1).

Its script imports another script, which only a module may do, so no script of
the theme runs: there is no switch between light and dark. Its style sheet
lacks the rule for browsers that prefer dark. A Furo that has neither fault is
left as it is.
"""
import re

IMPORT = 'import Gumshoe from "./gumshoe-patched.js";\n'
DARK = re.compile(r'body\[data-theme="dark"\] \{(.*?)\}', re.DOTALL)
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
    if text.startswith(IMPORT):
        imported = script.with_name("gumshoe-patched.js")
        script.write_text(imported.read_text(encoding="utf-8")
                          + text[len(IMPORT):], encoding="utf-8")
    style = static / "styles" / "furo.css"
    text = style.read_text(encoding="utf-8")
    if "prefers-color-scheme" not in text:
        style.write_text(text + PREFERS_DARK % DARK.search(text)[1],
                         encoding="utf-8")
