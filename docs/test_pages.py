# SPDX-License-Identifier: BSD-3-Clause
"""The built manual and site.

HONE_BUILD names a build folder that was configured with -Ddocs=true.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import build
import headers
import pages

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
PARSED = [headers.parse_header(path)
          for path in sorted((ROOT / "include" / "hone").glob("*.h"))]


@pytest.fixture(scope="session")
def built():
    """Where the pages were built."""
    folder = os.environ.get("HONE_BUILD")
    if not folder:
        pytest.skip("HONE_BUILD names no build folder")
    return pathlib.Path(folder) / "docs"


def shown(page):
    """A manual page as a reader sees it, and the complaints of groff."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-rHY=0", "-Tutf8", "-P-cbou", "-ww", page],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "GROFF_NO_SGR": "1", "LC_ALL": "C.UTF-8"},
        check=True)
    return done.stdout, done.stderr


ALIASES = {f"{name}.3": header for header in PARSED
           if header.of_kind("function") for name in pages.man_aliases(header)}


@pytest.mark.parametrize("name", ALIASES)
def test_a_type_leads_to_the_page_of_its_header(built, name):
    target = f"{pages.man_name(ALIASES[name])}.3"
    assert (built / name).read_text() == f".so man3/{target}\n"
    assert f" {name[:-2]}" in shown(built / target)[0]


@pytest.mark.parametrize(
    "name", [n for n in build.man_names(PARSED) if n not in ALIASES])
def test_manual_page_is_well_formed(built, name):
    text, complaints = shown(built / name)
    assert complaints == ""
    title, _, section = name.rpartition(".")
    assert text.startswith(f"{title.upper()}({section})")
    headings = re.findall(r"^[A-Z].*$", text, re.MULTILINE)
    assert headings[1] == "NAME"
    assert re.search(rf"^ +{re.escape(title)} +- +\S", text, re.MULTILINE)
    # Sphinx prints a reference that it cannot resolve unchanged.
    assert ":c:func:" not in text and "generated" not in text
    # Not every man runs tbl, so a page has lists and no table.
    assert ".TS" not in (built / name).read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize(
    "header", [h for h in PARSED if h.of_kind("function")],
    ids=lambda h: h.name)
def test_manual_page_has_the_prototype_and_each_parameter(built, header):
    for item in header.of_kind("function"):
        text = " ".join(shown(built / f"{item.name}.3")[0].split())
        assert f"#include <{header.name}>" in text
        assert item.text + ";" in text.replace("( ", "(")
        for param in item.params:
            about = item.comment.params[param].split("hone_")[0].split("HONE")
            assert f"{param} {about[0].split('*')[0]}".strip() in text


@pytest.mark.parametrize("name, lines", [
    # A type that only another type mentions, and a constant with its comment.
    ("hone_read_files.3", ["struct hone_file_data {", "HONE_BATCH_PLAIN",
                           "struct hone_file_data *file,"]),
    ("hone_ring_create.3", ["HONE_RING_SINGLE_CONSUMER"]),
    # A header's page has all of them, and all prototypes.
    ("hone_stream.3", ["#include <hone/stream.h>", "HONE_STREAM_BUFFER_MAX",
                       "struct hone_stream_attr {", "HONE_STREAM_EXACT",
                       "int hone_stream_close(struct hone_stream *stream);",
                       "hone_stream_close(3)"]),
    ("hone_mempool_create.3", ["HONE_MEMPOOL_HUGETLB = 1,", "reserved"]),
])
def test_manual_page_explains_the_types_and_their_constants(built, name,
                                                            lines):
    page = [line.strip() for line in shown(built / name)[0].splitlines()]
    assert [line for line in lines if line not in page] == []


@pytest.mark.parametrize("command", build.COMMANDS)
def test_manual_page_has_the_options_of_the_help(built, command):
    hone = os.environ.get("HONE") or built.parent / "cli" / "hone"
    text = shown(built / f"hone-{command}.1")[0]
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)",
                         build.run_hone(hone, command, "--help", "all"),
                         re.MULTILINE)
    assert options
    for option in options:
        assert re.search(rf"^ +(-\w, )?{option}\b", text, re.MULTILINE)


