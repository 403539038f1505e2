#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write libhone as two files that a program can copy: hone.c and hone.h.

A header stands where it is first included. A template stands once for each
variant, and its comments only once. hone.c has the variants of every CPU
family. What a program may leave out stands between #if and #endif.
"""
import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC, INCLUDE = ROOT / "src", ROOT / "include"
# The parts, and the parts that call each one.
PARTS = {"zero": (), "copy": ("mempool", "stream"), "ring": (), "mempool": (),
         "stream": ()}
# Sources of src/cpu that only the part copy calls.
TRAITS = ["cpu/traits.c", "cpu/cpuid.c", "cpu/sysfs.c"]
FAMILIES = {name: f"HONE_IF_{name}(1) + 0" for name in ("x86_64", "aarch64")}
# Files that are not always compiled.
CONDITIONS = {
    **{f"cpu/{name}.c": test for name, test in FAMILIES.items()},
    "stream/uring.c": "defined(HONE_WITH_URING)",
    "stream/uring_slot.c": "defined(HONE_WITH_URING)",
    "stream/uring_none.c": "!defined(HONE_WITH_URING)"}

GUARD = re.compile(r"\A.*\n#ifndef HONE_\w+_H\n")
INCLUDES = re.compile(r'#include ([<"])(.*)[>"]')
COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/\n+", re.M | re.S)
MACRO = re.compile(r"#(define|undef) (?!HONE_)(\w+)")

LICENCE = "/*\n{}\n */\n"
HEADER = """
/*
 * libhone {version} as two files: see the head of hone.c.
 */
#ifndef HONE_API
/* Another copy, and libhone.so, may be in the same process. */
#define HONE_API __attribute__((visibility("hidden")))
#endif
"""
SOURCE = """
/*
 * libhone {version} as two files: this one and hone.h, which C++ programs can
 * include too. gcc and clang compile them for each CPU, as C11 or later:
 *
 *     cc -O3 -DNDEBUG program.c hone.c -pthread
 *
 * Options for this file:
 *
 * -DNDEBUG            without the assertions of a debug build
 * -fexceptions        if a function of yours leaves by an exception, or if a
 *                     thread is cancelled in a call: see hone/api.h in hone.h
 * -DHONE_ONLY_ZERO    leaves out all but zero.h and what that calls; so do
 *                     _COPY, _MEMPOOL, _RING for ring.h and queue.h, and
 *                     _STREAM for stream.h and read_file.h. Several parts may
 *                     be given. The caches and traits of cpu.h are of _COPY.
 * -DHONE_WITH_URING   hone_read_files() through io_uring; with -luring,
 *                     liburing 2.2 or later
 *
 * Options for all files that include hone.h, too:
 *
 * -DHONE_API=...      in place of __attribute__((visibility("hidden"))): with
 *                     "default", a program or library exports the functions
 * -DHONE_NO_TSAN      if all files are compiled with -fsanitize=thread
 */
#ifdef __cplusplus
#error "compile hone.c as C"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef HONE_NO_TSAN
#define HONE_NO_TSAN
#endif
#include "hone.h"
"""


def read(path):
    return path.read_text(encoding="utf-8")


def project_file(path, bracket, name):
    """What an #include of a file names; None if that is the system's."""
    for folder in [INCLUDE] if bracket == "<" else [path.parent, SRC]:
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


def parse(path, comments=True):
    """(line, how many #if it is in, what it includes) of a file, without the
    line of its licence. The guard of a header is no such #if."""
    depth = -is_guarded(path)
    text = read(path).partition("\n")[2]
    for line in (text if comments else COMMENT.sub("", text)).splitlines():
        include = INCLUDES.match(line)
        depth += line.startswith("#if") - line.startswith("#endif")
        yield line, depth, include and project_file(path, *include.groups())


def is_guarded(path):
    return bool(GUARD.match(read(path)))


def system_headers(paths, seen):
    """Lines of the headers of the system that these files always include."""
    found = set()
    for path in paths:
        seen.add(path)
        for line, depth, inner in parse(path):
            if inner and inner.is_relative_to(SRC) and inner not in seen:
                found |= system_headers([inner], seen)
            elif INCLUDES.match(line) and not inner and depth == 0:
                found.add(line)
    return found


