# SPDX-License-Identifier: BSD-3-Clause
"""`hone compare`: equal, or the first byte that differs."""
import pytest

import images

MI = images.MI


def compare(hone, one, two, *options):
    """(equal, first difference) as --json tells it, checked by status."""
    done = hone.run("compare", "--json", *options, one, two)
    assert done.returncode in (0, 1) and not done.stderr, done
    found = hone.json("compare", "--json", *options, one, two, code=done.returncode)
    assert found["equal"] == (done.returncode == 0)
    return found["equal"], found.get("first_difference")


@pytest.fixture
def pair(work):
    """Two paths for images."""
    return work / "a.raw", work / "b.raw"


def test_equal_images_are_said_to_be_equal(hone, image, pair):
    path = image("mixed")
    pair[0].write_bytes(path.read_bytes())
    assert compare(hone, path, pair[0]) == (True, None)
    said = hone.ok("compare", path, pair[0]).stdout.decode()
    assert said == f"{path} and {pair[0]} are equal\n"
    assert not hone.ok("compare", "-q", path, pair[0]).stdout


def test_a_difference_is_named_by_its_offset_and_exit_1(hone, pair):
    images.pieces(pair[0], 3 * MI, (MI, b"abc"))
    images.pieces(pair[1], 3 * MI, (MI, b"abX"), (2 * MI, b"d"))
    assert compare(hone, *pair) == (False, MI + 2)
    done = hone.run("compare", *pair)
    assert done.returncode == 1 and not done.stderr
    assert done.stdout.decode() == (
        f"{pair[0]} and {pair[1]} differ at offset {MI + 2}\n")
    quiet = hone.run("compare", "-q", *pair)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, b"", b"")


def test_holes_and_written_zeros_are_equal(hone, image, pair):
    images.pieces(pair[0], 8 * MI)
    assert compare(hone, pair[0], image("written_zeros")) == (True, None)
    assert compare(hone, image("written_zeros"), pair[0]) == (True, None)
    assert compare(hone, pair[0], image("written_zeros"), "--strict") == (True, None)


def test_a_longer_image_is_equal_if_its_rest_is_zero_unless_strict(hone, pair):
    images.pieces(pair[0], MI, (5, b"x"))
    images.pieces(pair[1], 2 * MI + 1, (5, b"x"), (MI, bytes(70000)))
    for one, two in (pair, pair[::-1]):
        assert compare(hone, one, two) == (True, None)
        said = hone.ok("compare", one, two).stdout
        assert said != hone.ok("compare", one, one).stdout
        assert b"zero" in said or b"size" in said or b"long" in said
        assert compare(hone, one, two, "--strict")[0] is False
        strict = hone.run("compare", "--strict", one, two)
        assert (strict.returncode, strict.stderr) == (1, b"")
        assert strict.stdout


def test_the_sizes_that_differ_are_named(hone, pair):
    images.pieces(pair[0], 2)
    images.pieces(pair[1], 1)
    one, two = pair
    for options, said in (
            ((one, two), f"{one} and {two} are equal; sizes are 2 and 1 byte"),
            ((two, one), f"{two} and {one} are equal; sizes are 1 and 2 bytes"),
            (("--strict", one, two),
             f"{one} and {two} differ in size: 2 and 1 byte\n")):
        assert hone.run("compare", *options).stdout.decode().startswith(said)


def test_data_past_the_end_of_the_shorter_image_is_a_difference(hone, pair):
    images.pieces(pair[0], MI)
    images.pieces(pair[1], 2 * MI, (MI + 99999, b"x"))
    for one, two in (pair, pair[::-1]):
        assert compare(hone, one, two) == (False, MI + 99999)


def test_compare_reads_raw_only_when_told_for_a_qcow2_magic(hone, pair):
    for path in pair:
        path.write_bytes(b"QFI\xfb" + bytes(4096))
    hone.fails("compare", *pair)
    hone.fails("compare", "-f", "raw", *pair)
    hone.fails("compare", "-F", "raw", *pair)
    hone.ok("compare", "-f", "raw", "-F", "raw", *pair)


def test_a_hint_names_the_format_option_of_the_image_it_is_about(hone, pair):
    """-f is for A, -F for B."""
    pair[0].write_bytes(bytes(4096))
    pair[1].write_bytes(b"vhdxfile" + bytes(4088))
    said = hone.fails("compare", *pair)
    assert str(pair[1]) in said and "add -F raw to read it" in said
    said = hone.fails("compare", *pair[::-1])
    assert str(pair[1]) in said and "add -f raw to read it" in said
    hone.run("compare", "-F", "raw", *pair)


def test_a_failure_has_another_exit_status_than_a_difference(hone, pair):
    pair[0].write_bytes(bytes(4096))
    pair[1].write_bytes(b"x" * 4096)
    assert hone.run("compare", *pair).returncode == 1
    assert hone.run("compare", "-q", *pair).returncode == 1
    missing = f"{pair[0]}.none"
    for words in [pair[0], missing], [missing, pair[1]]:
        said = hone.fails("compare", *words)
        assert f"{missing}: cannot be opened: No such file" in said
    hone.fails("compare", pair[0].parent, pair[1])
    with open("/dev/full", "wb") as full:
        for words in (pair, [pair[0], pair[0]]):
            done = hone.run("compare", *words, stdout=full)
            assert done.returncode == 2 and done.stderr
