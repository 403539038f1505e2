# SPDX-License-Identifier: BSD-3-Clause
"""A web server for the tests, whose answers a test can bend.

An answer is a script: script(head(200, {}, 4096), send(b"half"), hang_up).
"""
import http.server
import json
import re
import socket
import ssl
import subprocess
import threading

HTTP = re.compile(r"bytes=(\d+)-(\d+)")


class Request:
    """What a client asked for."""

    def __init__(self, handler, number):
        self.number = number
        self.method = handler.command
        self.path = handler.path
        self.headers = handler.headers
        self.body = handler.rfile.read(int(self.headers.get("Content-Length", 0)))
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

    do_POST = do_GET  # pylint: disable=invalid-name

    def head(self, status, fields, length=None):
        """Send the header: of a dictionary, or of pairs."""
        self.send_response_only(status)
        for name, value in getattr(fields, "items", lambda: fields)():
            if value is not None:
                self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def begin(self, request, content=None, **changes):
        """The header of the right answer to a request for a range, with changed
        fields. Returns its bytes, which are to follow."""
        content = self.server.content if content is None else content
        first, last = request.range
        last = min(last, len(content) - 1)
        if first >= len(content):
            self.head(416, {"Content-Range": f"bytes */{len(content)}"}, 0)
            return b""
        body = content[first:last + 1]
        fields = {"ETag": '"one"',
                  "Content-Range": f"bytes {first}-{last}/{len(content)}"}
        fields.update({name.replace("_", "-"): value
                       for name, value in changes.items()})
        self.head(206, fields, len(body))
        return body

    def good(self, request, content=None, **changes):
        """The right answer."""
        self.send(self.begin(request, content, **changes))
        return True

    def send(self, body=None):
        """Send bytes of the file, or all, and count them."""
        body = self.server.content if body is None else body
        for at in range(0, len(body), 1 << 16):
            piece = body[at:at + (1 << 16)]
            with self.server.lock:
                self.server.sent += len(piece)
            self.wfile.write(piece)

    def write(self, data):
        """Send bytes that are not of the file."""
        self.wfile.write(data)

    def chunk(self, body=None):
        """Send bytes of the file, or all, behind their length."""
        body = self.server.content if body is None else body
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))

    def whole(self, _, length=True, **fields):
        """The answer of a server that has no ranges."""
        content = self.server.content
        self.head(200, {"ETag": '"one"', **fields}, len(content) if length else None)
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

    def json(self, fields, status=200):
        """An answer that is a JSON object."""
        body = json.dumps(fields).encode()
        self.head(status, {}, len(body))
        self.wfile.write(body)
        return True

    def hang_up(self, _=None):
        """Close the connection now."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        return True


def certificate(folder, names="DNS:localhost", owner="localhost"):
    """A certificate that signs itself: cert.pem in the folder, its key in key.pem.
    Returns its path."""
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={owner}",
        "-addext", f"subjectAltName={names}", "-keyout", folder / "key.pem", "-out",
        folder / "cert.pem"], check=True, stderr=subprocess.DEVNULL)
    return folder / "cert.pem"


def tls_of(folder):
    """For a server with the certificate of the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def script(*steps):
    """An answer of steps, which are called with the handler and the request."""
    def answer(handler, request):
        for step in steps:
            step(handler, request)
        return True
    return answer


def turns(*answers):
    """The first answer to the first request, and so on; the last to those
    after them. None is the right answer."""
    return lambda handler, request: (
        answers[min(request.number, len(answers) - 1)] or good())(handler, request)


def places(answers):
    """{path: its answer}; other paths have the right answer."""
    return lambda handler, request: answers.get(request.path, good())(handler, request)


def good(**changes):
    """A step: the right answer, with changed fields."""
    return lambda handler, request: handler.good(request, **changes)


def step_of(method):
    """Called with the arguments of a method, makes a step."""
    return lambda *words, **more: lambda handler, _: method(handler, *words, **more)


status, head, send, write, chunk = map(step_of, (
    Handler.status, Handler.head, Handler.send, Handler.write, Handler.chunk))
whole, hang_up = Handler.whole, Handler.hang_up


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
        return (f"{self.scheme}://{user}127.0.0.1:{self.server_address[1]}{path}")

    __str__ = url

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()
