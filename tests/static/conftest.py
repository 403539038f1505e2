# SPDX-License-Identifier: BSD-3-Clause
"""The static command where nothing else is.

HONE_STATIC is the folder that ./dev static made: build/static/CPU. Without it,
the module that needs no such command uses that of build/gcc.
HONE_EMULATOR is a static qemu for another CPU. HONE_OWN_NETWORK says that this
process has a network namespace of its own.
"""
import hashlib
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

# pylint: disable=wrong-import-position
import dns_server  # noqa: E402
from empty import BUILT, Empty, need_static  # noqa: E402
from http_server import certificate, tls_of  # noqa: E402

MIB = 1 << 20


@pytest.fixture(scope="session", name="built")
def fixture_built():
    """The folder of the command and its licences."""
    need_static()
    if os.geteuid() != 0:
        pytest.skip("only root may enter a chroot")
    return BUILT


@pytest.fixture(name="root")
def fixture_root():
    """A folder for a chroot. Its path is short: it has sockets."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="hone.", dir="/tmp"))
    yield root
    shutil.rmtree(root)


@pytest.fixture(name="empty")
def fixture_empty(built, root):
    """The folder that has the command and nothing else."""
    return Empty(root, built / "hone", os.environ.get("HONE_EMULATOR"))


@pytest.fixture(scope="session", name="disk")
def fixture_disk():
    """Data, zeros, data, zeros."""
    block = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(1 << 15))
    return block + bytes(3 * MIB) + block[:MIB // 2] + bytes(MIB // 2)


@pytest.fixture(scope="session", name="secure")
def fixture_secure(tmp_path_factory):
    """The TLS of a server, its certificate, and that of another one."""
    folder, other = map(tmp_path_factory.mktemp, ("server", "other"))
    names = "IP:127.0.0.1,DNS:*.example.org"
    certificates = [certificate(folder, names, "server").read_bytes(),
                    certificate(other, names, "other").read_bytes()]
    return tls_of(folder), *certificates


@pytest.fixture(scope="session", name="network", autouse=True)
def fixture_network():
    """Whether this process has a network namespace of its own."""
    own = bool(os.environ.get("HONE_OWN_NETWORK"))
    if own:
        dns_server.loopback_up()
    return own


@pytest.fixture(scope="session", name="names")
def fixture_names(network):
    """A server of names, where there is no other."""
    if not network:
        pytest.skip("this process has no network namespace of its own")
    with dns_server.dns_server():
        yield
