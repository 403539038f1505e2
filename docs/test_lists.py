# SPDX-License-Identifier: BSD-3-Clause
"""The lists in pages of formats, packings, places and options are those of the
sources: a page that still names two of five formats fails here.
"""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [path for pattern in ("*.md", "docs/*.md", "docs/*.rst",
                              "docs/man/*.rst", "docs/design/*.md",
                              "packaging/debian/control", "cli/options.def")
         for path in sorted(ROOT.glob(pattern))]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def rows(path, macro):
    """The arguments of each row of a .def, as text."""
    text = COMMENT.sub("", (ROOT / path).read_text("utf-8"))
    return re.findall(rf"^{macro}\((.*?)\)$", text, re.DOTALL | re.MULTILINE)


def sources(pattern):
    """The text of the C sources of a pattern."""
    return "\n".join(COMMENT.sub("", path.read_text("utf-8"))
                     for path in sorted(ROOT.glob(pattern)))


def has(member):
    """The formats whose table of functions has this one."""
    text = sources("image/format/**/*.c")
    tables = re.findall(r"struct image_format image_format_(\w+) = \{(.*?)^\}",
                        text, re.DOTALL | re.MULTILINE)
    assert sorted(name for name, _ in tables) == sorted(FORMATS)
    return {name for name, body in tables if f".{member} = " in body}


FORMATS = rows("image/format/formats.def", "IMAGE_FORMAT")
READ, WRITTEN = has("open"), has("create")
PACKINGS = {row.split(", ")[1]: row.split('"')[1]
            for row in rows("image/unpack/packings.def", "IMAGE_PACKING_ROW")}
# Scheme -> whether hone writes there.
SCHEMES = {row.split('"')[1]: row.endswith(", 1")
           for row in rows("image/store/schemes.def", "IMAGE_SCHEME")}
OPTIONS = set(re.findall(r'^HONE_(?:OPTION|ALIAS)\([^"]*"([\w-]+)"',
                         (ROOT / "cli/options.def").read_text("utf-8"),
                         re.MULTILINE))
KEYS = set(re.findall(r'\{"(\w+)", IMAGE_OPTION_',
                      sources("image/format/**/*.c")))

# A list of some formats or packings that is right, where it stands.
SOME = {
    "README.md": [{"gzip", "zstd"}],  # are written
    "NEWS.md": [
        {"raw", "qcow2"},  # written to devices
        {"gzip", "zstd"}],  # are written
    "packaging/debian/control": [{"raw", "qcow2"}],
    "cli/options.def": [
        {"raw", "vhd"},  # begin as their disk begins
        {".gz", ".zst"}],  # are written
    "docs/maintaining.md": [{"vmdk", "vhd"}],  # whose tests took time
    "docs/qemu-img.md": [{"qcow2", "vmdk"}],  # rounded up to 512 bytes
    "docs/man/hone.rst": [
        {"xz", "zstd"},  # whose windows take memory
        {"raw", "qcow2"}],  # the media types of registries
    "docs/man/hone-check.rst": [{"qcow2", "vmdk", "vhd"}],
    "docs/man/hone-convert.rst": [
        {"raw", "vhd"},  # begin as their disk begins
        {"qcow2", "vmdk"},  # rounded up to 512 bytes
        {"vmdk", "gce"},  # are always compressed
        {".gz", ".zst"}],  # are written
    "docs/man/hone-map.rst": [{"qcow2", "vmdk"}],  # have compressed extents
    "docs/design/image.md": [{"raw", "qcow2"}, {"zstd", "gzip"}],  # as measured
    "docs/benchmarks.md": [{"raw", "qcow2"}, {"vmdk", "vhd"}],  # as measured
    "docs/start.rst": [{"xz", "bzip2"}],  # optional libraries
}


