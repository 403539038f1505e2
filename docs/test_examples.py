# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the documentation work and print what the pages show.

Every `console` block of a page is run, in order, in one folder that has
disk.img and the programs of docs/examples. A line that begins with "$ " is a
command. The lines after it are its output, in which "..." matches anything. A
command that fails fails the test. A block after the comment "needs: X, Y" is
left out, with the reason, if a program X is not installed; stand_ins.py knows
other needs, and stands for what the page of recipes names.

The command and the library are those installed below a prefix: that of HONE,
the path of an installed command, or else what `meson install` puts in a
temporary folder from HONE_BUILD.
"""
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import stand_ins
import test_lists

DOCS = pathlib.Path(__file__).resolve().parent
README = (DOCS.parent / "README.md").read_text("utf-8")
MIB = 1 << 20


def blocks(text):
    """The console blocks of a page: [(line number, text, needs)]."""
    found, lines, needs = [], text.splitlines(), []
    for number, line in enumerate(lines):
        if line.startswith(".. needs: "):
            needs = line.removeprefix(".. needs: ").split(", ")
        if not re.match(r"\.\. code-block:: console$", line):
            continue
        body = []
        for inner in lines[number + 1:]:
            if inner and not inner.startswith("   "):
                break
            body.append(inner[3:])
        found.append((number + 1, "\n".join(body).strip("\n"), needs))
        needs = []
    return found


def steps(block):
    """The commands of a block, each with its expected output."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in found]


def matches(expected, actual):
    """True if this is the expected output, where "..." matches anything."""
    pattern = ".*".join(map(re.escape, expected.rstrip().split("...")))
    return re.fullmatch(pattern, actual.rstrip(), re.DOTALL) is not None


