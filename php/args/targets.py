# SPDX-License-Identifier: BSD-3-Clause
"""The compilers that samples.c is measured with, and what comes out."""
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
STYLES = ["stock", "pair", "hone"]
FUNCTIONS = ["int", "int4", "float2", "bool", "string", "substr", "explode",
             "in_array", "round", "object", "variadic"]
FLAGS = ["-O2", "-fstack-protector-strong", "-w", "-c"]
UNIX = ["-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden"]


class Target:
    """One compiler for one ABI."""

    def __init__(self, name, command, tools, machine, extra=()):
        self.name, self.command, self.tools = name, command, tools
        self.machine, self.extra = machine, list(extra)
        self.windows = machine == "windows"

    def includes(self, php):
        """php: where PHP's headers are."""
        own = HERE / "abi" / ("windows" if self.windows else "linux")
        # main/ is what Zend's <../main/php_config.h> starts from.
        folders = [own / "main", own, php, php / "main", php / "Zend",
                   php / "TSRM", HERE.parent, HERE]
        return [f"-I{folder}" for folder in folders]

    def build(self, php, style, out):
        """The functions of samples.c as an object file."""
        run([*self.command, *FLAGS,
             *(["-DZEND_WIN32=1", "-DPHP_WIN32=1", "-DWIN32"] if self.windows
               else UNIX), *self.extra, *self.includes(php),
             f'-DSTYLE="style_{style}.h"', HERE / "samples.c", "-o", out])

    def tool(self, name):
        return self.tools + name


def targets():
    """All of them; what is not installed is for the caller to tell."""
    mingw, arm = "x86_64-w64-mingw32-", "aarch64-linux-gnu-"
    return [
        Target("x86-64, GCC", ["gcc"], "", "x86_64"),
        Target("x86-64, Clang", ["clang"], "", "x86_64"),
        Target("i386, GCC", ["gcc", "-m32"], "", "i386",
               ["-isystem", "/usr/include/x86_64-linux-gnu",
                "-D_FILE_OFFSET_BITS=64"]),
        Target("Windows x64, mingw-w64", [mingw + "gcc"], mingw, "windows"),
        Target("aarch64, GCC", [arm + "gcc-12"], arm, "aarch64"),
    ]


def run(command):
    """Its standard output."""
    done = subprocess.run([str(c) for c in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


FILLER = re.compile(
    r"(data16 |cs |ds |addr32 )*(nop|int3|xchg +%ax,%ax$|"
    r"lea +0x0\(%e(..),%eiz,1\),%e\3$|lea +0x0\(%e(..)\),%e\4$)")
LABEL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
CODE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2,8} )+)\s*(.*)$")


def code(target, obj):
    """{function: (bytes without the filler behind it, has a protector)}.

    Parts that a compiler moved out of line count for their function.
    """
    sizes, guarded = {}, {}
    name, end, start = None, 0, 0

    def close():
        if name:
            base = re.sub(r"\.(cold|isra|part|constprop).*", "", name)
            sizes[base] = sizes.get(base, 0) + end - start

    for line in run([target.tool("objdump"), "-drw", obj]).splitlines():
        label = LABEL.match(line)
        if label and not label[2].startswith("."):
            close()
            name, start = label[2], int(label[1], 16)
            end = start
        elif re.search(r"__stack_chk|%fs:0x28|%gs:0x14", line) and name:
            guarded[re.sub(r"\.cold.*", "", name)] = True
        insn = CODE.match(line)
        if insn and not FILLER.match(insn[3]):
            end = int(insn[1], 16) + len(insn[2].replace(" ", "")) // 2
    close()
    return {name: (size, guarded.get(name, False))
            for name, size in sizes.items()}


def link(target, obj, out):
    """The object at 0x100000, with what it lacks from 0x300000 on: the bytes,
    and the addresses of its symbols."""
    lacking = sorted({line.split()[-1] for line in run(
        [target.tool("nm"), "-u", obj]).splitlines()})
    lacking = [n for n in lacking if n != "_GLOBAL_OFFSET_TABLE_"]
    command = [target.tool("ld"), "-T", HERE / "flat.ld", "-o", out]
    if target.machine == "i386":
        command[1:1] = ["-m", "elf_i386"]
    if target.windows:
        command += ["--image-base", "0", "--section-alignment", "4096"]
    for i, name in enumerate(lacking):
        command += ["--defsym", f"{name}={0x300000 + 64 * i:#x}"]
    run([*command, obj])
    flat = str(out) + ".bin"
    run([target.tool("objcopy"), "-O", "binary", "-j", ".all", out, flat])
    symbols = {}
    for line in run([target.tool("nm"), out]).splitlines():
        address, _, name = line.split()
        symbols[name] = int(address, 16)
    return pathlib.Path(flat).read_bytes(), symbols
