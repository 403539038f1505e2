# SPDX-License-Identifier: BSD-3-Clause
"""What shells offer, each by its own program."""
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from harness import TIMEOUT, need

CASES = [
    ("hone ", {"convert", "help"}, {"--member", "raw"}),
    ("hone con", {"convert"}, {"compare"}),
    ("hone convert --mem", {"--member", "--memory"}, {"--json"}),
    ("hone help ", {"convert", "digest"}, {"gce", "network"}),
    ("hone help --comp", {"--completion"}, {"convert"}),
    ("hone help convert ", {"network", "all"}, {"gce", "digest"}),
    ("hone convert -O ", {"raw", "qcow2", "gce"}, {"convert"}),
    ("hone convert --output-format g", {"gce"}, {"qcow2"}),
    ("hone compare -F ", {"raw", "vhd"}, {"gce"}),
    ("hone info --format v", {"vmdk", "vhd"}, {"raw"}),
    ("hone convert --cache ", {"auto", "keep", "drop"}, {"raw"}),
    ("hone digest -a ", {"sha256", "md5", "blake2b"}, {"raw"}),
    ("hone digest -a sha256,sha5", {"sha256,sha512"}, {"sha512", "sha256"}),
    ("hone convert -o comp", {"compression_type=zstd", "compat=1.1"},
     {"cluster_size="}),
    ("hone convert -o clus", {"cluster_size="}, {"compat=1.1"}),
    ("hone convert -o cluster_size=4k,lazy",
     {"cluster_size=4k,lazy_refcounts=on"}, {"lazy_refcounts=on"}),
    ("hone map -o ", {"size=current", "size=geometry"}, {"cluster_size="}),
    ("hone convert -t w", {"writeback", "writethrough"}, {"none"}),
    ("hone convert --help ", {"source", "network", "all"}, {"raw"}),
    ("hone info --unpack ", {"auto", "gzip", "xz"}, {"raw"}),
    ("hone convert --pack ", {"gz", "zst"}, {"raw"}),
    ("hone convert --oci-type ", {"artifact"}, {"raw"}),
    ("hone help --completion ", {"bash", "zsh", "fish"}, {"convert"})]


def script(hone, shell):
    """The script for a shell."""
    return hone.ok("help", "--completion", shell).stdout.decode()


