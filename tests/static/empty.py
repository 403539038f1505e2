# SPDX-License-Identifier: BSD-3-Clause
"""A folder in which nothing but the static command is."""
import os
import pathlib
import shutil
import subprocess

import pytest

# The folder that ./dev static made.
BUILT = pathlib.Path(os.environ.get("HONE_STATIC", "/nonexistent"))
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


def need_static():
    """Skip the rest of a module if there is no static command."""
    if not (BUILT / "hone").exists():
        pytest.skip("no static command: ./dev static makes it", allow_module_level=True)


class Empty:
    """Of a system, the folder has resolv.conf alone.

    Without a path of the command, the folder has the command already. An
    emulator is a static qemu for the CPU of the command.
    """

    def __init__(self, root, command=None, emulator=None):
        self.root = pathlib.Path(root)
        self.words = ["/hone"]
        if command:
            shutil.copy(command, self.root / "hone")
        if emulator:
            shutil.copy(emulator, self.root / "qemu")
            self.words.insert(0, "/qemu")
        self.write("etc/resolv.conf", b"nameserver 127.0.0.1\n")

    def write(self, name, content):
        """A file below the folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def read(self, name):
        """The content of a file below the folder."""
        return (self.root / name).read_bytes()

    def run(self, *words, env=None, stdin=subprocess.DEVNULL):
        """Run the command there, by default without an environment."""
        return subprocess.run(
            [*self.words, *words], env=env or {}, check=False,
            preexec_fn=self.enter, stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=300)

    def enter(self):
        """In the child, before the command begins."""
        os.chroot(self.root)
        os.chdir("/")

    def ok(self, *words, **more):
        """Run the command, which succeeds. Returns its output."""
        done = self.run(*words, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *words, env=None):
        """Run the command, which fails. Returns the line of its reason."""
        done = self.run(*words, env=env)
        assert done.returncode in (1, 3, 4), done
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr
