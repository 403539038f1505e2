# SPDX-License-Identifier: BSD-3-Clause
"""Images made by QEMU's tools, and what they hold."""
import json
import os
import random
import re
import subprocess

KI, MI, GI = 1 << 10, 1 << 20, 1 << 30
SECTOR = 512


def run(*words):
    """Run a tool; returns its stdout."""
    done = subprocess.run([str(word) for word in words], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=1000)
    assert done.returncode == 0, (words, done.stdout)
    return done.stdout


def img(*args):
    """qemu-img."""
    return run("qemu-img", *args)


def io(image, *commands, options=()):
    """qemu-io on a qcow2 image."""
    words = [word for command in commands for word in ("-c", command)]
    out = run("qemu-io", "-f", "qcow2", *options, *words, image)
    assert b"failed" not in out and b"error" not in out, out


def io_some(image, commands):
    """qemu-io, where commands may fail: a cluster that has a place cannot be
    written compressed, for one.

    QEMU 7.2 damages an image if one process frees a compressed cluster and
    then writes another: what writes them has a process of its own.
    """
    packed = [command for command in commands if " -c " in command]
    for batch in packed, [c for c in commands if c not in packed]:
        words = [word for command in batch for word in ("-c", command)]
        done = subprocess.run(["qemu-io", "-f", "qcow2", *words, image],
                              check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=1000)
        assert done.returncode in (0, 1), done


def create(image, size, *args, **options):
    """qemu-img create, with the options of qcow2 as keywords."""
    pairs = [f"{key}={value}" for key, value in options.items()]
    words = ["-o", ",".join(pairs)] if pairs else []
    img("create", "-q", "-f", "qcow2", *words, *args, image,
        *([size] if size is not None else []))


def map_of(image, *options):
    """qemu-img map."""
    return json.loads(img("map", "--output=json", *options, image))


def info_of(image):
    """qemu-img info."""
    return json.loads(img("info", "--output=json", image))


def release():
    """The first number of the version."""
    return int(re.search(r"version (\d+)", img("--version").decode())[1])


def first_difference(a, b):
    """What cmp says of two files that differ, or None."""
    done = subprocess.run(["cmp", a, b], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.stdout if done.returncode else None


def pattern_file(path, size, seed):
    """Bytes of which some compress, some do not, and some are zeros."""
    rng = random.Random(seed)
    with open(path, "wb") as file:
        os.truncate(file.fileno(), size)
        at = 0
        while at < size:
            length = rng.choice([SECTOR, 3 * KI, 40 * KI, 130 * KI])
            kind = rng.randrange(4)
            if kind == 0:
                os.pwrite(file.fileno(), rng.randbytes(length)[:size - at], at)
            elif kind == 1:
                text = b"%d is a number. " % rng.randrange(1000)
                os.pwrite(file.fileno(),
                          (text * (length // 8))[:min(length, size - at)],
                          at)
            at += length


def holey(path, size, *pieces):
    """Write a file with pieces, (offset, bytes), in holes; returns the path."""
    with open(path, "wb") as file:
        file.truncate(size)
        for offset, content in pieces:
            os.pwrite(file.fileno(), content, offset)
    return path


def random_commands(rng, size, cluster, count, version=3, compress=True):
    """Commands of qemu-io that leave clusters of every kind."""
    kinds = ["write -P {p}"] * 4 + ["discard"] * 2
    if version >= 3:
        kinds += ["write -z", "write -z -u"]
    if compress:
        kinds += ["write -c -P {p}"] * 2
    commands = []
    packed = set()
    for _ in range(count):
        kind = rng.choice(kinds).format(p=rng.randrange(1, 256))
        unit = rng.choice([SECTOR, cluster])
        if "-c" in kind or kind == "discard":
            unit = cluster
        start = rng.randrange(0, size, unit)
        length = unit * rng.choice([1, 1, 2, 5])
        if "-c" in kind:
            length = unit
            if start in packed:
                continue
            packed.add(start)
        commands.append(f"{kind} {start} {min(length, size - start)}")
    return commands
