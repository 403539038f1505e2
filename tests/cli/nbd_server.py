# SPDX-License-Identifier: BSD-3-Clause
"""An NBD server that keeps to the protocol or, where a test wants, does not."""
import contextlib
import os
import socket
import struct
import threading

OPT_MAGIC, REPLY_MAGIC = 0x49484156454F5054, 0x3E889045565A9
REQUEST, SIMPLE, STRUCTURED = 0x25609513, 0x67446698, 0x668E33EF
EXPORT_NAME, ABORT, GO, STRUCTURED_REPLY, META = 1, 2, 7, 8, 10
ACK, INFO, META_CONTEXT, UNSUPPORTED = 1, 3, 4, (1 << 31) + 1
READ, WRITE, DISCONNECT, FLUSH, WRITE_ZEROES, BLOCK_STATUS = 0, 1, 2, 3, 6, 7
HAS_FLAGS, READ_ONLY, CAN_FLUSH, CAN_ZERO, CAN_MULTI = 1, 2, 4, 64, 256
EIO = 5


class Closed(Exception):
    """The connection is over."""


class Server:
    """Serves `disk`, a bytearray, at `path`; a thread for each connection.

    close_at: a connection is closed in place of its message of that number;
    close_after: of that number after the handshake.
    lives: so many connections are closed at close_at; None: all.
    extents(offset, length): the (length, flags) of block status; None: none.
    errors: {kind of request: error}; silent: kinds that get no answer.
    later_size: that of the export after a connection was lost.
    read, status(connection, cookie, offset, length): answers to a read and to a
    question for block status.
    wrote(connection, cookie): answers to a write, which is done.
    """

    def __init__(self, path, disk, flags=CAN_FLUSH | CAN_ZERO, **how):
        self.path, self.disk, self.flags = str(path), disk, HAS_FLAGS | flags
        self.close_at = how.pop("close_at", None)
        self.close_after = how.pop("close_after", None)
        self.lives = how.pop("lives", None)
        self.size = how.pop("size", None)
        self.minimum = how.pop("minimum", None)
        self.extents = how.pop("extents", None)
        self.errors = how.pop("errors", {})
        self.silent = how.pop("silent", ())
        self.later_size = how.pop("later_size", None)
        self.read = how.pop("read", None)
        self.status = how.pop("status", None)
        self.wrote = how.pop("wrote", None)
        self.structured = how.pop("structured", True)
        assert not how, how
        self.lock = threading.Lock()
        self.connections = self.closed = self.most = self.messages = 0
        # The messages of a handshake: newer versions of libnbd ask for more.
        self.greeting = 0
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.open = set()

    @property
    def url(self):
        return f"nbd+unix:///?socket={self.path}"

    def __str__(self):
        return self.url

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        os.unlink(self.path)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                self.open.add(connection)
                self.connections += 1
                threading.Thread(target=self.serve, args=(connection,),
                                 daemon=True).start()

    def serve(self, connection):
        try:
            with connection:
                Connection(self, connection).run()
        except (Closed, OSError):
            pass
        finally:
            self.open.discard(connection)


class Connection:
    def __init__(self, server, connection):
        self.server, self.connection = server, connection
        self.count = 0
        self.number = server.connections
        self.structured = self.meta = False
        # requests that are answered later
        self.later = []

    def take(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise Closed
            data += more
        return data

    def send(self, *parts):
        """One message of the server."""
        server = self.server
        if self.count == server.close_at and (
                server.lives is None or server.closed < server.lives):
            server.closed += 1
            raise Closed
        self.count += 1
        server.messages = max(server.messages, self.count)
        self.connection.sendall(b"".join(parts))

    def run(self):
        self.send(b"NBDMAGIC", struct.pack(">QH", OPT_MAGIC, 3))
        self.take(4)
        while self.option():
            pass
        self.server.greeting = self.count
        if self.server.close_after is not None:
            self.server.close_at = self.count + self.server.close_after
        while self.request():
            pass

    def reply(self, option, kind, data=b""):
        self.send(struct.pack(">QIII", REPLY_MAGIC, option, kind, len(data)), data)

    def option(self):
        """Returns False when the handshake is over."""
        _, option, length = struct.unpack(">QII", self.take(16))
        data = self.take(length)
        server = self.server
        size = len(server.disk) if server.size is None else server.size
        if server.closed and server.later_size:
            size = server.later_size
        if option == STRUCTURED_REPLY and server.structured:
            self.structured = True
            self.reply(option, ACK)
        elif option == META and self.structured:
            self.meta = server.extents is not None
            if self.meta:
                self.reply(option, META_CONTEXT,
                           struct.pack(">I", 1) + b"base:allocation")
            self.reply(option, ACK)
        elif option == GO:
            self.reply(option, INFO, struct.pack(">HQH", 0, size, server.flags))
            if server.minimum:
                self.reply(option, INFO, struct.pack(
                    ">HIII", 3, server.minimum, server.minimum, 1 << 25))
            self.reply(option, ACK)
            return False
        elif option == ABORT:
            raise Closed
        else:
            assert data is not None
            self.reply(option, UNSUPPORTED)
        return True

    def chunk(self, cookie, kind, data, done=True):
        self.send(struct.pack(">IHHQI", STRUCTURED, done, kind, cookie,
                              len(data)), data)

    def answer(self, cookie, error=0, data=b"", offset=0):
        if not self.structured or (error == 0 and not data):
            self.send(struct.pack(">IIQ", SIMPLE, error, cookie), data)
        elif error:
            self.chunk(cookie, (1 << 15) + 1, struct.pack(">IH", error, 0))
        else:
            self.chunk(cookie, 1, struct.pack(">Q", offset) + data)

    def request(self):
        """Returns False when the client is done."""
        server = self.server
        magic, _, kind, cookie, offset, length = struct.unpack(">IHHQQI", self.take(28))
        assert magic == REQUEST
        data = self.take(length) if kind == WRITE else b""
        if kind == DISCONNECT:
            return False
        with server.lock:
            server.requests.append((kind, offset, length))
        if kind in server.silent:
            return True
        if kind in server.errors:
            self.answer(cookie, server.errors[kind])
        elif kind == READ:
            if server.read:
                return server.read(self, cookie, offset, length)
            self.answer(cookie, data=bytes(server.disk[offset:offset + length]),
                        offset=offset)
        elif kind == BLOCK_STATUS and server.status:
            return server.status(self, cookie, offset, length)
        elif kind == BLOCK_STATUS:
            self.chunk(cookie, 5, struct.pack(">I", 1) + b"".join(
                struct.pack(">II", *extent)
                for extent in server.extents(offset, length)))
        else:
            if kind == WRITE:
                server.disk[offset:offset + length] = data
                if server.wrote:
                    return server.wrote(self, cookie)
            elif kind == WRITE_ZEROES:
                server.disk[offset:offset + length] = bytes(length)
            self.answer(cookie)
        return True