def make_image(path):
    """1.5 MiB of data, 2 MiB of written zeros, 12.5 MiB of holes."""
    with open(path, "wb") as image:
        image.truncate(16 * MIB)
        image.write(bytes(range(256)) * (MIB // 256))
        image.seek(4 * MIB)
        image.write(bytes(2 * MIB))
        image.seek(8 * MIB)
        image.write(b"\x55" * (MIB // 2))
        image.seek(0)
        has_holes = os.lseek(image.fileno(), MIB, os.SEEK_DATA) == 4 * MIB
    if not has_holes:
        pytest.skip(f"the file system of {path.parent} has no SEEK_DATA")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """(DESTDIR, prefix below it) of an installed Hone."""
    if os.environ.get("HONE"):
        hone = pathlib.Path(os.environ["HONE"]).resolve()
        return hone.parents[2], hone.parents[1]
    if not os.environ.get("HONE_BUILD"):
        pytest.skip("neither HONE nor HONE_BUILD is set")
    stage = tmp_path_factory.mktemp("stage")
    # `meson test` builds what these tags install, and nothing else.
    subprocess.run(["meson", "install", "--no-rebuild", "--quiet", "--tags",
                    "devel,runtime", "-C", os.environ["HONE_BUILD"],
                    "--destdir", stage], check=True)
    (hone,) = stage.rglob("bin/hone")
    return stage, hone.parents[1]


@pytest.fixture(scope="session")
def environment(prefix):
    """The environment of a user who has Hone installed."""
    stage, place = prefix
    (pc,) = place.rglob("pkgconfig/hone.pc")
    return {**os.environ, "LC_ALL": "C.UTF-8",
            "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(pc.parents[1]),
            "PKG_CONFIG_LIBDIR": str(pc.parent),
            "PKG_CONFIG_SYSROOT_DIR": str(stage)}


EXAMPLES = sorted(path for path in (DOCS / "examples").iterdir()
                  if path.suffix in (".c", ".cc"))
OTHERS = sorted(path for path in (DOCS / "examples").iterdir()
                if path.suffix in (".go", ".py", ".xml"))
PAGES = {str(page.relative_to(DOCS)): page for page in
         sorted(DOCS.rglob("*.rst")) if blocks(page.read_text("utf-8"))}


def run_line(line, folder, environment):
    """Run a command of a page, with all that it prints in one text."""
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=120)


def run_block(block, where, folder, environment, said):
    """Run the commands of a block. said() puts stand-ins into a text."""
    for command, expected in steps(block):
        done = run_line(said(command), folder, environment)
        assert done.returncode == 0, f"{where}: {command}\n{done.stdout}"
        assert matches(said(expected), done.stdout), (
            f"{where}: {command}\nprinted:\n{done.stdout}not:\n{expected}")


@pytest.mark.parametrize("name", PAGES)
def test_console_examples(name, environment, tmp_path):
    environment = dict(environment)
    left_out = []
    make_image(tmp_path / "disk.img")
    for example in EXAMPLES + OTHERS:
        shutil.copy(example, tmp_path)
    try:
        with stand_ins.StandIns(tmp_path, environment) as used:
            if name == "recipes.rst":
                used.of_recipes()
            for number, block, needs in blocks(
                    PAGES[name].read_text("utf-8")):
                where = f"{name}:{number}"
                lacking = list(filter(None, map(used.lacks, needs)))
                if lacking:
                    left_out.append(f"{where}: {lacking[0]}")
                    continue
                run_block(block, where, tmp_path, environment, used.said)
            if name == "recipes.rst":
                used.check()
    finally:
        shutil.rmtree(tmp_path)
    if left_out:
        pytest.skip("all other examples of the page passed; " +
                    "; ".join(left_out))


def test_a_signed_list_that_was_changed_converts_nothing(environment,
                                                         tmp_path):
    environment = dict(environment)
    make_image(tmp_path / "disk.img")
    with stand_ins.StandIns(tmp_path, environment) as used:
        used.of_recipes()
        if used.lacks("gpg"):
            pytest.skip(used.lacks("gpg"))
        # A line of another image: the signature alone refuses the list.
        for name in ("SHA256SUMS", "SHA512SUMS",
                     "Fedora-Cloud-43-1.6-x86_64-CHECKSUM"):
            signed = (used.store / name).read_text()
            assert "raspios" in signed
            (used.store / name).write_text(signed.replace("raspios", "other"))
        shown = [block for _, block, needs in
                 blocks(PAGES["recipes.rst"].read_text("utf-8"))
                 if "gpg" in needs]
        assert len(shown) == 3
        for block in shown:
            *fetch, (command, _) = steps(used.said(block))
            for line, _ in fetch:
                assert run_line(line, tmp_path, environment).returncode == 0
            done = run_line(command.replace("/dev/sdX", "stick.img"),
                            tmp_path, environment)
            assert done.returncode != 0 and "BAD signature" in done.stdout
    images = {path.name for path in tmp_path.glob("*.img")}
    assert images == {"disk.img", "server.img",
                      "noble-server-cloudimg-amd64.img"}
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("need, command", [
    ("python3", "python3 import.py"), ("go", "go run import.go")])
def test_the_programs_try_again(need, command, environment, tmp_path):
    environment = {**environment, "no_proxy": "127.0.0.1"}
    make_image(tmp_path / "disk.img")
    for example in OTHERS:
        shutil.copy(example, tmp_path)
    content = (tmp_path / "disk.img").read_bytes()

    def first_ends_early(handler, request):
        if request.number:
            return handler.whole(request)
        handler.head(200, {}, len(content))
        handler.send(content[:MIB])
        return handler.hang_up()

    with (stand_ins.StandIns(tmp_path, environment) as used,
          stand_ins.Server(content, first_ends_early) as server):
        if used.lacks(need):
            pytest.skip(used.lacks(need))
        done = subprocess.run(
            [*command.split(), server.url(), "copy.img"], cwd=tmp_path,
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, check=False, timeout=120)
    assert done.returncode == 0, done
    assert done.stderr.count("again: ") == 1, done
    assert "copy.img has 1572864 bytes of data" in done.stdout
    assert (tmp_path / "copy.img").read_bytes() == content
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("name, module", [("import.py", "json"), ("ebs.py", "boto3")])
def test_a_program_without_arguments_prints_its_usage(name, module):
    pytest.importorskip(module)
    done = subprocess.run([sys.executable, DOCS / "examples" / name], check=False,
                          stderr=subprocess.PIPE, text=True)
    assert re.fullmatch(f"usage: {name} .*\n", done.stderr), done
    assert done.returncode == 2


def test_ebs_names_the_module_that_is_missing(tmp_path):
    (tmp_path / "boto3.py").write_text("raise ImportError\n", "utf-8")
    done = subprocess.run([sys.executable, DOCS / "examples" / "ebs.py", "disk"],
                          env={"PYTHONPATH": str(tmp_path)}, check=False,
                          stderr=subprocess.PIPE, text=True)
    assert done.stderr == "ebs.py: the Python module boto3 is not installed\n"
    assert done.returncode == 1


def test_readme_shows_readme_c():
    shown = re.search(r"^```c\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    example = (DOCS / "examples" / "readme.c").read_text("utf-8")
    assert shown[1].replace('"hone.h"', "<hone/hone.h>") == \
        example.partition("\n")[2]


def test_each_example_is_in_one_package():
    top = DOCS.parent
    packages = {
        file.stem: sorted(path.name for pattern in file.read_text().split()
                          for path in top.glob(pattern))
        for file in (top / "packaging" / "debian").glob("*.examples")}
    assert packages["php8.2-hone"] == [
        "chain.php", "dashboard.php", "hone-redis.php", "metrics.php",
        "psr16.php", "psr6.php", "wordpress-object-cache.php"]
    assert "first.c" in packages["libhone-dev"]
    assert "import.py" in packages["hone"]
    assert sorted(sum(packages.values(), ["dashboard.php"])) == sorted(
        ["dashboard.php", "dashboard.php",
         *(path.name for path in (DOCS / "examples").iterdir())])


@pytest.mark.parametrize("header", ["hone.h", "hone/hone.h"])
def test_readme_c_prints_what_readme_shows(environment, tmp_path, header):
    line, prints = re.search(r"^    (cc .*)\n\nThis prints `(.*?)`", README,
                             re.MULTILINE).groups()
    program = (DOCS / "examples" / "readme.c").read_text("utf-8")
    if header == "hone.h":
        program = program.replace("<hone/hone.h>", '"hone.h"')
        subprocess.run(["python3", "-B", DOCS.parent / "tools/single.py",
                        tmp_path], check=True)
    else:
        flags = re.search(r"`(\$\(pkg-config .*?\))`", README)[1]
        line = f"cc readme.c {flags} && ./a.out"
    (tmp_path / "readme.c").write_text(program, "utf-8")
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, text=True,
                          env=environment, stdout=subprocess.PIPE, check=True)
    assert done.stdout == prints + "\n"


PACKERS = {"gzip": "gzip", "xz": "xz", "zstd": "zstd -q", "bzip2": "bzip2"}


def device_of(file, stack):
    """A loop device, or None where none can be made."""
    done = subprocess.run(["losetup", "-f", "--show", file], check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None
    device = done.stdout.strip()
    stack.callback(subprocess.run, ["losetup", "-d", device], check=True)
    return device


def write_commands(name, device):
    """A line for each column of README's table that may have "write"."""
    convert = f"hone convert -q -f raw -O {name} disk.img"
    return [f"{convert} file && {convert} - >pipe",
            device and f"{convert} {device}"]


def read_commands(name, device, url):
    """A line for each column of README's table."""
    digest = f"hone digest -f {name}"
    packed = " && ".join(f"{tool} -c file >p && {digest} --unpack {packing} p"
                         for packing, tool in PACKERS.items())
    return [f"{digest} file && {digest} - <pipe",
            device and f"{digest} {device}", f"{digest} {url}", packed,
            f"tar cf t.tar file && {digest} --member file t.tar"]


@pytest.mark.parametrize("name", test_lists.FORMATS)
def test_formats_are_read_and_written_where_readme_says(
        name, environment, tmp_path):
    cells = test_lists.table()[1][name]
    disk = bytes(range(256)) * 2048 + bytes(MIB // 2)
    (tmp_path / "disk.img").write_bytes(disk)
    (tmp_path / "old").write_bytes(b"old bytes " * (4 * MIB // 10))
    os.truncate(tmp_path / "old", 4 * MIB)

    def run(line):
        return subprocess.run(
            ["bash", "-ec", line], cwd=tmp_path, check=False,
            env={**environment, "no_proxy": "127.0.0.1"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def reads(line):
        done = run(line)
        digests = {each.split()[0] for each in done.stdout.splitlines()}
        return done.returncode == 0 and digests == {
            hashlib.sha256(disk).hexdigest()}

    with contextlib.ExitStack() as stack:
        lines = write_commands(name, device_of(tmp_path / "old", stack))
        for line, cell in zip(lines, cells):
            if line:
                assert (run(line).returncode == 0) == ("write" in cell), line
        server = stack.enter_context(stand_ins.Server(
            (tmp_path / "file").read_bytes()))
        lines = read_commands(
            name, device_of(tmp_path / "file", stack), server.url())
        for line, cell in zip(lines, cells):
            if line:
                assert reads(line) == ("read" in cell), line


@pytest.mark.parametrize("page, lines", [
    ("README.md", 90), ("NEWS.md", 70), ("CONTRIBUTING.md", 180)])
def test_what_is_read_first_is_short(page, lines):
    assert (DOCS.parent / page).read_text("utf-8").count("\n") <= lines


def test_pages_with_examples_are_found():
    assert {"start.rst", "programs.rst", "recipes.rst",
            "automation.rst", "man/hone.rst", "man/hone-convert.rst",
            "man/hone-map.rst"} <= set(PAGES)


def test_blocks_have_the_needs_of_the_comment_above():
    assert blocks(".. needs: a loop device, xz\n\n"
                  ".. code-block:: console\n\n   $ one\n   two\n\n"
                  ".. code-block:: console\n\n   $ three\n") == [
        (3, "$ one\ntwo", ["a loop device", "xz"]), (8, "$ three", [])]


@pytest.mark.parametrize("expected, actual, same", [
    ("a\nb", "a\nb\n", True),
    ("a ... c", "a b c", True),
    ("a ... c", "a b d", False),
    ("", "anything", False),
    ("a.c", "abc", False),
])
def test_matching_of_output(expected, actual, same):
    assert matches(expected, actual) == same


@pytest.mark.parametrize("example",
                         EXAMPLES,
                         ids=lambda p: p.name)
def test_examples_compile_without_warnings(example, environment):
    flags = subprocess.run(["pkg-config", "--cflags", "hone"],
                           env=environment, stdout=subprocess.PIPE,
                           text=True, check=True).stdout.split()
    compiler = (["cc", "-std=gnu11"] if example.suffix == ".c"
                else ["c++", "-std=c++11"])
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror",
                    "-fsyntax-only", *flags, example], env=environment,
                   check=True)