def lists(text, names):
    """The lists of two or more of the names: [(line, set of names)]."""
    name = (r"[`*]{0,2}(?<![\w.-])(?:" + "|".join(map(re.escape, names))
            + r")(?![\w.-]*\w)[`*]{0,2}")
    between = (r"(?:\s\([^)]*\))?(?:,\s(?:and\s|or\s)?|\s(?:and|or|nor)\s)"
               r"(?:(?:fixed|dynamic|plain)\s)?")
    for match in re.finditer(f"{name}(?:{between}{name})+",
                             re.sub(r"\s+", " ", text), re.IGNORECASE):
        yield match[0], {found.lower() for found in re.findall(
            r"(?<![\w.-])(" + "|".join(map(re.escape, names)) + r")\b",
            match[0], re.IGNORECASE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_of_formats_and_packings_are_whole(page):
    text = re.sub(r'"\s+"', "", page.read_text("utf-8"))
    name = str(page.relative_to(ROOT))
    right = [READ, READ - {"raw"}, set(FORMATS), set(PACKINGS),
             set(PACKINGS.values()), *SOME.get(name, [])]
    for names in (FORMATS, PACKINGS, PACKINGS.values()):
        for shown, found in lists(text, names):
            assert found in right, f"{name}: '{shown}' leaves some out"


@pytest.mark.parametrize("text, found", [
    ("There is no other format than raw and qcow2.", [{"raw", "qcow2"}]),
    ("raw, qcow2, VMDK (`streamOptimized`) and fixed\nVHD",
     [{"raw", "qcow2", "vmdk", "vhd"}]),
    ("``raw`` or **gce**", [{"raw", "gce"}]),
    ("raw disks, and qcow2; disk.raw, x.qcow2", []),
])
def test_a_list_is_found(text, found):
    assert [names for _, names in lists(text, FORMATS)] == found


def table():
    """README's table of formats: its head, and the rows by the format."""
    text = re.search(r"^\| format \|.*?\n\n", README, re.DOTALL | re.MULTILINE)
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")]
                      for line in text[0].split("\n") if line]
    return head, {row[0]: row[1:] for row in body}


def test_readme_has_every_format_packing_and_place():
    head, body = table()
    assert sorted(body) == sorted(FORMATS)
    for name, cells in body.items():
        assert ("write" in cells[0]) == (name in WRITTEN), name
        for cell in cells:
            assert ("read" in cell) == (name in READ), name
    (packed,) = [cell for cell in head if cell.startswith("in gzip")]
    assert set(re.findall(r"\w+", packed)) - {"in"} == set(PACKINGS)
    places = {scheme: number - 1 for number, cell in enumerate(head)
              for scheme in re.findall(r"`([\w+]+)://`", cell)}
    plain = {scheme.removesuffix("+unix") for scheme in SCHEMES}
    assert set(places) | {"http", "nbds"} == plain
    for scheme, column in places.items():
        assert SCHEMES[scheme] == any(
            "write" in row[column] for row in body.values()), scheme


def test_the_manual_names_every_scheme():
    text = (ROOT / "docs/man/hone.rst").read_text("utf-8")
    assert [scheme for scheme in SCHEMES if f"{scheme}:" not in text] == []


# What these pages show in code that begins with -- is an option of hone.
OTHERS = {"NEWS.md": {"target", "with-hone", "tag"},
          "docs/man/hone-convert.rst": {"tag"}}


@pytest.mark.parametrize("name", [
    "README.md", "NEWS.md", "SECURITY.md", "docs/qemu-img.md",
    "docs/automation.rst", "docs/recipes.rst",
    *(f"docs/man/{path.name}" for path in sorted(
        (ROOT / "docs/man").glob("hone*.rst")))])
def test_options_that_a_page_names_exist(name):
    text = (ROOT / name).read_text("utf-8")
    if name == "docs/qemu-img.md":  # the first column has those of qemu-img
        text = re.sub(r"^\| `-.*?(?<!\\) \| ", "", text, flags=re.MULTILINE)
    found = set(re.findall(r"(?:`|\*\*)--([a-z][\w-]*)", text))
    assert found - OPTIONS - OTHERS.get(name, set()) == set()


def test_the_table_for_qemu_img_has_every_key_and_no_other():
    text = (ROOT / "docs/qemu-img.md").read_text("utf-8")
    lines = "\n".join(re.findall(r"^\| `-.*\|$", text, re.MULTILINE))
    assert KEYS - set(re.findall(r"\w+", lines)) == set()
    (same,) = re.findall(r"^\| `-o KEY=VALUE,\.\.\.` \|(.*)\|$", lines,
                         re.MULTILINE)
    assert set(re.findall(r"`(\w+)(?:=\w+)?`", same)) <= KEYS
