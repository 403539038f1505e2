# SPDX-License-Identifier: BSD-3-Clause
"""A registry of containers for the tests, whose answers a test can bend."""
import contextlib
import hashlib
import json
import re

from http_server import Server, status
from images import PACK
from tar_builder import archive

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker"
MANIFEST, INDEX = f"{OCI}.manifest.v1+json", f"{OCI}.index.v1+json"
DOCKER_MANIFEST = f"{DOCKER}.distribution.manifest.v2+json"
DOCKER_LIST = f"{DOCKER}.distribution.manifest.list.v2+json"
TAR = f"{OCI}.layer.v1.tar"
DOCKER_TAR = f"{DOCKER}.image.rootfs.diff.tar.gzip"
EMPTY = "application/vnd.oci.empty.v1+json"
TITLE = "org.opencontainers.image.title"
PATH = re.compile(r"/v2/vms/disk/(manifests|blobs)/([\w.:-]+)")


PACKED = {"": bytes, "+gzip": PACK["gzip"], "+zstd": PACK["zstd"]}


class Registry:
    """Has the repository vms/disk.

    bend: {path: an answer} in place of the right ones. first: called with the
    handler and the request before anything else; None goes on.
    """

    def __init__(self):
        self.files = {}
        self.bend = {}
        self.first = lambda *_: None
        self.server = None

    def blob(self, content, kind, **more):
        """Store bytes. Returns their descriptor."""
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        self.files["blobs", digest] = content
        return {"mediaType": kind, "digest": digest, "size": len(content), **more}

    def layer(self, files, packing="", kind=TAR + "{}"):
        """Store a layer of files."""
        return self.blob(PACKED[packing](archive(files)), kind.format(packing))

    def put(self, manifest, tag="latest", **more):
        """Store a manifest, or its bytes. Returns its descriptor."""
        text = manifest if isinstance(manifest, bytes) else json.dumps(
            manifest).encode()
        found = self.blob(text, json.loads(text).get("mediaType", MANIFEST)
                          if isinstance(manifest, dict) else MANIFEST, **more)
        self.files["manifests", found["digest"]] = text
        self.files["manifests", tag] = text
        return found

    def image(self, *layers, tag="latest", kind=MANIFEST, **more):
        """Store a manifest of layers, the lowest one first."""
        return self.put({
            "schemaVersion": 2, "mediaType": kind,
            "config": self.blob(b"{}", f"{OCI}.config.v1+json"),
            "layers": list(layers)}, tag, **more)

    def index(self, *manifests, tag="latest", kind=INDEX):
        """Store an index."""
        return self.put({"schemaVersion": 2, "mediaType": kind,
                         "manifests": list(manifests)}, tag)

    def answer(self, handler, request):
        """Of the server."""
        done = self.first(handler, request)
        if done is not None:
            return done
        if request.path in self.bend:
            return self.bend[request.path](handler, request)
        match = PATH.fullmatch(request.path)
        content = match and self.files.get(match.groups())
        if content is None:
            return handler.status(404)
        accept = request.headers.get("Accept", "")
        if match[1] == "manifests":
            # As Debian's registry, which has no answer for other types.
            if not all(kind in accept for kind in (
                    MANIFEST, INDEX, DOCKER_MANIFEST, DOCKER_LIST)):
                return handler.status(404)
            handler.head(200, {}, len(content))
            handler.send(content)
            return True
        return handler.good(request, content)

    @contextlib.contextmanager
    def running(self, context=None):
        """Runs from `with` to its end."""
        with Server(b"", self.answer, context) as self.server:
            yield self

    def url(self, reference=""):
        """The address of an image."""
        return f"oci://127.0.0.1:{self.server.server_address[1]}/vms/disk" + \
            reference

    @contextlib.contextmanager
    def elsewhere(self, made):
        """A server with the blob, to which this one redirects from `path`."""
        path = f"/v2/vms/disk/blobs/{made['digest']}"
        with Registry().running() as other:
            other.files, other.path = self.files, path
            self.bend[path] = status(307, Location=other.server.url(path))
            yield other

    def logins(self):
        """The logins and tokens that came."""
        return list(filter(None, (request.headers["Authorization"]
                                  for request in self.server.requests)))

    def asked(self, kind):
        """The requests for manifests or blobs, each path once."""
        return list(dict.fromkeys(
            request.path.split("/")[-1] for request in self.server.requests
            if f"/{kind}/" in request.path))
