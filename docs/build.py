#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make the manual or the site.

build.py man|html --source DIR --hone PROGRAM --version V --work DIR --out DIR
    HEADER...
build.py list HEADER...      the manual pages that `man` makes, a line each
build.py inputs HEADER...    the files that all pages are made from

Gathers a tree of pages below the work folder: the handwritten ones of the
repository, those made from the headers, and the option lists as the command
prints them. Then runs Sphinx, for which every warning is an error.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import headers  # noqa: E402
import pages  # noqa: E402
import theme  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parent
COMMANDS = ("convert", "map", "info", "compare", "check", "digest", "cpu")
ROOT_PAGES = ("CONTRIBUTING.md", "SECURITY.md", "NEWS.md")
# A link, but not an image, whose words may stand on two lines.
LINK = re.compile(r"(?<!!)\[([^][]+)\]\(([^)\s]+)\)")
# The space in a table between a figure and its unit.
UNIT = re.compile(r"(?<=\d) (?=%|(?:[num]?s|[kMG]i?B)\b)|(?<=Zen) (?=\d)")


def man_names(parsed):
    """File names of all manual pages."""
    return (["hone.1"] + [f"hone-{c}.1" for c in COMMANDS] + ["libhone.3"]
            + [f"{name}.3" for h in with_functions(parsed) for name in (
                pages.man_name(h), *pages.man_aliases(h),
                *(f.name for f in h.of_kind("function")))])


def with_functions(parsed):
    """The headers that have a manual page: the map of all is libhone(3)."""
    return [header for header in parsed if header.of_kind("function")]


def inputs():
    """Every file from which the pages are made, except the headers."""
    found = [p for p in DOCS.rglob("*") if p.is_file()
             and p.suffix in (".rst", ".md", ".py", ".c", ".cc", ".go", ".xml",
                              ".css", ".svg")]
    return sorted(found) + [DOCS.parent / name for name in ROOT_PAGES]


def run_hone(hone, *arguments):
    """The output of the command."""
    return subprocess.run([hone, *arguments], stdout=subprocess.PIPE,
                          check=True, text=True).stdout


def on_the_site(text, folder, source):
    """Markdown of a page in this folder of the repository, with the links as
    the site needs them. The site lacks the sources: their paths are shown."""
    def link(match):
        words, target = match.groups()
        if target.startswith("#") or re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        path = os.path.relpath(folder / path, source)
        if not path.startswith("docs/") and path not in ROOT_PAGES:
            plain = words.replace("`", "").replace("\n", " ")
            return f"`{path}`" if path.endswith(plain) else (
                f"{words} `{path}`")
        place = folder if folder != source else source / "docs"
        page = os.path.relpath(
            source / "docs" / path.replace("docs/", "", 1), place)
        return f"[{words}]({page}{'#' if anchor else ''}{anchor})"

    return LINK.sub(link, text)


def with_units(text):
    """Markdown in which a figure and its unit stay on one line of a cell."""
    return re.sub(r"^\|.*\|$", lambda row: UNIT.sub("\u00a0", row[0]), text,
                  flags=re.MULTILINE)


def copy_pages(source, tree):
    """The handwritten pages. Some lie outside of docs/ in the repository."""
    ignored = shutil.ignore_patterns("*.py", "meson.build", "__pycache__",
                                     "_build")
    shutil.copytree(DOCS, tree, ignore=lambda folder, names: (
        () if folder.endswith("examples") else ignored(folder, names)))
    shutil.copy(DOCS / "conf.py", tree)
    for name in ROOT_PAGES:
        shutil.copy(source / name, tree)
    for page in tree.rglob("*.md"):
        folder = source if page.name in ROOT_PAGES else (
            source / "docs" / page.parent.relative_to(tree))
        text = page.read_text(encoding="utf-8")
        page.write_text(with_units(on_the_site(text, folder, source)),
                        encoding="utf-8")


def summaries(hone):
    """Command -> its description in the list of `hone help`."""
    found = {}
    for line in run_hone(hone, "help").splitlines():
        words = line.split(None, 1)
        if line.startswith("  ") and words[0] in COMMANDS:
            found[words[0]] = words[1]
    return found


def write_options(hone, tree):
    """The part of each command's page that is made from options.def.
    Returns the rows of man_pages."""
    made = tree / "generated"
    made.mkdir()
    (made / "hone-options.rst").write_text(run_hone(hone, "help", "--rst"))
    rows = [("man/hone", "hone", "work on disk images", "", 1)]
    about = summaries(hone)
    for command in COMMANDS:
        text = run_hone(hone, "help", "--rst", command)
        intro, option, options = text.partition(".. option::")
        synopsis, _, details = intro.partition("\n\n")
        for name, content in (("synopsis", synopsis), ("details", details),
                              ("options", option + options),
                              ("summary", about[command] + ".")):
            (made / f"{command}-{name}.rst").write_text(content + "\n")
        rows.append((f"man/hone-{command}", f"hone-{command}",
                     about[command], "", 1))
    return rows


def write_headers(parsed, tree):
    """The pages made from headers. Returns the rows of man_pages."""
    (tree / "man3").mkdir()
    rows = []

    def add(name, about, text):
        (tree / "man3" / f"{name}.rst").write_text(text)
        rows.append((f"man3/{name}", name, about, "", 3))

    add("libhone", "hot paths, one header a part", pages.man_overview(
        parsed, with_functions(parsed)))
    for header in parsed:
        (tree / "api" / f"{header.stem}.rst").write_text(
            pages.api_page(header))
    for header in with_functions(parsed):
        add(pages.man_name(header), header.comment.summary,
            pages.man_header(header))
        for item in header.of_kind("function"):
            add(item.name, item.comment.summary,
                pages.man_page(item, header))
    return rows


def write_aliases(parsed, out):
    """Manual pages that refer to another page: types, by their names."""
    for header in with_functions(parsed):
        for name in pages.man_aliases(header):
            (out / f"{name}.3").write_text(
                f".so man3/{pages.man_name(header)}.3\n")


def build(options, parsed):
    """Gather the tree and run Sphinx; returns its exit status."""
    work = options.work
    tree = work / "source"
    shutil.rmtree(work, ignore_errors=True)
    copy_pages(options.source, tree)
    rows = write_options(options.hone, tree) + write_headers(parsed, tree)
    (tree / "made.json").write_text(
        json.dumps({"version": options.version, "man_pages": rows}))
    target = work / options.what
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-b", options.what, "-t",
         options.what, "-d", work / "doctrees", "-W", "--keep-going", "-q",
         tree, target], check=False)
    if run.returncode == 0 and options.what == "man":
        options.out.mkdir(parents=True, exist_ok=True)
        for page in target.rglob("*.[13]"):
            shutil.copy(page, options.out)
        write_aliases(parsed, options.out)
    elif run.returncode == 0:
        theme.mend(target / "_static")
        shutil.rmtree(options.out, ignore_errors=True)
        shutil.copytree(target, options.out)
    return run.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("man", "html", "list", "inputs"))
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--hone")
    parser.add_argument("--version")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("header", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    try:
        parsed = [headers.parse_header(path) for path in options.header]
    except headers.HeaderError as error:
        print(error, file=sys.stderr)
        return 1
    if options.what == "list":
        print("\n".join(man_names(parsed)))
        return 0
    if options.what == "inputs":
        print("\n".join(map(str, inputs())))
        return 0
    return build(options, parsed)


if __name__ == "__main__":
    sys.exit(main())
