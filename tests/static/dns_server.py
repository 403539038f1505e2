# SPDX-License-Identifier: BSD-3-Clause
"""A DNS server that knows one address, 127.0.0.1, under each name.

A name that begins with "long" has an answer that is too long for UDP.
"""
import contextlib
import fcntl
import socket
import socketserver
import struct
import threading

A, IN = 1, 1
RESPONSE, TRUNCATED = 0x8180, 0x0200


def answer(query, udp):
    """The answer to a query of one question."""
    end = query.index(b"\0", 12) + 5
    (kind,) = struct.unpack(">H", query[end - 4:end - 2])
    is_long = query[13:17] == b"long"
    flags, count = RESPONSE, int(kind == A)
    if is_long and udp:
        flags, count = flags | TRUNCATED, 0
    record = struct.pack(">HHHIH4B", 0xC00C, A, IN, 60, 4, 127, 0, 0, 1)
    return (query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0)
            + query[12:end] + record * count)


class Datagram(socketserver.BaseRequestHandler):
    """A query by UDP."""

    def handle(self):
        data, sock = self.request
        sock.sendto(answer(data, True), self.client_address)


class Connection(socketserver.StreamRequestHandler):
    """Queries by TCP, each after its length."""

    def handle(self):
        while head := self.rfile.read(2):
            (length,) = struct.unpack(">H", head)
            said = answer(self.rfile.read(length), False)
            self.wfile.write(struct.pack(">H", len(said)) + said)


@contextlib.contextmanager
def dns_server():
    """Answers at port 53 of the loopback interface."""
    with contextlib.ExitStack() as stack:
        for kind, handler in ((socketserver.ThreadingUDPServer, Datagram),
                              (socketserver.ThreadingTCPServer, Connection)):
            server = kind(("127.0.0.1", 53), handler)
            server.daemon_threads = True
            stack.enter_context(server)
            threading.Thread(target=server.serve_forever,
                             kwargs={"poll_interval": 0.02},
                             daemon=True).start()
            stack.callback(server.shutdown)
        yield


def loopback_up():
    """Start the loopback interface of a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        # SIOCSIFFLAGS, IFF_UP
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 1))
