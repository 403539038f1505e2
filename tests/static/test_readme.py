# SPDX-License-Identifier: BSD-3-Clause
"""README's lines for the command work where only the static file is.

There is no shell: the test splits the lines into words, copies the file as
README's line of Install does, and stands for the other side of a pipe.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

from empty import BUILT, Empty, need_static

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))

import readme  # noqa: E402 pylint: disable=wrong-import-position

need_static()


class Alone(Empty):
    """Where the lines are typed. The folder of the command is in PATH."""

    def __init__(self, root):
        super().__init__(root, emulator=os.environ.get("HONE_EMULATOR"))
        self.work = self.root
        make, install = readme.install_line("file").split(" && ")
        word, source, folder = install.replace("x86_64", BUILT.name).split()
        assert make == "./dev static x86_64" and word == "install"
        assert source == f"build/static/{BUILT.name}/hone"
        (self.root / folder.strip("/")).mkdir(parents=True)
        shutil.copy(BUILT / "hone", self.root / folder.strip("/"))
        self.words[-1] = f"{folder}hone"

    def type(self, line):
        """Run a line of hone, or one with a pipe from another host."""
        print(f"$ {line}")
        words = shlex.split(line, comments=True)
        if "|" not in words:
            return self.hone(words)
        at = words.index("|")
        assert words[:3] == ["ssh", "HOST", "hone"]
        with subprocess.Popen([*self.words, *words[3:at]], env={},
                              preexec_fn=self.enter,
                              stdout=subprocess.PIPE) as other:
            output = self.hone(words[at + 1:], stdin=other.stdout)
        assert other.returncode == 0
        return output

    def hone(self, words, **more):
        """Run the command. Returns its output."""
        assert words[0] == "hone", words
        output = self.ok(*words[1:], **more)
        print(output)
        return output


def test_the_lines_of_readme_work_with_the_file_alone(built, root, capsys):
    assert built == BUILT
    readme.try_disk_images(Alone(root), "file")
    with capsys.disabled():
        print()
        readme.print_left_out("file")


@pytest.mark.parametrize("line", [
    "rm -r images", "hone nonsense", "cc nothing.c", "./dev nonsense",
    "apt install ./nothing_1.deb", "apt install ./hone_other.deb"])
def test_a_line_that_nothing_runs_is_not_left_out(monkeypatch, line):
    text = readme.readme()
    for product in readme.NAMES:
        readme.print_left_out(product)
    monkeypatch.setattr(readme, "readme", lambda: f"{text}\n    {line}\n")
    refused = []
    for product in readme.NAMES:
        try:
            readme.print_left_out(product)
        except (SystemExit, ValueError) as error:
            refused.append(str(error))
    assert refused
