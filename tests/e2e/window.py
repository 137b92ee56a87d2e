#!/usr/bin/env python3
"""window.py FILE STOP: writes to FILE again and again until STOP is there. Prints how long it could whenever it could for a
while: in microseconds, from the first time to the last one, one a line."""
import os
import sys
import time

path, stop = sys.argv[1:]
began = last = None
open("started", "w").close()
tries = 0
while (tries := tries + 1) % 256 or not os.path.exists(stop):
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    except OSError:
        if began is not None:
            print(round((last - began) * 1e6), flush=True)
            began = None
        continue
    last = time.monotonic()
    began = began or last
    os.write(descriptor, b"\tfsmonitor = evil\n")
    os.close(descriptor)
