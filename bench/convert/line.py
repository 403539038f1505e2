#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""line.py PORT TO DELAY RATE: accept connections on PORT, and pass their bytes
to and from the port TO: DELAY seconds later, and all together at most RATE
bytes a second in each direction."""
import collections
import socket
import sys
import threading
import time

BLOCK = 256 << 10


class Direction:
    """What all connections share."""

    def __init__(self, rate):
        self.rate, self.free, self.lock = rate, 0.0, threading.Lock()

    def due(self, length):
        """When these bytes have left the sender."""
        with self.lock:
            self.free = max(self.free, time.monotonic()) + length / self.rate
            return self.free


def carry(source, target, direction, delay, window):
    """One direction of one connection."""
    waiting = collections.deque()
    changed = threading.Condition()

    def send():
        while True:
            with changed:
                while not waiting:
                    changed.wait()
                at, data = waiting.popleft()
                changed.notify_all()
            time.sleep(max(0, at - time.monotonic()))
            try:
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return

    threading.Thread(target=send, daemon=True).start()
    data = b'-'
    while data:
        try:
            data = source.recv(BLOCK)
        except OSError:
            data = b''
        at = direction.due(len(data)) + delay
        with changed:
            while len(waiting) > window:
                changed.wait()
            waiting.append((at, data))
            changed.notify_all()
        # No more is read ahead than the line carries in its delay.
        time.sleep(max(0, at - 2 * delay - time.monotonic()))


def main():
    port, to = int(sys.argv[1]), int(sys.argv[2])
    delay, rate = float(sys.argv[3]), float(sys.argv[4])
    up, down = Direction(rate), Direction(rate)
    window = int(rate * delay * 2 / BLOCK) + 8
    listener = socket.create_server(('127.0.0.1', port))
    while True:
        client = listener.accept()[0]
        server = socket.create_connection(('127.0.0.1', to))
        for end in client, server:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target, direction in ((client, server, up),
                                          (server, client, down)):
            threading.Thread(target=carry, daemon=True, args=(
                source, target, direction, delay, window)).start()


if __name__ == '__main__':
    main()
