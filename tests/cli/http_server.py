# SPDX-License-Identifier: BSD-3-Clause
"""A web server for the tests, whose answers a test can bend."""
import http.server
import re
import socket
import threading

HTTP = re.compile(r"bytes=(\d+)-(\d+)")


class Request:
    """What a client asked for."""

    def __init__(self, handler, number):
        self.number = number
        self.path = handler.path
        self.headers = handler.headers
        match = HTTP.fullmatch(self.headers.get("Range", ""))
        self.range = tuple(map(int, match.groups())) if match else None


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the content of its server, by default as it should be."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Print nothing."""

    def do_GET(self):  # pylint: disable=invalid-name
        """Note the request, then let the test answer."""
        server = self.server
        with server.lock:
            request = Request(self, len(server.requests))
            server.requests.append(request)
        try:
            if not server.answer or server.answer(self, request) is None:
                self.good(request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def head(self, status, fields, length):
        """Send the header."""
        self.send_response_only(status)
        for name, value in fields.items():
            if value is not None:
                self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def good(self, request, content=None, **changes):
        """The right answer to a request for a range, with changed fields."""
        content = self.server.content if content is None else content
        first, last = request.range
        last = min(last, len(content) - 1)
        if first >= len(content):
            self.head(416, {"Content-Range": f"bytes */{len(content)}"}, 0)
            return True
        body = content[first:last + 1]
        fields = {"ETag": '"one"',
                  "Content-Range": f"bytes {first}-{last}/{len(content)}"}
        fields.update({name.replace("_", "-"): value
                       for name, value in changes.items()})
        self.head(206, fields, len(body))
        self.send(body)
        return True

    def send(self, body):
        """Send bytes of the file, and count them."""
        for at in range(0, len(body), 1 << 16):
            piece = body[at:at + (1 << 16)]
            with self.server.lock:
                self.server.sent += len(piece)
            self.wfile.write(piece)

    def whole(self, request, length=True, **fields):
        """The answer of a server that has no ranges."""
        assert request
        content = self.server.content
        self.head(200, {"ETag": '"one"', **fields},
                  len(content) if length else None)
        if not length:
            self.close_connection = True
        self.send(content)
        return True

    def status(self, status, **fields):
        """An answer without a file."""
        page = b"<html>an answer for a person</html>"
        self.head(status, {name.replace("_", "-"): value
                           for name, value in fields.items()}, len(page))
        self.wfile.write(page)
        return True

    def hang_up(self):
        """Close the connection now."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        return True


class Server(http.server.ThreadingHTTPServer):
    """Runs in threads of the test from `with` to its end."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, content=b"", answer=None, context=None):
        self.content = content
        self.answer = answer
        self.requests = []
        self.sent = 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if context:
            self.scheme = "https"
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.thread = threading.Thread(target=self.serve_forever,
                                       kwargs={"poll_interval": 0.02})

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        """A client may leave at any time."""

    def url(self, path="/disk.img", user=""):
        """The address of a file."""
        return (f"{self.scheme}://{user}127.0.0.1:"
                f"{self.server_address[1]}{path}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()
