#!/usr/bin/env python3
"""without.py NUMBER COMMAND [ARG...]: runs it as on a kernel that doesn't know the system call of that number (ENOSYS)."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, IS_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

steps = [
    (LOAD_NUMBER, 0, 0, 0),
    (IS_EQUAL, 0, 1, int(sys.argv[1])),
    (RETURN, 0, 0, ERRNO | errno.ENOSYS),
    (RETURN, 0, 0, ALLOW),
]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
head = struct.pack("HL" if ctypes.sizeof(ctypes.c_void_p) == 4 else "H6xQ", len(steps), ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
