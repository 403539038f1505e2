# SPDX-License-Identifier: BSD-3-Clause
"""./dev COMMAND --needs, and that a command ends before it works if something
is missing: in a copy of ./dev on a system of stand-ins. ./dev release asks the
same on bare Debian 12 and 13."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
DEV = (TOP / "dev").read_text()
COMMANDS = re.findall(r"^(\w+)\) cmd_", DEV, re.M)
VARIANTS = ["test --all", "test models", "test mutants", "test dpdk-sid", "check abi",
            "check coverage", "bench --rivals debian12", "bench php", "bench cache",
            "bench convert", "bench reach", "bench dpdk", "bench args", "php --real",
            "php --arginfo", "static x86_64", "static --check"]
# What is installed is a line of "have", and what was called a line of "called".
STUBS = {
    "dpkg-query": 'printf "%s\\n" "$@" | grep -xFf "$SYSTEM/have" | '
                  'sed "s/^/installed /"',
    "apt-get": 'echo "apt-get $*" >>"$SYSTEM/called"; exit 100',
    "meson": 'echo "meson $*" >>"$SYSTEM/called"; exit 1',
    "id": 'cat "$SYSTEM/id"',
    "unshare": 'test -e "$SYSTEM/mounts"'}
# Of this system, and the stand-in for each.
REAL = {"dev": [("PATH=/usr/bin:", 'PATH=$SYSTEM/bin:/usr/bin:')],
        "tools/needs.sh": [("/etc/os-release", '"$SYSTEM/os-release"'),
                           ("/proc/self", '"$SYSTEM/proc"')]}


class System:
    """A folder with a copy of ./dev and what it finds of the system."""

    def __init__(self, folder):
        self.folder, self.tree = folder, folder / "tree"
        self.tree.mkdir()
        for name in "tools", "bench", "tests/support":
            shutil.copytree(TOP / name, self.tree / name)
        shutil.copy(TOP / "dev", self.tree)
        for name, pairs in REAL.items():
            text = (self.tree / name).read_text()
            for real, stand_in in pairs:
                assert text.count(real) == 1, real
                text = text.replace(real, stand_in)
            (self.tree / name).write_text(text)

    def begin(self):
        """Root on Debian 12 with no package."""
        for path in self.tree / "build", self.folder / "bin":
            shutil.rmtree(path, ignore_errors=True)
        (self.folder / "bin").mkdir()
        for name, body in STUBS.items():
            self.program(name, body)
        subprocess.run(["git", "init", "-q", self.tree], check=True)
        for name in "proc", "mounts", "have", "called":
            self.put(name, "")
        self.put("id", "0")
        self.suite("bookworm")
        return self

    def put(self, name, text):
        (self.folder / name).write_text(text)

    def program(self, name, body):
        self.put(f"bin/{name}", f"#!/bin/sh\n{body}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def suite(self, name):
        self.put("os-release", f"ID=debian\nVERSION_CODENAME={name}\n")

    def dev(self, words, **environment):
        """(status, output) of ./dev."""
        done = subprocess.run(
            ["sh", "./dev", *words.split()], cwd=self.tree, check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A repository around the folder of the test is not the tree's.
            env={**os.environ, "SYSTEM": str(self.folder),
                 "GIT_CEILING_DIRECTORIES": str(self.folder), **environment})
        return done.returncode, done.stdout

    def needs(self, words):
        """(status, what is needed, what is missing) of ./dev ... --needs."""
        status, said = self.dev(f"{words} --needs")
        match = re.fullmatch(r"\./dev \w+ needs: (.+)\nmissing: (.+)\n", said)
        assert match, said
        return status, match[1].split(), match[2].split()

    def untouched(self):
        """Nothing was called or built."""
        return (self.folder / "called").read_text() == "" and \
            not (self.tree / "build").exists()


@pytest.fixture(scope="module", name="copied")
def fixture_copied(tmp_path_factory):
    return System(tmp_path_factory.mktemp("system"))


@pytest.fixture(name="system")
def fixture_system(copied):
    return copied.begin()


@pytest.mark.parametrize("words", [*COMMANDS, *VARIANTS])
def test_each_command_prints_what_it_needs(system, words):
    status, needed, missing = system.needs(words)
    assert status == 1
    conditions = {"/proc", "root", "mounts", "repository"}
    assert missing == [each for each in needed if each not in conditions]
    assert system.untouched()
    system.put("have", "\n".join(needed))
    assert system.needs(words) == (0, needed, ["nothing"])
    assert system.untouched()


def test_the_versions_are_those_of_the_distribution(system):
    for suite, there, other in (
            ("bookworm", ["12", "14", "8.2"], ["14", "19", "8.4"]),
            ("trixie", ["14", "19", "8.4"], ["12", "14", "8.2"])):
        system.suite(suite)
        needed = system.needs("test")[1]
        for names, there_is in (there, True), (other, False):
            gcc, clang, php = names
            for name in (f"gcc-{gcc}-aarch64-linux-gnu",
                         f"libclang-rt-{clang}-dev", f"php{php}-dev"):
                assert (name in needed) == there_is, name


def test_the_cpu_of_this_machine_needs_no_cross_compiler(system):
    here = os.uname().machine
    if here not in ("x86_64", "aarch64"):
        pytest.skip(f"./dev static has no command for {here}")
    assert not [each for each in system.needs(f"static {here}")[1]
                if "cross" in each or "linux-gnu" in each]
    assert [each for each in system.needs("static")[1] if "cross" in each]


@pytest.mark.parametrize("words, name", [
    ("run", "proc"), ("test", "proc"), ("packages", "proc"), ("static --check", "proc"),
    ("packages", "mounts"), ("static x86_64", "tree/.git"), ("packages", "tree/.git")])
def test_a_condition_that_is_not_met_ends_the_command(system, words, name):
    path = system.folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    condition = {"proc": "/proc", "tree/.git": "repository"}.get(name, name)
    _, needed, missing = system.needs(words)
    assert condition in needed and condition in missing
    status, said = system.dev(words)
    assert status == 1 and condition in said
    assert system.untouched()


def test_who_is_not_root_is_told_the_packages(system):
    system.put("id", "1000")
    status, said = system.dev("run")
    assert status == 1 and " libnbd-dev " in said and "Run as root" in said
    status, said = system.dev("packages")
    assert status == 1 and "needs root" in said
    assert system.untouched()


def test_a_package_that_cannot_be_installed_ends_the_command(system):
    status, said = system.dev("run")
    assert status == 1
    assert "the command only lists them\ndebian-packages       FAILED" in said
    called = (system.folder / "called").read_text()
    assert " libnbd-dev " in called and "meson setup" not in called


def test_a_tree_of_another_user_is_refused_with_the_way_out(system):
    """./dev test skips its last stage for the same reason."""
    status, said = system.dev("release 0.1.0", GIT_TEST_ASSUME_DIFFERENT_OWNER="1",
                              GIT_CONFIG_NOSYSTEM="1", HOME=str(system.folder))
    assert status == 1 and said.count("\n") == 1
    assert "dubious ownership" in said
    assert f"git config --global --add safe.directory {system.tree}\n" in said


def test_a_message_of_git_does_not_hide_the_tree(system):
    said = system.dev("release 0.1.0", GIT_TRACE="1")[1]
    assert "the root of the repository" not in said


def test_a_command_that_installs_git_reports_what_changed_since(system):
    system.put("have", "git")
    system.program("git", '! grep -qx git "$SYSTEM/have" && exec /usr/bin/git "$@"; exit 127')
    system.program("apt-get", 'echo >"$SYSTEM/have"')
    system.program("meson", 'echo >new')
    assert "changed outside build/:\n?? new\n" in system.dev("run")[1]


def test_the_help_fits_a_screen(system):
    """And has at most twelve commands."""
    status, said = system.dev("help")
    assert status == 0
    assert len(said.splitlines()) <= 24
    assert max(map(len, said.splitlines())) <= 80
    assert len({*COMMANDS, "help"}) <= 12
    assert set(re.findall(r"^\./dev (\w+)", said, re.M)) - {"COMMAND"} == {
        *COMMANDS, "help"}


def test_neither_a_test_nor_a_stage_is_told_the_stages(system):
    status, said = system.dev("test nonsense")
    assert status == 1
    assert "dev: test: 'nonsense' is neither in the name of a test nor a stage" in said
    assert " build gcc asan tsan neon " in said
    assert system.untouched()


@pytest.mark.parametrize("words, option", [
    ("run --foo", "--keep"), ("run --keep --foo", "--keep"),
    ("counts foo", "--accept"), ("test --all --foo", "--all"),
    ("check --all foo", "--all")])
def test_another_argument_ends_the_command_before_the_build(system, words, option):
    command, arguments = words.split(" ", 1)
    assert system.dev(words) == (
        1, f"dev: {command}: '{arguments}' is not an option; there is {option}\n")
    assert system.untouched()


@pytest.mark.parametrize("words, valid", [
    ("bench foo", "zero, or, as the first word, one of: args cache convert"),
    ("bench zero foo", "zero, or, as"),
    ("bench zero --foo", "--filter"), ("bench zero --filter", "--filter"),
    ("bench --rivals foo", "newest"), ("bench args foo", "none"),
    ("bench cache --foo", "--parts"), ("bench convert --rounds foo", "--rounds"),
    ("bench dpdk foo", "--soak"), ("bench php --foo", "--rounds"),
    ("bench reach --foo", "--only"), ("check foo", "coverage"),
    ("check abi foo", "none"), ("check coverage foo", "none"), ("fuzz 1 foo", "seconds"),
    ("fuzz foo", "seconds"), ("packages foo", "trixie"), ("php foo", "--phpt"),
    ("php --arginfo foo", "--arginfo"), ("php --phpt tools foo", "exist"),
    ("php --real --foo", "--requests"), ("plot foo", "--check"),
    ("static foo", "aarch64"), ("test dpdk-sid foo", "none"),
    ("test models foo", "--all"), ("test mutants --foo", "--sample"),
    ("test mutants jumps --foo", "--since")])
def test_a_wrong_argument_ends_each_command_with_what_is_right(system, words, valid):
    status, said = system.dev(words)
    assert status == 1 and said.startswith("dev: ") and said.count("\n") == 1
    assert valid in said and (words.split()[-1] in said or "expected" in said), said
    assert system.untouched()


def test_a_right_argument_is_not_refused(system):
    for words in ("bench zero --filter a --json b", "bench convert --only a --rounds 1",
                  "bench cache --parts hits", "test mutants zero --name a",
                  "test mutants jumps src/ring --all", "php --real --only a"):
        assert "missing: " in system.dev(f"{words} --needs")[1]