def test_every_header_has_a_page_that_is_listed(built):
    listed = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split()
    for header in PARSED:
        stem = pathlib.Path(header.name).stem
        assert stem in listed
        page = (built / "html" / "api" / f"{stem}.html").read_text(
            encoding="utf-8")
        for item in header.items:
            if item.kind != "macro":
                assert f'id="c.{item.name}"' in page


@pytest.mark.parametrize("page, text, shown", [
    ("docs/design", "[zero](zero.md#samples)", "[zero](zero.md#samples)"),
    ("docs/design", "[how to](../../CONTRIBUTING.md)",
     "[how to](../CONTRIBUTING.md)"),
    ("", "[the tree](docs/design/architecture.md)",
     "[the tree](design/architecture.md)"),
    ("docs", "[run](../bench/results/a.json)", "run `bench/results/a.json`"),
    ("docs", "[`results/a.json`](../bench/results/a.json)",
     "`bench/results/a.json`"),
    ("docs", "[a](https://a.org) [b](#b) ![c](c.svg)",
     "[a](https://a.org) [b](#b) ![c](c.svg)"),
])
def test_links_of_the_site(page, text, shown):
    assert build.on_the_site(text, ROOT / page, ROOT) == shown


def test_a_figure_keeps_its_unit_in_a_cell():
    assert build.with_units("| 3 ns, 8 MiB, 5 % | Zen 4 | 2 sets |\n3 ns\n") == (
        "| 3\u00a0ns, 8\u00a0MiB, 5\u00a0% | Zen\u00a04 | 2 sets |\n3 ns\n")


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md")],
                         ids=lambda page: page.name)
def test_a_link_has_words(page):
    # Sphinx would take the title of the page; other readers show nothing.
    assert "[](" not in page.read_text(encoding="utf-8")


def test_the_site_has_dark_colours_and_a_switch_for_them(built):
    static = built / "html" / "_static"
    style = (static / "styles" / "furo.css").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in style
    script = (static / "scripts" / "furo.js").read_text(encoding="utf-8")
    assert not re.search(r"^import ", script, re.MULTILINE)


def test_the_site_needs_no_file_of_another_place(built):
    html = built / "html"
    for style in html.rglob("*.css"):
        for address in re.findall(r"url\(['\"]?([^)'\"]*)",
                                  style.read_text(encoding="utf-8")):
            assert address.startswith("data:") or (
                style.parent / address).exists(), f"{style}: {address}"
    page = (html / "index.html").read_text(encoding="utf-8")
    for tag, address in re.findall(
            r'<(link|script|img)\b[^>]*? (?:href|src)="([^"]+)"', page):
        assert (html / address.partition("?")[0]).exists(), f"{tag} {address}"
    assert 'href="_static/favicon.svg' in page


def tree_of(text):
    """The paths of a tree that is drawn by indentation, four a level."""
    parents = []
    for line in text.splitlines():
        depth, rest = len(line) - len(line.lstrip(" ")), line.strip()
        if depth > 12:
            continue  # a description that goes on
        names = re.split(r"\s{2,}", rest)[0].split()
        parents[depth // 4:] = [names[0]]
        for name in names:
            yield "/".join(p.strip("/") for p in
                           [*parents[:depth // 4], name])


def test_the_tree_that_is_shown_exists():
    text = (DOCS / "design" / "architecture.md").read_text(encoding="utf-8")
    paths = list(tree_of(text.split("```")[1].strip("\n")))
    assert len(paths) > 15
    assert [p for p in paths
            if not (ROOT / p.replace("PART", "zero")).exists()] == []


def test_the_comment_shown_to_contributors_is_a_real_one():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (shown_there,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    header = ROOT / "include" / "hone" / "zero.h"
    assert shown_there in header.read_text(encoding="utf-8")
