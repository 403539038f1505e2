# SPDX-License-Identifier: BSD-3-Clause
"""File names of every kind: valid JSON, one-line errors, right files."""
import os
import re

import pytest

import images
from harness import assert_same, error_line, failure

NAMES = {
    "quote": b'a"b.img', "backslash": b"a\\b.img", "newline": b"a\nb.img",
    "escape": b"a\x1b[31mb.img", "control": b"a\x01\x7f\tb\r.img",
    "c1": "a\x9b31mb\x85.img".encode(), "bare c1": b"a\x9b31m.img",
    "nbsp": "a\u00a0b\u00ff.img".encode(),
    "latin1": b"caf\xe9.img", "cut": b"a\xe2\x82.img",
    "surrogate": b"\xed\xa0\x80.img", "overlong": b"\xc0\xaf.img",
    "euro": "€ ∞.img".encode(), "emoji": "\U0001f4be.img".encode(),
    "bidi": "a\u202egmi.\u2066b\u2069\u200f\u061c.img".encode(),
    "separators": "a\u2028b\u2029.img".encode(),
    "hidden": "a\u200b\u200d\u00ad\ufeff\u2060b.img".encode(),
    "tags": "a\U000e0061\U000e007f.img".encode(),
    "shorthand": "a\U0001bca0\U0001d173\U00013430.img".encode(),
    "edges": "\u00ac\u00ae\u200a\u2010\u2027\u202f\u205f\u2070".encode(),
    "space": b" a b .img", "percent": b"%s%n.img", "long": b"n" * 240,
}


@pytest.fixture(params=NAMES.values(), ids=NAMES)
def odd(request, work):
    """A source with an odd name, as bytes."""
    path = os.path.join(os.fsencode(work), request.param)
    try:
        images.small(type(work)(os.fsdecode(path)))
    except OSError as error:
        pytest.skip(f"no such name on this file system: {error}")
    return path


# What a terminal obeys, or what changes how its neighbours look.
CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\U0001bca0\U0001d173\U00013430"
    "\U000e0000-\U000e007f]")


def text(name):
    """The name, if it is text."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return None


def test_json_stays_valid_and_gives_the_name_back(hone, odd):
    result = hone.json("convert", "--json", odd, odd + b".raw")
    assert_same(odd, odd + b".raw", "raw")
    if text(odd) is not None:
        assert result["source"] == text(odd)
        assert result["destination"] == text(odd) + ".raw"
    else:
        assert "\ufffd" in result["source"]
    hone.json("map", "--json", odd)
    hone.json("info", "--json", odd)
    hone.json("compare", "--json", odd, odd + b".raw")


def test_errors_stay_one_printable_line(hone, odd):
    for words in (["convert", odd, odd], ["info", odd + b".none"],
                  ["convert", odd + b".none", odd + b".raw"],
                  ["map", odd + b".none"], ["compare", odd, odd + b".none"]):
        done = hone.run(*words)
        assert (done.returncode, done.stdout) == (failure(words[0]), b"")
        line = error_line(done.stderr)
        assert not CONTROLS.search(line)
        assert not re.search(r"[\ud800-\udfff]", line), "no UTF-8"


def test_reports_for_people_carry_no_control_characters(hone, odd):
    for words in (["convert", odd, odd + b".raw"], ["info", odd],
                  ["compare", odd, odd + b".raw"]):
        said = hone.ok(*words).stdout
        assert not CONTROLS.search(said.decode("utf-8").replace("\n", ""))


def test_json_carries_no_control_characters_either(hone, odd):
    said = hone.ok("info", "--json", odd).stdout.decode("utf-8")
    assert not CONTROLS.search(said[:-1])


def test_characters_that_show_stay_as_they_are(hone, work):
    path = work / "é€\u00a0\u202f\U0001f4be\u0600\u06dd.img"
    images.small(path)
    assert str(path) in hone.ok("info", path).stdout.decode()
    assert str(path) in hone.ok("info", "--json", path).stdout.decode()


def test_a_name_printed_gives_the_file_back(hone, odd):
    """No two names look alike, and printf %b knows them again."""
    shown = hone.ok("info", odd).stdout.split(b"\n")[0].split(b":", 1)[1]
    shown = re.sub(rb"\\(?:x(..)|\\)", lambda match: (
        bytes([int(match[1], 16)]) if match[1] else b"\\"), shown.lstrip())
    assert shown == odd


def test_a_misuse_with_an_odd_word_stays_one_line(hone):
    for word in NAMES.values():
        hone.misused(word)
        hone.misused(b"convert", b"-O", word, b"a", b"b")
        hone.misused(b"convert", b"--" + word, b"a", b"b")
        hone.misused(b"convert", b"-S", word, b"a", b"b")


def test_a_name_too_long_for_a_temporary_beside_it_still_works(hone, work):
    """The output's name may be as long as the file system allows."""
    limit = os.pathconf(work, "PC_NAME_MAX")
    images.small(work / "s")
    output = work / ("n" * limit)
    hone.ok("convert", "-q", work / "s", output)
    assert_same(work / "s", output, "raw")
    said = hone.fails("convert", work / "s", work / ("n" * (limit + 1)))
    assert "too long" in said
    assert sorted(os.listdir(work)) == ["n" * limit, "s"]