class Writer:
    """Joins files."""

    def __init__(self):
        self.lines = []
        self.name = None  # the file of the last line
        self.seen = set()  # what every section may use
        self.written = set()  # every file
        self.hoisted = ()  # system headers at the beginning of the section
        self.macros = {}  # of a source: name -> is it still defined?

    def text(self):
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines) + "\n")

    def add(self, *lines):
        """Lines that are of no file."""
        self.lines += lines
        self.name = None

    def line(self, path, *lines):
        """Lines of a file, whose name stands above the first of them."""
        if self.name != path and lines != ("",):
            self.lines += ["", f"/* ---- {path.relative_to(ROOT)} ---- */"]
            self.name = path
        self.lines += lines

    def rows(self, path):
        """The rows of a .def file; that of a part if the part is there."""
        for row, name in re.findall(r"^(HONE_\w+\((\w+).*)", read(path), re.M):
            if path.name == "parts.def":
                self.line(path, f"#ifdef {only(name)}", row, "#endif")
            else:
                self.line(path, row)

    def include(self, path, line, depth, inner, seen):
        """What an #include of a file becomes. hone.c has hone.h at its top."""
        public = path.is_relative_to(INCLUDE)
        if inner and inner.suffix == ".def":
            self.rows(inner)
        elif inner and inner.is_relative_to(INCLUDE) == public:
            self.file(inner, seen)
        elif not inner and public:
            self.line(path, line)
        elif not inner and (depth > 0 or line not in self.hoisted):
            self.line(path, "#pragma GCC visibility push(default)", line,
                      "#pragma GCC visibility pop")

    def file(self, path, seen):
        """A file, and the headers that were not seen."""
        guarded = is_guarded(path)
        if guarded and path in seen:
            return
        seen.add(path)
        again = not guarded and path in self.written
        self.written.add(path)
        for line, depth, inner in parse(path, comments=not again):
            macro = MACRO.match(line)
            if macro and not guarded:
                self.macros[macro[2]] = macro[1] == "define"
            if INCLUDES.match(line):
                self.include(path, line, depth, inner, seen)
            else:
                self.line(path, line)

    def source(self, path, seen):
        """A source, whose macros are not those of the next one."""
        self.macros = {}
        self.file(path, seen)
        self.add(*(f"#undef {name}" for name in self.macros
                   if self.macros[name]))

    def section(self, condition, names):
        """Sources below src/, if the condition is met."""
        sometimes = {name: CONDITIONS[name] for name in names
                     if name in CONDITIONS}
        always = [SRC / name for name in names if name not in sometimes]
        self.hoisted = system_headers(always, set())
        self.add("", f"#if {condition}", *sorted(self.hoisted),
                 "#pragma GCC visibility push(hidden)")
        seen = set(self.seen)
        for path in always:
            self.source(path, seen)
        for each in dict.fromkeys(sometimes.values()):
            self.add("", f"#if {each}")
            inside = set(seen)
            for name in sometimes:
                if sometimes[name] == each:
                    self.source(SRC / name, inside)
            self.add("#endif")
        self.add("#pragma GCC visibility pop", "#endif")
        return seen


def sources_of(part):
    """The names of the sources of a part, as src/meson.build has them."""
    names = []
    variants = SRC / part / "variants.def"
    if variants.is_file():
        for name, family in re.findall(r"^HONE_VARIANT\((\w+), (\w+)",
                                       read(variants), re.M):
            names.append(f"{part}/{name}.c")
            if family != "any":
                CONDITIONS[names[-1]] = FAMILIES[family]
    names += re.findall(rf"'({part}/\w+\.c)'", read(SRC / "meson.build"))
    names += [name for name in CONDITIONS
              if name.startswith(f"{part}/") and name not in names]
    return names


def only(part):
    return f"HONE_ONLY_{part.upper()}"


def any_of(parts):
    return " || ".join(f"defined({only(part)})" for part in parts)


def source():
    """The text of hone.c."""
    writer = Writer()
    writer.add("", f"#if !({any_of(PARTS)})",
               *(f"#define {only(part)}" for part in PARTS), "#endif")
    for part, callers in PARTS.items():
        if callers:
            writer.add(f"#if !{any_of([part])} && ({any_of(callers)})",
                       f"#define {only(part)}", "#endif")
    writer.source(SRC / "api.c", set())
    writer.seen = writer.section(any_of(["copy", "zero"]),
                                 ["part.c", *(name for name in sources_of("cpu")
                                              if name not in TRAITS)])
    for part in PARTS:
        writer.section(any_of([part]),
                       (TRAITS if part == "copy" else []) + sources_of(part))
    return writer.text()


def header():
    """The text of hone.h."""
    writer = Writer()
    writer.file(INCLUDE / "hone/hone.h", set())
    return writer.text()


def main():
    parser = argparse.ArgumentParser(
        description="Write hone.c and hone.h, the whole library in two files.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="made if absent")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    version = re.search("version: '(.*)'", read(ROOT / "meson.build"))[1]
    licence = "\n".join(f" * {line}".rstrip()
                        for line in read(ROOT / "LICENSE").splitlines())
    for name, head, text in (("hone.h", HEADER, header()),
                             ("hone.c", SOURCE, source())):
        (folder / name).write_text(LICENCE.format(licence) +
                                   head.format(version=version) + text,
                                   encoding="utf-8")


if __name__ == "__main__":
    main()