@pytest.fixture(autouse=True)
def hone_is_found(hone, monkeypatch):
    """A script calls the command of the line."""
    folder = os.path.dirname(hone.path)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def run(*words, **kwargs):
    """The output of a shell, which has to be silent."""
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=TIMEOUT,
                          stderr=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL, **kwargs)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def with_bash(hone, line):
    """What bash puts in place of its last word. It splits at '=' itself."""
    words = re.findall(r"""[=:]|["'].*|(?:\\.|[^=:\s\\])+""", line)
    if line[-1] in " =":
        words.append("")
    text = (f"{script(hone, 'bash')}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n"
            "shift\nCOMP_WORDS=(\"$@\")\nCOMP_CWORD=$(($# - 1))\n"
            "_hone\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
    found = run("bash", "-c", text, "bash", line, *words).splitlines()
    return [word for word in found if word]


@pytest.mark.parametrize("line, offered, others", CASES)
def test_bash_completes(hone, line, offered, others):
    found = set(with_bash(hone, line))
    # bash has what is before the last '='.
    kept = line.split()[-1].rpartition("=")[0]
    cut = len(kept) + 1 if kept and line[-1] != " " else 0
    assert {word[cut:] for word in offered} <= found and not others & found


@pytest.mark.parametrize("line, found", [
    ("hone convert --cache=k", ["keep"]),
    ("hone convert -o compression_type=", ["zlib", "zstd"]),
    ("hone convert -o cluster_size=4k,compression_type=zs", ["zstd"]),
    ("hone convert --digest=sha256,md", ["sha256,md5"]),
    ("hone convert --level ", []), ("hone convert --snapshot x", [])])
def test_bash_completes_behind_its_word_breaks(hone, line, found):
    assert with_bash(hone, line) == found


def test_bash_completes_files_and_folders(hone, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "disk.img").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for line in ("hone convert ", "hone info --cacert ", "hone digest a ",
                 "hone convert --expect "):
        assert set(with_bash(hone, line)) == {"disk.img", "folder"}, line
    for line in "hone convert --scratch ", "hone map --allow-backing f":
        assert with_bash(hone, line) == ["folder"], line


def quoted(line):
    """A word of fish."""
    return "'" + line.replace("\\", "\\\\").replace("'", "\\'") + "'"


def with_fish(hone, lines):
    """The words that fish offers for each line."""
    asked = "".join(f"complete -C {quoted(line)}; echo -\n" for line in lines)
    rows = run("fish", "--no-config", "-c", script(hone, "fish") + "\n" + asked)
    return [{row.split("\t")[0] for row in part.splitlines()}
            for part in rows.split("-\n")[:-1]]


# An interactive zsh that writes the words of each line to a file, and ends.
ZSHRC = """
PS1= fpath=($ZDOTDIR $fpath)
lines=(${(f)LINES_OF_TEST})
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a words
	if [[ -z ${argv[(r)-[AOD]*]} ]]; then
		builtin compadd -O words "$@"
		(( $#words )) && print -rl -- $IPREFIX$^words >>$ZDOTDIR/offered
	fi
	builtin compadd "$@"
}
zle -C offer complete-word _main_complete
zle-line-init() {
	LBUFFER=$lines[1]
	zle offer
	print >>$ZDOTDIR/offered
	shift lines
	BUFFER=${lines:+:}
	BUFFER=${BUFFER:-exit}
	zle .accept-line
}
zle -N zle-line-init
"""


def with_zsh(hone, lines, by_eval=False):
    """The words that zsh offers for each line. It completes at a terminal alone."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        # compinit finds the second name.
        name = "script" if by_eval else "_hone"
        (place / name).write_text(script(hone, "zsh"))
        (place / ".zshrc").write_text(
            ZSHRC + ('eval "$(<$ZDOTDIR/script)"\n' if by_eval else ""))
        here, there = os.openpty()
        try:
            subprocess.run(["zsh", "-i"], stdin=there, stdout=there,
                           stderr=there, timeout=TIMEOUT, check=True,
                           start_new_session=True,
                           env={**os.environ, "ZDOTDIR": folder, "TERM": "dumb",
                                "LINES_OF_TEST": "\n".join(lines)})
        finally:
            os.close(there)
            os.close(here)
        parts = (place / "offered").read_text().split("\n\n")
        return [set(part.splitlines()) for part in parts[:-1]]


def with_zsh_by_eval(hone, lines):
    """As the help's example for bash does."""
    return with_zsh(hone, lines, True)


@pytest.mark.parametrize("shell", [with_fish, with_zsh, with_zsh_by_eval])
def test_a_shell_completes(hone, shell):
    need(shell.__name__.split("_")[1])
    answers = shell(hone, [line for line, _, _ in CASES])
    assert len(answers) == len(CASES)
    for (line, offered, others), found in zip(CASES, answers):
        assert offered <= found and not others & found, (line, found)


def with_bash_each(hone, lines):
    """As the others."""
    return [set(with_bash(hone, line)) for line in lines]


def plain(word):
    """A word without quotes, options, home and the slash of a folder."""
    word = word.replace("\\", "").rpartition("=")[2]
    return os.path.basename(word.rstrip("/"))


SHELLS = [with_fish, with_zsh, with_zsh_by_eval, with_bash_each]


@pytest.mark.parametrize("is_found", [True, False])
@pytest.mark.parametrize("shell", SHELLS)
def test_names_of_files_are_completed_as_the_shell_does(
        hone, tmp_path, monkeypatch, shell, is_found):
    """Also without hone: the script then cannot ask what the word is."""
    need(shell.__name__.split("_")[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "my file.img").touch()
    (tmp_path / "home/sub dir").mkdir(parents=True)
    if not is_found:
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
    lines = ["hone convert my\\ f", "hone convert \"my f", "hone convert 'my f",
             "hone convert --expect-file=my\\ f", "hone convert ~/su",
             "hone convert ~/sub\\ d", "hone convert my"]
    if is_found:
        lines.append("hone convert --scratch ~/sub\\ d")
    for line, found in zip(lines, shell(hone, lines)):
        right = "sub dir" if "~" in line else "my file.img"
        assert {plain(word) for word in found} == {right}, (line, found)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_of_the_line_is_asked(hone, tmp_path, monkeypatch, shell):
    """Once, by its path below the home; an alias is not what a script can call."""
    need(shell.__name__.split("_")[1])
    line = "~/bin/hone convert --output-format qc"
    home = tmp_path / "a&b$1"
    monkeypatch.setenv("HOME", str(home))
    (home / "bin").mkdir(parents=True)
    for place in "in PATH", "below the home":
        if place == "below the home":
            monkeypatch.setenv("PATH", "/usr/bin:/bin")
            (home / "bin/hone").write_text(
                f'#!/bin/sh\necho >>"$0.log"\nexec {hone.path} "$@"\n')
            (home / "bin/hone").chmod(0o700)
        assert shell(hone, [line]) == [{"qcow2"}], place
    assert (home / "bin/hone.log").read_text() == "\n"


def test_bash_completes_a_word_in_quotes_and_of_an_alias(hone):
    for line in ("hone convert --output-format \"qc", "h convert -O qc"):
        assert with_bash(hone, line) == ["qcow2"], line


@pytest.mark.parametrize("command, option", [
    ("convert", "--cache"), ("convert", "-t"), ("digest", "-T"),
    ("convert", "--window"), ("info", "--unpack"), ("digest", "-a"),
    ("info", "-f"), ("convert", "-O"), ("convert", "--pack")])
def test_what_is_offered_is_accepted(hone, small, out, command, option):
    """The command has its own list of each."""
    offered = with_bash(hone, f"hone {command} {option} ")
    assert len(offered) >= 2
    for word in offered:
        more = ["-c", "-O", "qcow2"] if option == "--window" else []
        last = [out / word] if command == "convert" else []
        done = hone.run(command, *more, option, word, small, *last)
        assert done.returncode != 2, done
