# SPDX-License-Identifier: BSD-3-Clause
"""What holds for servers of HTTP and of NBD alike."""
import os
import socket

import pytest

import nbd_server
from http_server import Server, hang_up, turns
from images import MI
from test_nbd import MULTI, disk, serve


class Http:
    """A web server."""
    scheme, needs = "http", "libcurl"
    nobody = "cannot be read at offset 0: Failed to connect to 127.0.0.1"
    silent = "the server sent nothing for 1 seconds"
    lost, tries = "cannot be read at offset 0: ", [6]

    def hangs_up(self, _):
        return Server(disk(), hang_up)

    def stops(self, _):
        def silent(handler, request):
            handler.begin(request)
            handler.connection.recv(1)  # until the client leaves
            return True
        return Server(disk(), turns(None, silent))


class Nbd:
    """An NBD server with these flags, which stops at a kind of request."""
    scheme, needs = "nbd", "libnbd"
    nobody = "Connection refused"
    silent = "the server did not answer for 1 second"
    lost, tries = "lost", range(2, 60)

    def __init__(self, flags, kind):
        self.flags, self.kind = flags, kind

    def hangs_up(self, work):
        return serve(work, disk(), self.flags, close_after=0)

    def stops(self, work):
        return serve(work, disk(), silent={self.kind})


PEERS = {"http": Http(),
         "nbd": Nbd(nbd_server.CAN_FLUSH, nbd_server.READ),
         "nbd, multi": Nbd(MULTI, nbd_server.BLOCK_STATUS)}
SCHEMES = ["http", "nbd"]


@pytest.fixture(name="peer", params=PEERS)
def fixture_peer(request, hone):
    """Skips in a build without its library."""
    peer = PEERS[request.param]
    hone.need(peer.needs)
    return peer


def refused(web, out, url, *words):
    """A copy ends with the status of a server that may come back, and leaves
    nothing."""
    said = web.fails("convert", "-f", "raw", *words, url, out / "never", code=4)
    assert not os.listdir(out)
    return said


@pytest.mark.parametrize("peer", SCHEMES, indirect=True)
def test_nobody_listens(web, peer, out):
    with socket.socket() as nobody:  # bound, but it does not listen
        nobody.bind(("127.0.0.1", 0))
        url = f"{peer.scheme}://127.0.0.1:{nobody.getsockname()[1]}/a"
        assert peer.nobody in refused(web, out, url)
        assert peer.nobody in web.fails("info", url, code=4)


@pytest.mark.parametrize("peer", SCHEMES, indirect=True)
@pytest.mark.parametrize("command", [
    "convert", "compare", "map", "check", "digest", "info"])
def test_a_server_that_never_answers(web, peer, out, command):
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"{peer.scheme}://127.0.0.1:{server.getsockname()[1]}/a"
        more = {"convert": [out / "d"], "compare": [url + "b"]}
        assert peer.silent in web.fails(command, "--timeout", "1", url,
                                        *more.get(command, []), code=4)
    assert not os.listdir(out)


def test_a_server_that_stops_in_the_middle(web, peer, work, out):
    with peer.stops(work) as server:
        assert peer.silent in refused(web, out, str(server), "--timeout", "1")


def test_tries_are_bounded(web, peer, work, out):
    with peer.hangs_up(work) as server:
        assert peer.lost in refused(web, out, str(server))
        tries = (len(server.requests) if peer.scheme == "http" else server.connections)
    assert tries in peer.tries


@pytest.mark.parametrize("peer", SCHEMES, indirect=True)
@pytest.mark.parametrize("words", [[], ["--untrusted"]], ids=" ".join)
def test_a_page_is_no_disk(web, peer, work, out, words):
    page = b"<!DOCTYPE html>\n<html>".ljust(MI, b"a")
    with (Server(page) if peer.scheme == "http" else serve(work, page)) as server:
        assert "is a text" in web.fails("convert", *words, str(server), out / "never")
    assert not os.listdir(out)
