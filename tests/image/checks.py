# SPDX-License-Identifier: BSD-3-Clause
"""What hone check and qemu-img check say of an image."""
import json
import os
import subprocess

# What changes the disk's content or the way to it, and not the tables.
HARMLESS = {"backing_file", "data_file", "unknown_features", "encryption", "polyglot"}
TESTS = ["polyglot", "well_formed", "backing_file", "data_file",
         "unknown_features", "encryption", "corrupt", "snapshots", "bitmaps",
         "overlaps", "refcounts", "copied", "leaks"]


def assert_refused(hone, image, found, *options):
    """convert --untrusted says what the check has found first."""
    fault = next(each for each in found["checks"] if not each["passed"])
    output = f"{image}.output"
    done = hone.run("convert", "--untrusted", *options, "-O", "qcow2",
                    str(image), output)
    assert (done.returncode, done.stdout) == (3, b""), done
    said = done.stderr.decode()
    assert said.startswith("hone: ") and said.count("\n") == 1, done
    assert f": is not safe: {fault['name']}: " in said, done
    # Bytes that are not text are escaped in a message.
    start = fault["text"][:60]
    assert start in said or not start.isprintable() or "\\" in start, done
    assert not os.path.exists(output)


def verdict(hone, image, *options):
    """(safe, names of tests that failed, the whole object)."""
    done = hone.run("check", "--json", *options, str(image))
    assert done.returncode in (0, 1) and not done.stderr, done
    found = json.loads(done.stdout)
    assert found["safe"] == (done.returncode == 0)
    failed = {each["name"]: each["text"] for each in found["checks"]
              if not each["passed"]}
    assert bool(failed) != found["safe"]
    assert all((each["faults"] > 0) != each["passed"] for each in found["checks"])
    if failed:
        assert_refused(hone, image, found, *options)
    return found["safe"], failed, found


def qemu_check(image):
    """(corruptions, leaks) as qemu-img counts them; None if it cannot."""
    done = subprocess.run(["qemu-img", "check", "-f", "qcow2",
                           "--output=json", str(image)], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=1000)
    if done.returncode not in (0, 2, 3):
        return None
    found = json.loads(done.stdout)
    return found.get("corruptions", 0), found.get("leaks", 0)


def assert_sound(hone, image):
    """Both tools call it sound, and the tests are all there."""
    assert qemu_check(image) == (0, 0)
    safe, failed, found = verdict(hone, image)
    assert set(failed) <= HARMLESS, failed
    assert safe == (not failed)
    assert [each["name"] for each in found["checks"]] == TESTS
    assert (found["leaked_clusters"], found["leaked_bytes"]) == (0, 0)


def assert_unsafe(hone, image, *expected):
    """Exactly these tests fail: (name, part of its text)."""
    safe, failed, _ = verdict(hone, image)
    assert not safe
    assert set(failed) == {name for name, _ in expected}, failed
    for name, text in expected:
        assert text in failed[name], failed
