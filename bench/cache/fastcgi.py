# SPDX-License-Identifier: BSD-3-Clause
"""A FastCGI client: one connection to php-cgi, many requests."""
import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT, STDERR = 1, 3, 4, 5, 6, 7
RESPONDER, KEEP = 1, 1
HEADER = struct.Struct('>BBHHBx')  # version, type, request, length, padding


class Ended(Exception):
    """The other side closed the connection."""


def record(kind, content=b''):
    return HEADER.pack(1, kind, 1, len(content), 0) + content


def length(text):
    if len(text) < 128:
        return struct.pack('B', len(text))
    return struct.pack('>I', len(text) | 1 << 31)


def pairs(variables):
    """The variables of a request, as FastCGI has them."""
    encoded = b''
    for name, value in variables.items():
        name, value = name.encode(), value.encode()
        encoded += length(name) + length(value) + name + value
    return encoded


class Connection:
    """Stays open, so all of its requests go to one process."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.stream = self.socket.makefile('rb')

    def send(self, variables):
        begin = struct.pack('>HB5x', RESPONDER, KEEP)
        self.socket.sendall(
            record(BEGIN, begin) + record(PARAMS, pairs(variables)) +
            record(PARAMS) + record(STDIN))

    def receive(self):
        """(body, error output) of the request that was sent."""
        out, errors = b'', b''
        while True:
            _, kind, _, size, padding = HEADER.unpack(self.read(HEADER.size))
            content = self.read(size + padding)[:size]
            if kind == STDOUT:
                out += content
            elif kind == STDERR:
                errors += content
            elif kind == END:
                return out.partition(b'\r\n\r\n')[2], errors

    def read(self, size):
        try:
            content = self.stream.read(size)
        except ConnectionError:
            content = b''
        if len(content) != size:
            raise Ended
        return content

    def close(self):
        self.stream.close()
        self.socket.close()
