# SPDX-License-Identifier: BSD-3-Clause
"""Count the instructions of a call. An emulator (Unicorn) runs the function on
a frame as PHP makes it, with arguments of the right types."""
import struct

import unicorn
from unicorn import arm64_const as arm
from unicorn import x86_const as x86

LONG, DOUBLE, STRING, ARRAY, OBJECT, TRUE, FALSE = 4, 5, 6, 7, 8, 3, 2
ARGUMENTS = {
    "int": [LONG], "int4": [LONG] * 4, "float2": [DOUBLE] * 2,
    "bool": [TRUE], "string": [STRING], "substr": [STRING, LONG, LONG],
    "explode": [STRING, STRING, LONG], "in_array": [LONG, ARRAY, FALSE],
    "round": [LONG, LONG], "object": [OBJECT, STRING],
    "variadic": [STRING, LONG],
}
CODE, LACKING, STACK, RETURN = 0x100000, 0x300000, 0x400000, 0x500000
# Addresses of a frame, its return value, an object, and the class. Every
# undefined variable of the code also has the address of the class.
FRAME, VALUE, THING, CLASS = 0x600000, 0x600400, 0x600800, 0x300000 + 0x8000


def words(machine):
    """Bytes of a pointer, and the offsets of the number of arguments and of the
    first argument in a frame, as in Zend/zend_compile.h."""
    return (4, 0x1c, 0x30) if machine == "i386" else (8, 0x2c, 0x50)


def memory(machine, types):
    """The page with the frame, as bytes from FRAME on."""
    size, count_at, first_at = words(machine)
    page = bytearray(0x1000)
    struct.pack_into("<I", page, count_at, len(types))
    for i, kind in enumerate(types):
        at = first_at + 16 * i
        value = THING if kind in (STRING, ARRAY, OBJECT) else 7
        struct.pack_into("<QI", page, at, value, kind)
    # At this offset a zend_object has its class, a zend_string its length, and
    # an array nothing of interest.
    struct.pack_into("<I" if size == 4 else "<Q", page,
                     THING - FRAME + (12 if size == 4 else 16), CLASS)
    return bytes(page)


def machine_of(machine):
    """The emulator, ready to call with the frame and the return value."""
    if machine == "aarch64":
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        registers = {arm.UC_ARM64_REG_X0: FRAME, arm.UC_ARM64_REG_X1: VALUE,
                     arm.UC_ARM64_REG_LR: RETURN,
                     arm.UC_ARM64_REG_SP: STACK + 0x8000}
    elif machine == "i386":
        uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_32)
        registers = {x86.UC_X86_REG_ECX: FRAME, x86.UC_X86_REG_EDX: VALUE,
                     x86.UC_X86_REG_ESP: STACK + 0x8000}
    else:
        uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        first, second = (
            (x86.UC_X86_REG_RCX, x86.UC_X86_REG_RDX) if machine == "windows"
            else (x86.UC_X86_REG_RDI, x86.UC_X86_REG_RSI))
        registers = {first: FRAME, second: VALUE,
                     x86.UC_X86_REG_RSP: STACK + 0x8008 - 16}
    # fs and gs are 0, so the stack protector reads its value near address 0.
    for base in (0, CODE, LACKING, STACK, RETURN, FRAME):
        uc.mem_map(base, 0x10000)
    for register, value in registers.items():
        uc.reg_write(register, value)
    size = words(machine)[0]
    pointer = CLASS.to_bytes(size, "little")
    uc.mem_write(LACKING, pointer * (0x10000 // size))
    if machine != "aarch64":
        stack = STACK + (0x8000 if machine == "i386" else 0x7ff8)
        uc.mem_write(stack, RETURN.to_bytes(size, "little"))
    return uc


def count(machine, image, address, function):
    """Instructions from the first of the function to its return."""
    uc = machine_of(machine)
    uc.mem_write(CODE, image)
    uc.mem_write(FRAME, memory(machine, ARGUMENTS[function]))
    executed = []
    uc.hook_add(unicorn.UC_HOOK_CODE,
                lambda uc, at, size, data: executed.append(at))
    uc.emu_start(address, RETURN, count=2000)
    kind = uc.mem_read(VALUE + 8, 1)[0]
    if len(executed) >= 2000 or kind not in (LONG, DOUBLE, TRUE, FALSE):
        raise SystemExit(f"{machine}: args_{function} did not return")
    if any(at >= LACKING for at in executed):
        raise SystemExit(f"{machine}: args_{function} left its fast path")
    return len(executed)
