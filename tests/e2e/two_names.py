#!/usr/bin/env python3
"""Two processes want to change one folder: two_names.py FOLDER

"notes" asks to make FOLDER/harmless.txt; when the file `second` is in the working directory, "evil" asks to remove
FOLDER/important.txt; when `end` is there, "notes" is killed. Says what each came to.
"""

import os
import signal
import sys
import time

folder = sys.argv[1]


def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)


def begin(name, call):
    process = os.fork()
    if process:
        return process
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
    print(name, "calls", flush=True)
    try:
        call()
        print(name, "did", flush=True)
    except OSError as error:
        print(name, error.strerror, flush=True)
    os._exit(0)


notes = begin("notes", lambda: os.open(folder + "/harmless.txt", os.O_CREAT | os.O_WRONLY))
wait_for("second")
evil = begin("evil", lambda: os.unlink(folder + "/important.txt"))
wait_for("end")
os.kill(notes, signal.SIGKILL)
os.waitpid(notes, 0)
os.waitpid(evil, 0)
