# SPDX-License-Identifier: BSD-3-Clause
"""Images made by random calls of the qcow2 sink, read by others.

SINK_PLAY names the program of sink_play.c.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import hypothesis
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import qcow2_reader  # noqa: E402 pylint: disable=wrong-import-position

KI, MI, GI, TI = 1 << 10, 1 << 20, 1 << 30, 1 << 40


def play(path, size, seed, **options):
    """Make path/a.qcow2 and path/a.raw."""
    program = os.environ.get("SINK_PLAY")
    if not program:
        pytest.fail("set SINK_PLAY to the path of sink_play")
    words = [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run(
        [program, path / "a.qcow2", path / "a.raw", str(size), str(seed),
         *words], check=False, stderr=subprocess.PIPE, timeout=1000)
    assert done.returncode == 0, done.stderr.decode()
    return path / "a.qcow2", path / "a.raw"


def qemu_img(*words):
    """Run qemu-img, which has to find nothing wrong."""
    done = subprocess.run(["qemu-img", *words], check=False, timeout=1000,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()


def check(image, raw):
    """Our own reader and qemu-img agree on the image."""
    own = qcow2_reader.Qcow2(image)
    own.check()
    own.assert_holds(raw)
    if shutil.which("qemu-img"):
        qemu_img("check", "-q", image)
        qemu_img("compare", "-q", "-f", "qcow2", "-F", "raw", image, raw)
    return own


@st.composite
def kinds(draw):
    """Options that go together."""
    options = {
        "cluster_size": 1 << draw(st.integers(9, 21)),
        "refcount_bits": 1 << draw(st.integers(0, 6)),
        "dense": draw(st.sampled_from([5, 30, 60, 97])),
    }
    zstd, extended = draw(st.booleans()), draw(st.booleans())
    if draw(st.integers(0, 4)) == 0:
        options.update(compat=0, refcount_bits=16)
    else:
        options["compression_type"] = int(zstd)
        if extended:
            options["extended_l2"] = 1
            options["cluster_size"] = max(16384, options["cluster_size"])
    mode = draw(st.sampled_from(["plain", "compress", "compress", "metadata"]))
    if mode == "compress":
        options["compress"] = 1
    if mode == "metadata":
        options["preallocation"] = 1
    return options


@hypothesis.given(kinds(), st.integers(0, 1 << 40), st.data())
def test_whatever_the_calls_the_image_is_sound_and_equal(
        tmp_path_factory, options, seed, data):
    """Sizes are small where clusters are: calls are many then."""
    most = min(options["cluster_size"] * 2000, 24 * MI)
    size = data.draw(st.one_of(st.integers(0, 4096), st.integers(0, most)))
    path = tmp_path_factory.mktemp("sink")
    image, raw = play(path, size, seed, **options)
    own = check(image, raw)
    if "preallocation" in options:
        assert len(own.where) == -(-own.size // own.cluster)
    shutil.rmtree(path)


@pytest.mark.parametrize("options,size", [
    ({}, GI), ({"extended_l2": 1}, 40 * GI), ({"compress": 1}, 8 * TI),
    ({"refcount_bits": 64}, 40 * GI),
    ({"refcount_bits": 1, "cluster_size": 4096}, GI),
    ({"cluster_size": 2 * MI}, 8 * TI)], ids=str)
def test_data_far_apart_is_found_again(tmp_path, options, size):
    """A table for nearly each cluster that has data."""
    if size // options.get("cluster_size", 65536) ** 2 * 8 > 4 * MI:
        pytest.skip("the L1 table would be larger than 32 MiB")
    check(*play(tmp_path, size, 7, dense=30, **options))


@pytest.mark.parametrize("bits", [1, 8, 16, 64])
def test_refcount_blocks_are_right_at_each_border(tmp_path, bits):
    """Sizes that let the blocks just fit or just not, with all clusters used:
    a block counts 4096 / bits clusters of 512 bytes."""
    per_block = 4096 // bits
    for clusters in range(per_block - 40, per_block + 5):
        image, _ = play(tmp_path, 512 * clusters, 3, cluster_size=512,
                        refcount_bits=bits, preallocation=1, dense=0)
        qcow2_reader.Qcow2(image).check()
    if shutil.which("qemu-img"):
        qemu_img("check", "-q", image)


def test_a_full_refcount_table_cluster_gets_a_second_one(tmp_path):
    """With 512-byte clusters and 64 bits, 64 blocks of 64 clusters."""
    tables = set()
    for clusters in range(3760, 4096, 4):
        image, _ = play(tmp_path, 512 * clusters, 3, cluster_size=512,
                        refcount_bits=64, preallocation=1, dense=0)
        own = qcow2_reader.Qcow2(image)
        own.check()
        tables.add(own.table_clusters)
    assert tables == {1, 2}


def test_more_compressed_clusters_than_a_host_cluster_can_count(tmp_path):
    """Of 2 bits, the largest count is 3."""
    image, raw = play(tmp_path, 4 * MI, 5, cluster_size=65536, dense=97,
                      refcount_bits=2, compress=1)
    own = check(image, raw)
    assert max(own.references.values()) <= 3


def test_tables_are_written_while_data_goes_on(tmp_path):
    """More than 1 MiB of L2 tables and of refcount blocks, between the data."""
    image, raw = play(tmp_path, 96 * MI, 11, cluster_size=512, dense=97,
                      refcount_bits=64)
    own = check(image, raw)
    first = min(own.l2_at)
    assert first < max(own.where.values()), "all tables are at the end"


def test_an_empty_disk_of_8_tib_takes_three_blocks(tmp_path):
    """Its L1 table is a hole."""
    image, _ = play(tmp_path, 8 * TI, 1, dense=0)
    qcow2_reader.Qcow2(image).check()
    assert os.stat(image).st_blocks * 512 <= 12 * KI
