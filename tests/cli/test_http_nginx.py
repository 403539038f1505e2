# SPDX-License-Identifier: BSD-3-Clause
"""Images on nginx: TLS, HTTP/2, compression, redirects; certificates, proxies
and the settings of the user."""
import contextlib
import hashlib
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

import images
from harness import TIMEOUT, listening
from http_server import (
    Server, certificate, head, hang_up, script, send, status, tls_of)
from test_http import MI, NOWHERE

pytestmark = pytest.mark.usefixtures("libcurl")

BUNDLES = ["/etc/ssl/certs/ca-certificates.crt",
           "/etc/pki/tls/certs/ca-bundle.crt",
           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"]
# Where the certificates of distributions are, in a trace.
SYSTEM = re.compile(r'"/etc/(?:ssl|pki)/[^"]*(?:cert|\.pem|/[0-9a-f]{8}\.0)')

# What each configuration begins with; FORMAT is that of the lines of its log.
HEAD = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
{user}
events {{ }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    log_format short 'FORMAT';
    access_log {folder}/access.log short;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
"""
CONFIG = HEAD.replace(
    "FORMAT", "$server_protocol $status $request_uri $http_range") + """
    root {folder}/files;
    gzip on;
    gzip_min_length 1;
    gzip_types *;
    gzip_proxied any;
    server {{
        listen 127.0.0.1:{plain};
        location /none/ {{ max_ranges 0; alias {folder}/files/; }}
        location /up/ {{
            return 302 https://localhost:{tls}/disk.img;
        }}
    }}
    server {{
        listen 127.0.0.1:{tls} ssl http2;
        location /down/ {{
            return 302 http://localhost:{plain}/disk.img;
        }}
        location /slow/ {{ limit_rate 20m; alias {folder}/files/; }}
        location /endless/ {{ ssi on; ssi_types *; alias {folder}/files/; }}
        location /none/ {{ max_ranges 0; alias {folder}/files/; }}
    }}
}}
"""


class Nginx:
    """nginx with the files of a folder."""

    def __init__(self, program, folder, config=CONFIG):
        self.folder = folder
        sockets = [listening(), listening()]
        self.plain, self.tls = (one.getsockname()[1] for one in sockets)
        self.cert = certificate(folder)
        (folder / "files").mkdir()
        (folder / "nginx.conf").write_text(config.format(
            folder=folder, plain=self.plain, tls=self.tls,
            user="" if os.getuid() else "user root;"))
        with open(folder / "said", "wb") as said:
            # As from the nginx that it replaces: it never waits for a port,
            # and no client for it.
            fds = [one.fileno() for one in sockets]
            self.process = subprocess.Popen(
                [program, "-p", folder, "-c", folder / "nginx.conf"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                pass_fds=fds, env={**os.environ, "NGINX": "".join(
                    f"{fd};" for fd in fds)})
        for one in sockets:
            one.close()

    def url(self, path="/disk.img"):
        """An address with TLS."""
        return f"https://localhost:{self.tls}{path}"

    def said(self):
        """The log of its errors."""
        return (self.folder / "said").read_text()

    def requests(self, mark, least):
        """The lines of its log with a mark, which may come late."""
        end = time.monotonic() + TIMEOUT
        while True:
            text = (self.folder / "access.log").read_text()
            lines = [line for line in text.splitlines() if mark in line]
            if len(lines) >= least:
                return lines
            assert time.monotonic() < end, text
            time.sleep(0.01)

    def stop(self):
        """End it."""
        self.process.terminate()
        self.process.wait(TIMEOUT)


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    """nginx, until the last test of this file."""
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not program or not shutil.which("openssl"):
        pytest.skip("nginx or openssl is not installed")
    server = Nginx(program, tmp_path_factory.mktemp("nginx"))
    try:
        # Text, which nginx would compress.
        (server.folder / "files" / "disk.img").write_bytes(
            b"".join(b"%08x line\n" % i for i in range(900000)))
        yield server
    finally:
        server.stop()


@pytest.fixture
def stranger(tmp_path):
    """A certificate of another authority."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    return certificate(folder, owner="stranger")


