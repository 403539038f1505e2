#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SPDX 2.3 lists of what the files of a release contain.

spdx.py VERSION FOLDER SOURCES

Each FILE of FOLDER gets FILE.spdx.json beside it: its version, licence and
SHA-256, the source that it was made from, and what others wrote: the libraries
in the static command and the OCI image, the theme of hone-doc. SOURCES has the
.dsc files of Debian's sources that ./dev static compiled. The same files make
the same bytes; the date is SOURCE_DATE_EPOCH.
"""
import datetime
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import urllib.parse
import uuid

# What a static command contains, by the names of Debian's source packages.
LICENCES = {
    "bzip2": "bzip2-1.0.6",
    "curl": "curl",
    "libdeflate": "MIT",
    "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libnbd": "LGPL-2.1-or-later",
    "libxml2": "MIT",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "musl": "MIT",
    "openssl": "Apache-2.0",
    "xz-utils": "LicenseRef-liblzma",
    "zlib": "Zlib",
}
OWN = "BSD-3-Clause"
# What the pages of hone-doc contain: name, licence, and a file that has the
# version, if any has.
THEME = [
    ("Sphinx", "BSD-2-Clause", "index.html", "Generated with Sphinx ([^ ]+)"),
    ("Furo", "MIT", "index.html", "and Furo ([^ ]+)"),
    ("clipboard.js", "MIT", "_static/clipboard.min.js",
     r"clipboard\.js v([^ \n]+)"),
    ("gumshoejs", "MIT", "_static/scripts/gumshoe-patched.js",
     "gumshoejs v([^ ]+)"),
    ("normalize.css", "MIT", "_static/styles/furo.css", "()"),
    ("Pygments", "BSD-2-Clause", "_static/pygments.css", "()"),
    ("sphinx-copybutton", "MIT", "_static/copybutton.js", "()"),
]
# A licence that SPDX has no name for.
PUBLIC_DOMAIN = {
    "licenseId": "LicenseRef-liblzma",
    "name": "Public domain, as liblzma says",
    "extractedText": "liblzma is in the public domain."}


def sha256(content):
    """The digest of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def package(name, version, licence, digest, supplier, **more):
    """A package of SPDX. Its identifier has only what SPDX permits."""
    identifier = re.sub("[^A-Za-z0-9.-]", "-",
                        f"{name}-{version}-{digest[:8]}")
    made = {"SPDXID": f"SPDXRef-{identifier}", "name": name,
            "licenseDeclared": licence, "licenseConcluded": licence,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, **more}
    if version:
        made["versionInfo"] = version
    if digest:
        made["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    if supplier:
        made["supplier"] = f"Organization: {supplier}"
    return made


def debian(name, version, digest, **more):
    """A library that Debian has."""
    if name not in LICENCES:
        sys.exit(f"spdx: packaging/spdx.py has no licence of {name}")
    # libgcc for another CPU is made of the same source.
    source = f"gcc-{version.split('.')[0]}" if name == "libgcc" else name
    number = urllib.parse.quote(re.sub("cross[0-9]*$", "", version),
                                safe=":~")
    purl = f"pkg:deb/debian/{source}@{number}?arch=source"
    return package(name, version, LICENCES[name], digest, "Debian",
                   externalRefs=[{"referenceCategory": "PACKAGE-MANAGER",
                                  "referenceType": "purl",
                                  "referenceLocator": purl}], **more)


def described(sources):
    """The library of each .dsc, by the name of this file."""
    found = {}
    for path in sources.glob("*.dsc"):
        content = path.read_bytes()
        field = dict(re.findall(r"^(Source|Version): (\S+)$",
                                content.decode(), re.M))
        if field["Source"] in LICENCES:
            found[path.name] = debian(
                field["Source"], field["Version"], sha256(content),
                packageFileName=path.name)
    return found


def libraries(path, known):
    """Those that the tar archive of a static command lists."""
    with tarfile.open(path) as tar:
        (member,) = [name for name in tar.getnames()
                     if name.endswith("/licences/sources")]
        rows = tar.extractfile(member).read().decode().splitlines()
    found = []
    for row in rows:
        digest, name = row.split()
        if name.endswith(".dsc"):
            # A new library is not in the list of licences.
            one = known.get(name) or debian(*name.split("_"), digest)
            if one["checksums"][0]["checksumValue"] != digest:
                sys.exit(f"spdx: {path.name} was made of another {name}")
        else:
            one = debian(*name.removesuffix(".a").split("_"), digest,
                         comment="The checksum is that of the archive of "
                         "Debian that was linked.")
        found.append(one)
    return found


def theme(path):
    """What the pages of a package contain of others."""
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True,
                            stdout=subprocess.PIPE).stdout
    found = []
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for name, licence, file, version in THEME:
            inside = f"./usr/share/doc/hone-doc/html/{file}"
            if inside not in tar.getnames():
                sys.exit(f"spdx: {path.name} has no {file} of {name}")
            text = tar.extractfile(inside).read().decode()
            found.append(package(name, re.search(version, text)[1], licence,
                                 "", ""))
    return found


