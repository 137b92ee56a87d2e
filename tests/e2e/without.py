#!/usr/bin/env python3
"""without.py NUMBER[:INDEX=VALUE] COMMAND [ARG...]: runs it as on a kernel that doesn't know the system call of that number, or of
that number with that argument (ENOSYS)."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, IS_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

number, _, argument = sys.argv[1].partition(":")
index, _, value = argument.partition("=")
wanted = [(LOAD, 0, 0, 16 + 8 * int(index)), (IS_EQUAL, 0, 1, int(value))] if argument else []  # little endian
steps = [
    (LOAD, 0, 0, 0),
    (IS_EQUAL, 0, 1 + len(wanted), int(number)),
    *wanted,
    (RETURN, 0, 0, ERRNO | errno.ENOSYS),
    (RETURN, 0, 0, ALLOW),
]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
head = struct.pack("HL" if ctypes.sizeof(ctypes.c_void_p) == 4 else "H6xQ", len(steps), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