def trusted(nginx):
    """The settings under which its certificate is good."""
    return {"CURL_CA_BUNDLE": str(nginx.cert)}


def folder_of(cert):
    """A folder of certificates that has this one."""
    folder = cert.parent / "trust"
    folder.mkdir(exist_ok=True)
    name = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", cert], check=True,
        stdout=subprocess.PIPE).stdout.decode().strip()
    shutil.copy(cert, folder / f"{name}.0")
    return str(folder)


def copy(web, nginx, out, url, *words, **kwargs):
    """A copy must be as the file."""
    done = web.ok("convert", "-f", "raw", *words, url, out / "d", **kwargs)
    assert (out / "d").read_bytes() == (
        nginx.folder / "files" / "disk.img").read_bytes()
    (out / "d").unlink()
    return done


def test_ranges_by_http_2_and_tls(web, nginx, out):
    done = copy(web, nginx, out, nginx.url("/disk.img?h2"), env=trusted(nginx))
    assert done.warned == 0
    for line in nginx.requests("?h2", 3):
        assert line.startswith("HTTP/2.0 206 /disk.img?h2 bytes="), line


def test_no_keys_are_written(web, nginx, out, work):
    copy(web, nginx, out, nginx.url(),
         env={**trusted(nginx), "SSLKEYLOGFILE": str(work / "keys")})
    assert not (work / "keys").exists()


def test_a_file_that_nginx_could_compress(web, nginx, out):
    done = copy(web, nginx, out, f"http://127.0.0.1:{nginx.plain}/disk.img?z")
    assert done.warned == 1
    for line in nginx.requests("?z", 3):
        assert line.startswith("HTTP/1.1 206 "), line


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_without_ranges(web, nginx, out, scheme):
    port = nginx.tls if scheme == "https" else nginx.plain
    copy(web, nginx, out, f"{scheme}://localhost:{port}/none/disk.img?"
         f"{scheme}", env=trusted(nginx))
    assert len(nginx.requests(f"?{scheme}", 1)) == 1


def test_the_end_of_a_stream_of_http_2_is_an_end(web, nginx, out):
    """nginx does not know the length of what it looks for directives."""
    copy(web, nginx, out, nginx.url("/endless/disk.img?e"), env=trusted(nginx))
    assert nginx.requests("?e", 1)[-1].startswith("HTTP/2.0 200 ")


@pytest.mark.parametrize("notify", [False, True])
def test_the_end_of_tls_is_no_end(web, nginx, out, notify):
    """Neither a connection that is cut nor one that is closed."""
    def close(handler, _):
        if notify:
            with contextlib.suppress(OSError):
                handler.connection.unwrap()
    pem = ["--cacert", nginx.cert]
    with Server(images.noise(MI), script(head(200, {}), send(), close, hang_up),
                tls_of(nginx.folder)) as server:
        url = server.url().replace("127.0.0.1", "localhost")
        web.refuses(server, out, *pem, url=url, code=4)
        if notify:
            web.copies(server, out, *pem, "--expect=sha256:" + hashlib.sha256(
                server.content).hexdigest(), url=url)


def test_a_limit_of_the_rate(web, nginx, out):
    copy(web, nginx, out, nginx.url("/slow/disk.img"), env=trusted(nginx))


def test_a_redirect_from_http_to_https_and_not_back(web, nginx, out):
    copy(web, nginx, out, f"http://localhost:{nginx.plain}/up/", env=trusted(nginx))
    said = web.fails("convert", nginx.url("/down/"),
                     out / "d", env=trusted(nginx))
    assert "the server redirects from https to http" in said
    assert not os.listdir(out)