def all_of(licences):
    """The licence of something that has parts of these licences."""
    parts = sorted(set(licences))
    return " AND ".join(f"({part})" if " OR " in part else part
                        for part in parts) if len(parts) > 1 else parts[0]


def version_of(path, version):
    """Debian's version if it is Debian's package, or the source of one."""
    if path.name.endswith((".dsc", ".debian.tar.xz")):
        return path.name.removesuffix(".dsc").removesuffix(
            ".debian.tar.xz").partition("_")[2]
    if path.suffix != ".deb":
        return version
    return subprocess.run(["dpkg-deb", "-f", path, "Version"], check=True,
                          text=True, stdout=subprocess.PIPE).stdout.strip()


def document(path, version, source, parts):
    """The list of a file. source is None for the source itself."""
    digest = sha256(path.read_bytes())
    file = package(path.name, version_of(path, version), all_of(
        [OWN, *(part["licenseDeclared"] for part in parts)]), digest,
        "The Hone authors", packageFileName=path.name)
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", file)]
    if source:
        relations.append((file["SPDXID"], "GENERATED_FROM", source))
    relations += [(file["SPDXID"], "CONTAINS", part) for part in parts]
    date = datetime.datetime.fromtimestamp(
        int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    made = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": path.name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{path.name}-"
                             f"{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {"created": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: The Hone authors",
                                      f"Tool: hone-release-{version}"]},
        "packages": [related for _, _, related in relations],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind,
             "relatedSpdxElement": related["SPDXID"]}
            for one, kind, related in relations]}
    if any("LicenseRef" in part["licenseDeclared"] for part in parts):
        made["hasExtractedLicensingInfos"] = [PUBLIC_DOMAIN]
    return made


def main():
    version, folder, sources = sys.argv[1:]
    folder = pathlib.Path(folder)
    known = described(pathlib.Path(sources))
    tarball = folder / f"hone-{version}.tar.xz"
    source = package("hone", version, OWN, sha256(tarball.read_bytes()),
                     "The Hone authors", packageFileName=tarball.name)
    static = {path: libraries(path, known)
              for path in sorted(folder.glob("hone-*-linux-*.tar.xz"))}
    # The image has the command for each CPU.
    every = {part["SPDXID"]: part for parts in static.values()
             for part in parts}
    for path in sorted(folder.iterdir()):
        parts = static.get(path, [])
        if path.name.endswith("-oci.tar"):
            parts = list(every.values())
        if path.name.startswith("hone-doc_"):
            parts = theme(path)
        made = document(path, version, None if path == tarball else source,
                        parts)
        (folder / f"{path.name}.spdx.json").write_text(
            json.dumps(made, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
