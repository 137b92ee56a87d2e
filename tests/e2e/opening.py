#!/usr/bin/env python3
"""Opens a file that was allowed for another call: opening.py FILE ANOTHER

Looks at FILE, and makes the same call of the same addresses for ANOTHER. Another process opens FILE once `go` is in the
working directory.
"""

import ctypes
import os
import sys
import time

file, another = [os.fsencode(argument) for argument in sys.argv[1:]]
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(4096)


def look(target):
    path.value = target
    return libc.access(path, os.R_OK)


child = os.fork()
if child == 0:
    while not os.path.exists("go"):
        time.sleep(0.001)
    try:
        os.close(os.open(file, os.O_RDONLY))
        print("child: opened", flush=True)
    except OSError as error:
        print("child:", error.strerror, flush=True)
    os._exit(0)
looks = look(file), look(another)
print("looks:", looks, flush=True)
os.waitpid(child, 0)
