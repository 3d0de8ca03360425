"""Runs one instruction of amd64 at a time in unicorn, for unicorn_test.go: cases come on standard input, what has
become of each goes to standard output in the same form, which is that of HEAD and a page of memory."""

import struct
import sys

import unicorn
from unicorn import x86_const as x86

PAGE = 4096
MEMORY = 0x10000000
# Registers as instructions number them, flags, the base of FS, the place of the code, its length, how many
# instructions to run (of a reply: 1 if it has failed), the code, vectors.
HEAD = struct.Struct("<16Q5Q16s256s")
NAMES = "RAX RCX RDX RBX RSP RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15 EFLAGS FS_BASE RIP"
REGISTERS = [getattr(x86, "UC_X86_REG_" + name) for name in NAMES.split()]
VECTORS = [getattr(x86, f"UC_X86_REG_XMM{i}") for i in range(16)]
# Those at which it has run, and what is behind it is not to be had.
ENDS = (unicorn.UC_ERR_OK, unicorn.UC_ERR_FETCH_UNMAPPED)


def main():
    machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    machine.mem_map(MEMORY, PAGE)
    mapped = None
    read, write = sys.stdin.buffer.read, sys.stdout.buffer.write
    while len(case := read(HEAD.size + PAGE)) == HEAD.size + PAGE:
        *words, code, vectors = HEAD.unpack(case[: HEAD.size])
        pc, length, count = words[18:]
        page = pc // PAGE * PAGE
        if page != mapped:
            if mapped is not None:
                machine.mem_unmap(mapped, 2 * PAGE)
            machine.mem_map(page, 2 * PAGE, unicorn.UC_PROT_EXEC)
            mapped = page
        machine.ctl_remove_cache(page, page + 2 * PAGE)
        machine.mem_write(pc, code)
        machine.mem_write(MEMORY, case[HEAD.size :])
        machine.reg_write_batch(list(zip(REGISTERS, words[:18])))
        for i, register in enumerate(VECTORS):
            machine.reg_write(register, int.from_bytes(vectors[16 * i : 16 * i + 16], "little"))
        failed = 0
        try:
            machine.emu_start(pc, pc + length, count=count)
        except unicorn.UcError as error:
            failed = int(error.errno not in ENDS)
        words = machine.reg_read_batch(REGISTERS)
        vectors = b"".join(machine.reg_read(register).to_bytes(16, "little") for register in VECTORS)
        write(HEAD.pack(*words, length, failed, code, vectors))
        write(machine.mem_read(MEMORY, PAGE))
        sys.stdout.buffer.flush()


main()
