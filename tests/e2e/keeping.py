#!/usr/bin/env python3
"""Keeps more than it was allowed: keeping.py HOW FOLDER

grab     asks to make FOLDER/new.txt, and takes a descriptor of the folder while the call is let through
beside   likewise, and opens FOLDER/old.txt meanwhile
plainly  asks to make FOLDER/new.txt and writes to that for a while
list     opens the folder and reads what comes into it
reopen   has f1 of the folder open to be written, f2 to be read and f3 by name alone; opens them anew to write
written  has f1 alone, open to be written

Makes the file `up` in the working directory when it has what it wants, and goes on when `go` is there.
"""

import os
import sys
import threading
import time

how, folder = sys.argv[1:3]
over = False
taken = []


def wait():
    open("up", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)


def try_to(what, call):
    try:
        call()
        print(what, flush=True)
    except OSError as error:
        print("not", what, error.strerror, flush=True)


def write(fd):
    os.write(fd, b"overwritten\n")


def is_mounted():
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == folder and " fuse" not in line for line in mounts)


def take(path, flags):
    """As soon as the host's folder is there: a look before that would be asked about. It may be gone by the time of the
    look, which then finds the curtain, as one before the question does: nothing was taken."""
    while not over:
        if is_mounted():
            try:
                fd = os.open(path, flags)
            except OSError:
                return
            if os.fstat(fd).st_dev == os.stat(".").st_dev:
                taken.append(fd)
            return


def make(path=None, flags=0):
    global over
    thread = threading.Thread(target=take, args=(path, flags))
    if path:
        thread.start()
    try:
        new = os.open(folder + "/new.txt", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(new, b"new\n")
    except OSError:
        new = -1  # the other thread had what a call for the folder gives
    if path:
        time.sleep(0.2)
        over = True
        thread.join()
    return new


def grab():
    new = make(folder, os.O_PATH | os.O_DIRECTORY)
    print("taken", len(taken), flush=True)
    wait()
    for fd in taken:
        try_to("read", lambda: os.open("old.txt", os.O_RDONLY, dir_fd=fd))
        try_to("overwrote", lambda: write(os.open("old.txt", os.O_WRONLY | os.O_TRUNC, dir_fd=fd)))
        try_to("made", lambda: os.open("evil.txt", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=fd))
    return new


def beside():
    make(folder + "/old.txt", os.O_PATH)
    print("taken", len(taken), flush=True)
    wait()
    for fd in taken:
        try_to("overwrote", lambda: write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC)))


def plainly():
    new = make()
    wait()
    os.write(new, b"more\n")
    os.close(new)


def list_it():
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    wait()
    print(*os.listdir(fd), flush=True)


def reopen():
    os.open(folder + "/f1", os.O_WRONLY)
    held = [os.open(folder + "/f2", os.O_RDONLY), os.open(folder + "/f3", os.O_PATH)]
    wait()
    for fd in held:
        try_to("overwrote", lambda: write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC)))


def written():
    fd = os.open(folder + "/f1", os.O_WRONLY)
    wait()
    os.write(fd, b"mine\n")


{"grab": grab, "beside": beside, "plainly": plainly, "list": list_it, "reopen": reopen, "written": written}[how]()
