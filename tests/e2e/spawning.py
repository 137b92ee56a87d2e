#!/usr/bin/env python3
"""Runs programs that were allowed for another call: spawning.py FILE PROGRAM OTHER…

Starts PROGRAM with arguments that the kernel can't read, so that the call fails once it is let through, and makes the
same call of the same addresses again, for FILE. When PROGRAM's call has failed, other processes run the OTHERs.
"""

import ctypes
import mmap
import os
import sys
import time

file, program, *others = [os.fsencode(argument) for argument in sys.argv[1:]]
libc = ctypes.CDLL(None, use_errno=True)
failed = mmap.mmap(-1, 4096)  # shared with the children
path = ctypes.create_string_buffer(4096)


def run(other):
    while failed[0] == 0:
        time.sleep(0.001)
    try:
        os.execv(other, [other, b"--version"])
    except OSError as error:
        print("not run:", os.fsdecode(other), error.strerror, flush=True)
    os._exit(0)


def call(target):
    path.value = target
    libc.execve(path, ctypes.c_void_p(8), None)
    return os.strerror(ctypes.get_errno())


children = []
for other in others:
    children.append(os.fork())
    if children[-1] == 0:
        run(other)
print("first:", call(program), flush=True)
failed[0] = 1
print("second:", call(file), flush=True)
for child in children:
    os.waitpid(child, 0)