def test_who_is_trusted(web, nginx, out):
    copy(web, nginx, out, nginx.url(), env={"SSL_CERT_FILE": str(nginx.cert)})
    copy(web, nginx, out, nginx.url(), env={
        "SSL_CERT_FILE": "/dev/null", "CURL_CA_BUNDLE": str(nginx.cert)})
    copy(web, nginx, out, nginx.url(), env={"SSL_CERT_DIR": folder_of(nginx.cert)})
    for address in nginx.url(), nginx.url().replace("localhost", "127.0.0.1"):
        env = {} if address == nginx.url() else trusted(nginx)
        said = web.fails("info", address, env=env)
        assert "SSL" in said and "certificate" in said.lower(), said
        # Another authority would not help with the name of the host.
        assert said.endswith("self-signed certificate; --cacert FILE trusts "
                             "another authority") == (not env), said


@pytest.mark.parametrize("variable", [None, "SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_without_any_authority(web, nginx, strace, work, variable):
    """As on a system without ca-certificates."""
    missing = work / "missing.pem"
    before = [*strace, "-qq", "-o", "/dev/null", *(
        word for name in BUNDLES for word in ("-P", name)), "-e",
        "inject=?open,openat,?access,?faccessat:error=ENOENT"]
    said = web.fails(
        "info", nginx.url(), before=() if variable else before,
        env={variable: str(missing)} if variable else {})
    assert said == f"hone: {nginx.url()}: " + (
        f"{variable} names '{missing}', which has no certificate that can be "
        "read" if variable else
        "there are no certificates of authorities here: install "
        "ca-certificates, or use --cacert FILE")


@pytest.mark.parametrize("command", [
    "convert", "map", "info", "compare", "check", "digest"])
def test_an_option_names_who_is_trusted(web, nginx, out, command):
    path = nginx.folder / "files" / "disk.qcow2"
    web.ok("convert", "-q", "--force", "-f", "raw", "-O", "qcow2",
           nginx.folder / "files" / "disk.img", path)
    url = nginx.url("/disk.qcow2")
    for words in (["--cacert", nginx.cert], ["--capath", folder_of(nginx.cert)],
                  ["--capath", f"{nginx.folder}:{folder_of(nginx.cert)}"], []):
        last = {"convert": [out / f"d{len(os.listdir(out))}"],
                "compare": [path]}.get(command, [])
        if words:
            web.ok(command, *words, url, *last)
    assert "certificate" in web.fails(
        command, url, *last, code=2 if command in ("check", "compare") else 1)


def test_an_option_has_precedence_over_the_environment(web, nginx, stranger, out):
    """In each, one certificate is good: that of the option, or the other."""
    url, good, bad = nginx.url(), nginx.cert, stranger
    for one, other, works in (good, bad, True), (bad, good, False):
        for option in ["--cacert", one], ["--capath", folder_of(one)]:
            for env in ({"CURL_CA_BUNDLE": str(other)},
                        {"SSL_CERT_FILE": str(other)},
                        {"SSL_CERT_DIR": folder_of(other)}):
                if works:
                    copy(web, nginx, out, url, "--threads", "1", *option, env=env)
                else:
                    assert "certificate" in web.fails("info", *option, url, env=env)
    # One of both is enough.
    copy(web, nginx, out, url, "--cacert", bad, "--capath", folder_of(good))
    copy(web, nginx, out, url, "--cacert", good, "--capath", folder_of(bad))


@pytest.mark.parametrize("option", ["--cacert", "--capath"])
def test_an_option_replaces_what_the_system_trusts(
        web, nginx, stranger, strace, work, option):
    """No certificate of the system is looked for."""
    log = work / "log"
    value = stranger if option == "--cacert" else folder_of(stranger)
    for words in [], [option, value]:
        said = web.fails(
            "info", *words, nginx.url(),
            before=[*strace, "-o", str(log), "-e", "trace=%file"])
        assert "certificate" in said
        found = SYSTEM.search(log.read_text())
        assert bool(found) != bool(words), found


@pytest.mark.parametrize("text, said", [
    (None, "cannot be opened: No such file or directory"),
    ("", "has no certificate in PEM"),
    ("BEGIN CERTIFICATE\n", "has no certificate in PEM"),
    ("-----BEGIN PRIVATE KEY-----\n", "has no certificate in PEM"),
    ("x" * ((4 << 20) + 1), "has more than 4194304 bytes")])
def test_a_file_without_a_certificate(web, out, work, text, said):
    """It is refused before there is a connection."""
    path = work / "ca.pem"
    if text is not None:
        path.write_text(text)
    with Server(b"x") as server:
        for address in server.url(), server.url().replace("http:", "https:"):
            got = web.refuses(server, out, "--cacert", path, url=address)
            assert got.startswith(f"hone: {path}: {said}"), got
        assert not server.requests
    # A list of digests comes first, and nothing is asked for.
    got = web.fails("digest", "--cacert", path, "--expect",
                    "https://127.0.0.1:1/sums", server.url())
    assert got.startswith(f"hone: {path}: {said}"), got


@pytest.mark.parametrize("cut", [
    lambda lines: lines[:4],
    lambda lines: lines[:2] + ["!" + lines[2][1:]] + lines[3:],
    lambda lines: lines + lines[:2] + ["!" + lines[2][1:]] + lines[3:],
    lambda lines: [lines[0], "AAAA", lines[-1]]])
def test_a_damaged_certificate(web, nginx, work, cut):
    path = work / "ca.pem"
    lines = nginx.cert.read_text().splitlines()
    path.write_text("\n".join(cut(lines)) + "\n")
    said = web.fails("info", "--cacert", path, nginx.url())
    assert said == f"hone: {path}: has a certificate that is not valid"


def test_a_folder_of_certificates_that_is_none(web, nginx, work, out):
    for value, name, said in (
            (work / "none", work / "none", "cannot be opened: No such file"),
            (nginx.cert, nginx.cert, "is not a directory"),
            (f"{folder_of(nginx.cert)}:{nginx.cert}", nginx.cert,
             "is not a directory")):
        got = web.fails("info", "--capath", value, nginx.url())
        assert got.startswith(f"hone: {name}: {said}"), got
    for option in "--cacert", "--capath":
        assert f"{option}: the name is empty" in web.misused(
            "convert", option, "", nginx.url(), out / "d")
    assert not os.listdir(out)


def test_an_option_names_who_is_trusted_for_a_list_of_digests(web, nginx, stranger):
    """And the fields of the image's host do not go to that of the list."""
    image = nginx.folder / "files" / "disk.img"
    sums = f"{hashlib.sha256(image.read_bytes()).hexdigest()} *disk.img\n"
    token = nginx.folder / "token"
    token.write_text("X-Token: secret\n")
    with Server(sums.encode(), context=tls_of(nginx.folder)) as server:
        url = server.url("/SHA256SUMS").replace("127.0.0.1", "localhost")
        words = ["digest", "-f", "raw", "--http-header", f"@{token}", "--expect", url]
        for option in ["--cacert", nginx.cert], ["--capath", folder_of(nginx.cert)]:
            web.ok(*words, *option, image)
        assert "certificate" in web.fails(
            *words, "--cacert", stranger, image, env=trusted(nginx))
        assert server.requests
        for request in server.requests:
            assert "X-Token" not in request.headers


def test_a_proxy_with_tls(web, nginx, out):
    """It may have a certificate of --capath, and none of --cacert, as for
    curl."""
    url = f"http://{NOWHERE}:81/a?b"
    with Server(images.noise(MI), context=tls_of(nginx.folder)) as server:
        env = {"http_proxy": server.url("").replace("127.0.0.1", "localhost")}
        web.copies(server, out, "--capath", folder_of(nginx.cert), url=url, env=env)
        web.copies(server, out, url=url, env={
            **env, "SSL_CERT_DIR": folder_of(nginx.cert)})
        for words in [], ["--cacert", nginx.cert]:
            assert web.refuses(server, out, *words, url=url, env=env).endswith(
                "; --capath DIR trusts other authorities, also of a proxy")


class Raw:
    """Gives each client the same bytes for its first ones, and leaves."""

    def __init__(self, answer):
        self.answer = answer
        self.clients = 0
        self.socket = listening()
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        """Until there is one without a byte."""
        while True:
            with self.socket.accept()[0] as client:
                if not client.recv(65536):
                    return
                self.clients += 1
                with contextlib.suppress(OSError):
                    client.sendall(self.answer)
                    client.shutdown(socket.SHUT_WR)
                    # Bytes that were not read would cut the answer.
                    while client.recv(65536):
                        pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.thread.join()
        self.socket.close()


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    b"220 hello\r\n",
    # alerts: no version in common, and an internal error
    bytes.fromhex("15030300020246"), bytes.fromhex("15030300020250"),
    # half an answer
    bytes.fromhex("160303004602")])
