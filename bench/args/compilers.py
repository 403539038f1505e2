# SPDX-License-Identifier: BSD-3-Clause
"""The compilers that build samples.c, and the properties of their code."""
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
STYLES = ["stock", "pair", "hone"]
FUNCTIONS = ["int", "int4", "float2", "bool", "string", "substr", "explode",
             "in_array", "round", "object", "variadic"]
FLAGS = ["-O2", "-fstack-protector-strong", "-w", "-c"]
UNIX = ["-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden"]


class Compiler:
    """One compiler for one ABI."""

    def __init__(self, name, command, tools, machine, extra=()):
        self.name, self.command, self.tools = name, command, tools
        self.machine, self.extra = machine, list(extra)
        self.windows = machine == "windows"

    def includes(self, php):
        """php: the folder of PHP's headers."""
        own = HERE / "abi" / ("windows" if self.windows else "linux")
        # Zend includes <../main/php_config.h>, so main/ must be a folder.
        folders = [own / "main", own, php, php / "main", php / "Zend",
                   php / "TSRM", HERE.parents[1] / "php", HERE]
        return [f"-I{folder}" for folder in folders]

    def build(self, php, style, out):
        """The functions of samples.c as an object file."""
        run([*self.command, *FLAGS,
             *(["-DZEND_WIN32=1", "-DPHP_WIN32=1", "-DWIN32"] if self.windows
               else UNIX), *self.extra, *self.includes(php),
             f"-DSTYLE_{style}", HERE / "samples.c", "-o", out])

    def tool(self, name):
        return self.tools + name


def compilers():
    """All compilers. The caller checks which of them are installed."""
    mingw, arm = "x86_64-w64-mingw32-", "aarch64-linux-gnu-"
    return [
        Compiler("x86-64, GCC", ["gcc"], "", "x86_64"),
        Compiler("x86-64, Clang", ["clang"], "", "x86_64"),
        Compiler("i386, GCC", ["gcc", "-m32"], "", "i386",
               ["-isystem", "/usr/include/x86_64-linux-gnu",
                "-D_FILE_OFFSET_BITS=64"]),
        Compiler("Windows x64, mingw-w64", [mingw + "gcc"], mingw, "windows"),
        # Of Debian 13 or 12.
        Compiler("aarch64, GCC",
                 [shutil.which(arm + "gcc-14") or arm + "gcc-12"], arm,
                 "aarch64"),
    ]


def run(command):
    """The standard output of a command; exits if the command fails."""
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


def code(compiler, obj):
    """{function: (bytes without filler, has a stack protector)}.

    Parts that a compiler moved out of line count for their function.
    """
    sizes, guarded = {}, {}
    name, end, start = None, 0, 0

    def close():
        if name:
            base = re.sub(r"\.(cold|isra|part|constprop).*", "", name)
            sizes[base] = sizes.get(base, 0) + end - start

    for line in run([compiler.tool("objdump"), "-drw", obj]).splitlines():
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


def link(compiler, obj, out):
    """Link the object at 0x100000, and undefined symbols from 0x300000 on.
    Returns the bytes and the addresses of the symbols."""
    lacking = sorted({line.split()[-1] for line in run(
        [compiler.tool("nm"), "-u", obj]).splitlines()})
    lacking = [n for n in lacking if n != "_GLOBAL_OFFSET_TABLE_"]
    command = [compiler.tool("ld"), "-T", HERE / "flat.ld", "-o", out]
    if compiler.machine == "i386":
        command[1:1] = ["-m", "elf_i386"]
    if compiler.windows:
        command += ["--image-base", "0", "--section-alignment", "4096"]
    for i, name in enumerate(lacking):
        command += ["--defsym", f"{name}={0x300000 + 64 * i:#x}"]
    run([*command, obj])
    flat = str(out) + ".bin"
    run([compiler.tool("objcopy"), "-O", "binary", "-j", ".all", out, flat])
    symbols = {}
    for line in run([compiler.tool("nm"), out]).splitlines():
        address, _, name = line.split()
        symbols[name] = int(address, 16)
    return pathlib.Path(flat).read_bytes(), symbols
