# SPDX-License-Identifier: BSD-3-Clause
"""./dev release, but for what takes long: the packages and the static command
are stand-ins."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
VALIDATOR = TOP / "build/spdx"
VERSION = re.search("version: '(.*)'", (TOP / "meson.build").read_text())[1]
CPUS = ("x86_64", "aarch64")
# What ./dev sets.
STUBS = """
root=$PWD
die() { echo "dev: $*" >&2; exit 1; }
tree_is_known() { git rev-parse --git-dir >/dev/null; }
. tools/release.sh
"""
DSC = {"zlib_1.2.13-1.dsc": b"Source: zlib\nVersion: 1:1.2.13-1\n",
       "xz-utils_5.4.1-1.dsc": b"Source: xz-utils\nVersion: 5.4.1-1\n",
       "cmocka_1.1.5-2.dsc": b"Source: cmocka\nVersion: 1.1.5-2\n"}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def git(tree, *words):
    """What a command of git prints."""
    return subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@localhost", *words],
        cwd=tree, check=True, text=True, stdout=subprocess.PIPE).stdout


def shell(tree, script, **environment):
    """A run of functions of tools/release.sh."""
    return subprocess.run(
        ["sh", "-euc", f"{STUBS}released={VERSION}\n{script}"], cwd=tree,
        check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**os.environ, **environment})


def ok(done):
    """Its output. It has to succeed."""
    assert done.returncode == 0, done.stdout
    return done.stdout


def left_out(folder, names):
    """What is built, the history, and the folder of this test for mutants."""
    return [name for name in names if name == "__pycache__"
            or pathlib.Path(folder) == TOP
            and name.startswith((".git", "build", "pytest"))]


@pytest.fixture(scope="module", name="tree")
def fixture_tree(tmp_path_factory):
    """A repository with the files of this tree, committed. If a release
    begins there that should be refused, it ends before it builds anything."""
    tree = tmp_path_factory.mktemp("tree") / "hone"
    shutil.copytree(TOP, tree, symlinks=True, ignore=left_out)
    with open(tree / "tools/release.sh", "a", encoding="utf-8") as script:
        for name in "install_packages", "release_all":
            script.write(f"{name}() {{ die 'release: not refused'; }}\n")
    git(tree, "init", "-q")
    (tree / ".git/info/exclude").write_text("/build*/\n__pycache__/\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "all")
    return tree


def static(folder):
    """What ./dev static leaves, as far as a release takes it."""
    for cpu in CPUS:
        licences = folder / cpu / "licences"
        licences.mkdir(parents=True)
        (folder / cpu / "hone").write_text(f"the command for {cpu}")
        (folder / cpu / "hone").chmod(0o755)
        rows = [(content, name) for name, content in DSC.items()
                if "cmocka" not in name]
        rows.append((cpu.encode(), "libgcc_12.2.0-14.a"))
        (licences / "sources").write_text("".join(
            f"{sha256(content)}  {name}\n" for content, name in rows))
        (licences / "zlib.copyright").write_text("as is")
    (folder / "sources").mkdir()
    for name, content in DSC.items():
        (folder / "sources" / name).write_bytes(content)
    (folder / "oci/blobs").mkdir(parents=True)
    for name in "index.json", "oci-layout":
        (folder / "oci" / name).write_text("{}")
    # For its tests alone.
    (folder / "musl-tests/licences").mkdir(parents=True)
    for path in folder.rglob("*"):
        os.utime(path, (0, 0))


def deb(folder, name, version, files):
    """A package."""
    (folder / "root/DEBIAN").mkdir(parents=True)
    (folder / "root/DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: T <t@localhost>\nDescription: test\n")
    for path, content in files.items():
        path = folder / "root/usr/share/doc/hone-doc/html" / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    subprocess.run(["dpkg-deb", "-b", "root", f"{name}_{version}_all.deb"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "root")


THEME = {
    "index.html": "<!-- Generated with Sphinx 5.3.0 and Furo 2022.12 -->",
    "_static/clipboard.min.js": "/*!\n * clipboard.js v2.0.11\n",
    "_static/scripts/gumshoe-patched.js": "gumshoejs v5.1.2 (patched)\n",
    "_static/styles/furo.css": "", "_static/pygments.css": "",
    "_static/copybutton.js": "// Localization support\n"}


def packages(folder, version, tarball):
    """What ./dev packages leaves: packages, and the source of all."""
    deb(folder, "hone", version, {})
    deb(folder, "hone-doc", version, THEME)
    shutil.copy(tarball, folder / f"hone_{VERSION}.orig.tar.xz")
    (folder / f"hone_{version}.dsc").write_text(version)


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tree):
    """The folder of a release that was made twice."""
    static(tree / "build/static")
    work = ok(shell(tree, """
        release_sources >&2
        echo "$work" """)).split()[-1]
    for suite, number in ("bookworm", 12), ("trixie", 13):
        packages(tree / "build/packages" / suite,
                 f"{VERSION}-1~deb{number}u1",
                 pathlib.Path(work, f"files/hone-{VERSION}.tar.xz"))
    said = ok(shell(tree, """
        release_sources
        release_files "$root/build" "$work/files"
        release_other release_again
        release_compare"""))
    assert "files are the same" in said
    return tree / "build/release" / VERSION


def artefacts(folder):
    """The files, but for those about other files."""
    return [path for path in sorted(folder.iterdir())
            if path.name != "SHA256SUMS" and path.suffix != ".json"]


def listed_text(path):
    """The SPDX list of a file."""
    return path.with_name(f"{path.name}.spdx.json").read_text()


def listed(path):
    """The same, read."""
    return json.loads(listed_text(path))


REFUSED = {
    "no version": ([], None, "takes one version"),
    "two versions": ([VERSION, VERSION], None, "takes one version"),
    "another version": (["9.9.9"], None,
                        f"meson.build has version '{VERSION}', not '9.9.9'"),
    "old news": ([VERSION], ("NEWS.md", f"## {VERSION}", "## 0.0.9"),
                 f"NEWS.md has version '0.0.9', not '{VERSION}'"),
    "old packages": ([VERSION], ("packaging/debian/changelog",
                                 f"hone ({VERSION}-1)", "hone (0.0.9-2)"),
                     "packaging/debian/changelog has version '0.0.9', "
                     f"not '{VERSION}'"),
    "a changed file": ([VERSION], ("LICENSE", "Copyright", "Copyleft"),
                       "changes that are not committed"),
    "a new file": ([VERSION], ("new", "", "new"), "changes that are not committed")}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_a_release_is_refused_in_one_sentence(tree, what):
    words, change, said = REFUSED[what]
    if change:
        name, old, new = change
        path = tree / name
        text = path.read_text() if path.exists() else ""
        assert old in text
        path.write_text(text.replace(old, new, 1))
    done = subprocess.run(["./dev", "release", *words], cwd=tree, check=False,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    git(tree, "checkout", "-q", ".")
    git(tree, "clean", "-qfd")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(f"dev: release: .*{re.escape(said)}.*\n", done.stderr)


def test_a_release_is_at_its_tag(tree):
    ready = f"release_ready {VERSION}"
    ok(shell(tree, ready))
    git(tree, "tag", f"v{VERSION}")
    ok(shell(tree, ready))
    git(tree, "commit", "-q", "--allow-empty", "-m", "later")
    done = shell(tree, ready)
    git(tree, "tag", "-d", f"v{VERSION}")
    git(tree, "reset", "-q", "--hard", "HEAD~")
    assert done.returncode == 1
    assert f"tag v{VERSION} is not the commit" in done.stdout


def test_a_folder_without_history_is_refused(tree):
    (tree / ".git").rename(tree.parent / "history")
    done = subprocess.run(["./dev", "release", VERSION], cwd=tree,
                          check=False, text=True, stderr=subprocess.PIPE,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)})
    (tree.parent / "history").rename(tree / ".git")
    assert done.returncode == 1
    assert "release: fatal: not a git repository" in done.stderr


def test_the_tarball_is_the_commit_and_nothing_of_the_user(tree, folder):
    date = int(git(tree, "log", "-1", "--format=%ct"))
    with tarfile.open(folder / f"hone-{VERSION}.tar.xz") as tar:
        members = tar.getmembers()
    assert {member.name for member in members if member.isfile()} == {
        f"hone-{VERSION}/{name}"
        for name in git(tree, "ls-files").splitlines()}
    for member in members:
        assert member.uid == member.gid == 0
        assert member.uname == member.gname == "root"
        assert member.mtime == date
        assert member.mode in (0o644, 0o755)


def test_the_extension_has_what_pie_builds(tree, folder):
    """One folder, with composer.json at its top."""
    name = f"php_hone-v{VERSION}-src"
    with tarfile.open(folder / f"{name}.tgz") as tar:
        names = {member.name for member in tar if member.isfile()}
        package = json.load(tar.extractfile(f"{name}/composer.json"))
    assert names == {
        f"{name}/{path}" for path in git(
            tree, "ls-files", "composer.json", "LICENSE", "php", "src",
            "include").splitlines()}
    extension = package["php-ext"]
    assert f"{name}/{extension['build-path']}/config.m4" in names
    # PIE takes the first method for which the release has a file.
    assert extension["download-url-method"] == ["pre-packaged-source",
                                                "composer-default"]


def test_the_two_files_are_those_of_the_commit(tree, folder, tmp_path):
    subprocess.run([sys.executable, "-B", tree / "tools/single.py", tmp_path],
                   check=True)
    for name in "hone.c", "hone.h":
        assert (folder / name).read_text() == (tmp_path / name).read_text()
        assert f" * libhone {VERSION} as two files" in \
            (folder / name).read_text()


def test_settings_of_git_do_not_change_the_tarball(tree, folder, tmp_path):
    (tmp_path / ".gitconfig").write_text(
        "[tar]\n umask = 0077\n[core]\n autocrlf = true\n"
        f" attributesFile = {tmp_path}/attributes\n")
    (tmp_path / "attributes").write_text("*.md export-ignore\n")
    ok(shell(tree, f"release_source . {tmp_path}/made", HOME=str(tmp_path)))
    for name in f"hone-{VERSION}.tar.xz", f"php_hone-v{VERSION}-src.tgz":
        assert (tmp_path / "made" / name).read_bytes() == \
            (folder / name).read_bytes()


def test_the_checksums_are_those_of_all_files(folder):
    names = [line.split("  ", 1)[1] for line in
             (folder / "SHA256SUMS").read_text().splitlines()]
    assert names == sorted(path.name for path in folder.iterdir()
                           if path.name != "SHA256SUMS")
    subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"],
                   cwd=folder, check=True)


@pytest.mark.parametrize("script", [
    "echo same >$work/files/a; echo other >$other/files/a",
    "echo same >$work/files/a",
    "echo same >$other/files/a"])
def test_a_difference_is_found(tree, script):
    done = shell(tree, 'mkdir -p "$work/files" "$other/files"\n'
                 f"released=9.9.9\n{script}\nrelease_compare")
    shutil.rmtree(tree / "build/release/work")
    assert done.returncode != 0
    assert not (tree / "build/release/9.9.9").exists()


def test_packages_of_one_name_are_the_same(tree, tmp_path):
    for number in "12":
        (tmp_path / number).mkdir()
        (tmp_path / number / "hone.orig").write_text(number)
    (tmp_path / "out").mkdir()
    done = shell(tree, f"release_debian {tmp_path}/1 {tmp_path}/out\n"
                 f"release_debian {tmp_path}/1 {tmp_path}/out\n"
                 f"echo twice\nrelease_debian {tmp_path}/2 {tmp_path}/out")
    assert "twice" in done.stdout and done.returncode != 0


def test_the_static_command_lies_in_a_folder_with_its_licences(folder):
    for cpu in CPUS:
        name = f"hone-{VERSION}-linux-{cpu}"
        with tarfile.open(folder / f"{name}.tar.xz") as tar:
            modes = {member.name: member.mode for member in tar}
        assert modes == {f"{name}/hone": 0o755, f"{name}/licences": 0o755,
                         f"{name}/licences/sources": 0o644,
                         f"{name}/licences/zlib.copyright": 0o644}
    with tarfile.open(folder / f"hone-{VERSION}-oci.tar") as tar:
        assert tar.getnames() == ["blobs", "index.json", "oci-layout"]


def test_each_file_has_a_list_with_its_version_and_source(folder):
    source = folder / f"hone-{VERSION}.tar.xz"
    for path in artefacts(folder):
        made = listed(path)
        file, *others = made["packages"]
        assert file["packageFileName"] == made["name"] == path.name
        assert file["checksums"][0]["checksumValue"] == \
            sha256(path.read_bytes())
        if path == source:
            assert not others
            continue
        assert others[0]["packageFileName"] == source.name
        assert others[0]["versionInfo"] == VERSION
        assert others[0]["checksums"][0]["checksumValue"] == \
            sha256(source.read_bytes())
    deb12 = listed(folder / f"hone_{VERSION}-1~deb12u1_all.deb")
    assert deb12["packages"][0]["versionInfo"] == f"{VERSION}-1~deb12u1"


def test_the_list_of_a_static_command_has_its_libraries(folder):
    made = listed(folder / f"hone-{VERSION}-linux-x86_64.tar.xz")
    parts = {(part["name"], part["versionInfo"], part["licenseDeclared"],
              part["checksums"][0]["checksumValue"])
             for part in made["packages"][2:]}
    assert parts == {
        ("zlib", "1:1.2.13-1", "Zlib", sha256(DSC["zlib_1.2.13-1.dsc"])),
        ("xz-utils", "5.4.1-1", "LicenseRef-liblzma",
         sha256(DSC["xz-utils_5.4.1-1.dsc"])),
        ("libgcc", "12.2.0-14", "GPL-3.0-or-later WITH GCC-exception-3.1",
         sha256(b"x86_64"))}
    assert made["packages"][0]["licenseDeclared"] == (
        "BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1 AND "
        "LicenseRef-liblzma AND Zlib")
    image = listed(folder / f"hone-{VERSION}-oci.tar")
    assert sha256(b"aarch64") in json.dumps(image)
    assert len(image["packages"]) == 6


def test_the_list_of_the_pages_has_their_theme(folder):
    made = listed(folder / f"hone-doc_{VERSION}-1~deb13u1_all.deb")
    assert [(part["name"], part.get("versionInfo"), part["licenseDeclared"])
            for part in made["packages"][2:]] == [
        ("Sphinx", "5.3.0", "BSD-2-Clause"), ("Furo", "2022.12", "MIT"),
        ("clipboard.js", "2.0.11", "MIT"), ("gumshoejs", "5.1.2", "MIT"),
        ("normalize.css", None, "MIT"), ("Pygments", None, "BSD-2-Clause"),
        ("sphinx-copybutton", None, "MIT")]


def test_the_source_of_a_package_has_its_version(folder):
    version = f"{VERSION}-1~deb13u1"
    made = listed(folder / f"hone_{version}.dsc")
    assert made["packages"][0]["versionInfo"] == version


@pytest.mark.parametrize("row, said", [
    (f"{sha256(b'')}  nolib_1.0-1.dsc", "no licence of nolib"),
    (f"{sha256(b'')}  zlib_1.2.13-1.dsc", "made of another zlib")])
def test_a_library_that_is_not_known_is_an_error(folder, tree, tmp_path, row, said):
    source = f"hone-{VERSION}.tar.xz"
    shutil.copy2(folder / source, tmp_path / source)
    licences = tmp_path / "in/licences"
    licences.mkdir(parents=True)
    (licences / "sources").write_text(row + "\n")
    with tarfile.open(tmp_path / f"hone-{VERSION}-linux-x86_64.tar.xz", "w:xz") as tar:
        tar.add(tmp_path / "in", "hone")
    shutil.rmtree(tmp_path / "in")
    done = subprocess.run(
        [sys.executable, "-B", TOP / "packaging/spdx.py", VERSION, tmp_path,
         tree / "build/static/sources"], check=False, text=True,
        stderr=subprocess.PIPE, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    assert done.returncode == 1 and said in done.stderr


def validate(path):
    """A run of the validator of SPDX's own tools."""
    if not (VALIDATOR / "spdx_tools").is_dir():
        pytest.skip("spdx-tools is not installed; ./dev test --all installs it")
    return subprocess.run(
        [sys.executable, "-B", "-m", "spdx_tools.spdx.clitools.pyspdxtools",
         "-i", path], env={**os.environ, "PYTHONPATH": str(VALIDATOR)},
        check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)


@pytest.mark.parametrize("name", [
    f"hone-{VERSION}.tar.xz", f"hone-{VERSION}-oci.tar",
    f"hone-doc_{VERSION}-1~deb12u1_all.deb"])
def test_the_lists_are_valid(folder, name):
    ok(validate(folder / f"{name}.spdx.json"))


@pytest.mark.parametrize("old, new", [
    ("SPDX-2.3", "SPDX-9"), ('"Zlib"', '"No such licence"'),
    ("GENERATED_FROM", "MADE_OF"),
    ('"licenseId": "LicenseRef-liblzma"', '"licenseId": "LicenseRef-x"')])
def test_a_list_with_a_mistake_is_not_valid(folder, tmp_path, old, new):
    text = listed_text(folder / f"hone-{VERSION}-oci.tar")
    assert old in text
    path = tmp_path / "wrong.spdx.json"
    path.write_text(text.replace(old, new, 1))
    assert validate(path).returncode != 0