def test_a_server_whose_tls_fails(web, answer):
    """It is tried once, like a server that cannot be reached."""
    with Raw(answer) as server:
        said = web.fails("info", f"https://127.0.0.1:{server.port}/a", code=4)
        assert "/a: there is no TLS with the server at this port (" in said
        assert said.endswith("); is it an http:// address?")
        assert server.clients == 1


def test_a_server_that_wants_tls(web, nginx):
    """nginx answers 400; others send an alert, or close the connection."""
    asks = "; is it an https:// address?"
    said = web.fails("info", f"http://127.0.0.1:{nginx.tls}/disk.img")
    assert said.endswith("/disk.img: the server answered 400" + asks)
    for answer, code in (bytes.fromhex("15030300020246"), 1), (b"", 4):
        with Raw(answer) as server:
            said = web.fails("info", f"http://127.0.0.1:{server.port}/a", code=code)
            assert "/a: cannot be read at offset 0: " in said
            assert said.endswith(asks)
    # A proxy answers, or the address is not the user's.
    with Raw(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as bad:
        url = f"http://127.0.0.1:{bad.port}"
        with Server(b"", lambda handler, _: handler.status(302, Location=url)) as server:
            for address, env in (("s3://bucket/a", {"AWS_ENDPOINT_URL": url}),
                                 (f"http://{NOWHERE}/a", {"http_proxy": url}),
                                 (server.url(), {})):
                said = web.fails("info", address, env=env)
                assert said.endswith("the server answered 400"), address


def test_tls_that_fails_after_the_first_answer(web, nginx, out):
    """It was there, so it may come again."""
    content = images.noise(6 * MI)
    with Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n") as plain:
        def answer(handler, request):
            if request.number < 1:
                return None
            return handler.status(302, Location=(f"https://localhost:{plain.port}/a"))
        with Server(content, answer, tls_of(nginx.folder)) as server:
            web.refuses(server, out, "--cacert", nginx.cert,
                        url=server.url().replace("127.0.0.1", "localhost"),
                        code=4)


@pytest.mark.parametrize("scheme, who", [
    ("http", "the proxy"), ("https", "the server or the proxy")])
def test_a_proxy_without_tls(web, scheme, who):
    with Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n") as proxy:
        said = web.fails("info", f"{scheme}://{NOWHERE}/a", code=4, env={
            f"{scheme}_proxy": f"https://127.0.0.1:{proxy.port}"})
        assert f"/a: there is no TLS with {who} at this port (" in said
        assert proxy.clients == 1


@pytest.mark.parametrize("proxy, code", [
    ("ftp://me:hidden@127.0.0.1:1", 1), ("me:hid den@127.0.0.1", 1),
    ("http://me:hid den@127.0.0.1:1", 1), ("http://me:hidden@127.0.0.1:1", 4),
    ("socks5://me:hidden@127.0.0.1:1", 4), (f"http://me:hidden@{NOWHERE}", 4)])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_cannot_be_used(web, scheme, proxy, code):
    said = web.fails("info", f"{scheme}://{NOWHERE}/a", code=code,
                     env={f"{scheme}_proxy": proxy})
    assert "hid" not in said and " den" not in said
    assert ("the address of the proxy is not valid" in said) == (code == 1)


@pytest.mark.parametrize("status, text, code", [
    (407, " (proxy authentication required)", 1), (403, " (forbidden)", 1),
    (302, "", 1), (503, " (service unavailable)", 4)])
def test_a_proxy_that_does_not_connect(web, status, text, code):
    with Raw(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode()) as server:
        said = web.fails("info", f"https://{NOWHERE}/a", code=code, env={
            "https_proxy": f"http://127.0.0.1:{server.port}"})
        assert said.endswith(f": the proxy answered {status}{text}")
        assert server.clients == (6 if code == 4 else 1)


def test_a_list_of_digests_on_a_server(web, nginx, out):
    files = nginx.folder / "files"
    right = hashlib.sha256((files / "disk.img").read_bytes()).hexdigest()
    here = f"https://localhost:{nginx.tls}"
    image = f"http://localhost:{nginx.plain}/disk%2Eimg?key=a/b"
    env = trusted(nginx)
    for digest, code in (right, 0), ("0" * 64, 3):
        (files / "SHA256SUMS").write_text(f"{'1' * 64} *b\n{digest} *disk.img\n")
        for url in f"{here}/SHA256SUMS", f"@{here}/none/SHA256SUMS?x=/":
            words = ["-f", "raw", "--expect", url, image]
            if code == 0:
                web.ok("digest", *words, env=env)
                continue
            assert "the file is refused" in web.fails(
                "convert", *words, out / "d", code=3, env=env)
    said = web.fails("digest", "--expect", f"{here}/missing", image, env=env)
    assert "/missing: " in said and "404" in said
    said = web.fails("digest", "--expect", f"{here}/SHA256SUMS", image)
    assert "certificate" in said.lower()
    said = web.fails("digest", "--expect",
                     image.replace("disk%2Eimg", "SHA256SUMS"), image)
    assert "is not safe: a list of digests comes from a file or by" in said
    assert not os.listdir(out)


def test_a_proxy(web, out):
    """A request to a proxy has the whole address."""
    def answer(handler, request):
        assert request.path == f"http://{NOWHERE}:81/a?b"
        assert handler.server
        return None
    with Server(images.noise(MI), answer) as server:
        for env in ({"http_proxy": server.url("")}, {"all_proxy": server.url("")}):
            web.copies(server, out, url=f"http://{NOWHERE}:81/a?b", env=env)
        said = web.fails("info", f"http://{NOWHERE}:81/a", code=4, env={
            "http_proxy": server.url(""), "no_proxy": NOWHERE})
        assert "Could not resolve host" in said


def test_a_proxy_may_be_private(web, out):
    """Redirects are for the proxy, which the user named."""
    def answer(handler, request):
        if request.path.endswith("/old"):
            return handler.status(302, Location=f"http://b{NOWHERE[1:]}/new")
        assert request.path == f"http://b{NOWHERE[1:]}/new"
        return None
    with Server(images.noise(MI), answer) as proxy:
        web.copies(proxy, out, "--untrusted",
                   url=f"http://a{NOWHERE[1:]}/old",
                   env={"http_proxy": proxy.url("")})


@pytest.mark.parametrize("moved", [False, True])
def test_a_netrc(web, out, moved):
    path = web.home / ("other" if moved else ".netrc")
    path.write_text("machine 127.0.0.1 login me password pass\n")
    with Server(images.noise(1000)) as server:
        web.copies(server, out, env={"NETRC": str(path)} if moved else {})
        for request in server.requests:
            assert request.headers["Authorization"] == "Basic bWU6cGFzcw=="
        server.requests.clear()
        # Another port counts as another host.
        with Server(b"", status(302, Location=server.url())) as first:
            web.copies(server, out, url=first.url(),
                       env={"NETRC": str(path)} if moved else {})
        for request in server.requests:
            assert "Authorization" not in request.headers


def test_secrets_stay_when_http_becomes_https(web, nginx, out):
    """The same host with TLS is another host, as for curl."""
    with Server(images.noise(1000), context=tls_of(nginx.folder)) as secure:
        url = secure.url().replace("127.0.0.1", "localhost")
        with Server(b"", status(302, Location=url)) as first:
            web.copies(secure, out, env=trusted(nginx), url=first.url(
                user="me:pass@").replace("127.0.0.1", "localhost"))
        for request in secure.requests:
            assert "Authorization" not in request.headers
