# SPDX-License-Identifier: BSD-3-Clause
# What Sphinx reads. build.py copies this beside the pages that it makes.
import json
import pathlib

import furo

HERE = pathlib.Path(__file__).resolve().parent
made = json.loads((HERE / "made.json").read_text(encoding="utf-8"))

project = "Hone"
copyright = "the Hone authors"
version = release = made["version"]
language = "en"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 3
exclude_patterns = ["generated"]
# Function pages are for man alone: the site has them by header.
if not tags.has("man"):  # noqa: F821 (Sphinx defines tags)
    exclude_patterns.append("man3")

primary_domain = "c"
highlight_language = "none"
# A name of ours that leads nowhere is an error; those of libc do.
nitpicky = True
nitpick_ignore_regex = [
    (r"c:.*", r"(?!(?i:hone_)).*"),
]
# "--force" shall stay what it is.
smartquotes = False
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = f"Hone {release}"
# Of another name since the Furo of Debian 13.
options = pathlib.Path(furo.__file__).with_name("theme") / "furo" / "theme.conf"
html_theme_options = ({"top_of_page_buttons": []}
                      if "top_of_page_buttons" in options.read_text()
                      else {"top_of_page_button": None})
html_css_files = ["hone.css"]
html_favicon = "_static/favicon.svg"
# The theme's own light style has green strings that are hard to read.
pygments_style = "default"
pygments_dark_style = "github-dark"
# A click copies the commands, neither their prompts nor what they print.
copybutton_prompt_text = "$ "
html_static_path = ["_static"]
html_copy_source = False
html_show_sphinx = False

man_pages = [tuple(page) for page in made["man_pages"]]
man_show_urls = False
