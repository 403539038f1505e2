# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: the command, a place for images, the images."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

import images
from harness import Hone, Web, need, other_user
from without import NO_TMPFILE, Without


# A shell starts what it puts in the background with SIGINT ignored, nohup with
# SIGHUP; the command would inherit that, and rightly keep to it.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter):
    """Say how many faults were tried."""
    tried = [value for report in terminalreporter.stats.get("passed", [])
             for key, value in report.user_properties if key == "faults"]
    terminalreporter.write_line(f"{sum(tried)} faults tried in {len(tried)} sweeps")


@pytest.fixture(scope="session")
def hone():
    """The command that HONE names."""
    path = os.environ.get("HONE")
    if not path:
        pytest.fail("set HONE to the path of the hone command")
    return Hone(os.path.realpath(path))


@pytest.fixture
def web(hone, tmp_path):
    """The command for addresses, in a home without settings."""
    home = tmp_path / "home"
    home.mkdir()
    return Web(hone.path, home)


@pytest.fixture(params=["nameless", "named"])
def either(request, hone):
    """The command on file systems with and without O_TMPFILE."""
    return hone if request.param == "nameless" else Without(hone, NO_TMPFILE)


@pytest.fixture
def root():
    """Skip without the rights to make the files and links of others."""
    if os.geteuid():
        pytest.skip("only root can make the file of another")


@pytest.fixture
def somebody(hone, root):
    """A user, with a directory that everybody may write to."""
    who = other_user(hone, 12345)
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        images.small(place / "s")
        os.chmod(place / "s", 0o644)
        os.chmod(place, 0o777)
        yield who, place
        os.chmod(place, 0o700)


@pytest.fixture(params=images.PACK)
def packing(request, hone):
    """Each packing of this build."""
    hone.need(images.LIBRARIES[request.param])
    return request.param


@pytest.fixture
def libcurl(hone):
    """Skip in a build without libcurl."""
    hone.need("libcurl")


@pytest.fixture
def digests(hone):
    """Skip if this hone computes no digests."""
    hone.need("OpenSSL")


@pytest.fixture
def work(tmp_path):
    """An empty directory that is gone after the test."""
    images.need_holes(tmp_path)
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    """Call it with a maker's name: the path of an image, made once."""
    directory = tmp_path_factory.mktemp("images")
    images.need_holes(directory)
    made = {}

    def get(name):
        if name not in made:
            path = directory / name
            try:
                images.MAKERS[name](path)
            except images.Unsupported as reason:
                pytest.skip(str(reason))
            made[name] = path
        return made[name]
    yield get
    shutil.rmtree(directory)


@pytest.fixture
def small(work):
    """A source of a few hundred KiB, in a directory of its own."""
    path = work / "source" / "disk.img"
    path.parent.mkdir()
    images.small(path)
    return path


@pytest.fixture
def out(work):
    """An empty directory for the output."""
    path = work / "out"
    path.mkdir()
    return path


@pytest.fixture(params=["1", "3"])
def threads(request):
    """One thread, and more than this machine may have CPUs."""
    return request.param


@pytest.fixture(scope="session")
def qemu_img():
    """Call it with arguments: qemu-img's exit code and stdout."""
    need("qemu-img")

    def run(*args):
        done = subprocess.run(["qemu-img", *args], check=False,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=1000)
        return done.returncode, done.stdout.decode()
    return run


@pytest.fixture(scope="session")
def strace():
    """The words that run a command under strace."""
    need("strace")
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], check=False,
                          stderr=subprocess.PIPE)
    if done.returncode:
        pytest.skip("strace may not trace here: " + done.stderr.decode())
    return ["strace", "-f"]
