#!/usr/bin/env python3
"""Holds a folder in some way, and reads what comes into it later for as long as it can: holding.py HOW FOLDER [NAME],
or files: holding.py mapped FILE…

Makes the file `up` in the working directory when it holds it. Whoever reads FOLDER/NAME (new) writes a line into `read`,
each time, until `end` is there.
"""

import array
import ctypes
import fcntl
import mmap
import os
import socket
import sys
import threading
import time

how, path = sys.argv[1:3]
wanted = sys.argv[3] if len(sys.argv) > 3 else "new"
libc = ctypes.CDLL(None)
home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
CLONE_FS, CLONE_FILES = 0x200, 0x400


def over():
    return os.access("end", os.F_OK, dir_fd=home)


def tell(name, text=b""):
    # The descriptors of one that can't be looked at can't be either: what it makes is known by its working folder alone.
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600, dir_fd=None if how == "undumpable" else home)
    os.write(file, text)
    os.close(file)


def look(folder):
    try:
        file = os.open(wanted, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return
    tell("read", os.read(file, 99))
    os.close(file)


def keep(folder):
    tell("up")
    while not over():
        look(folder)
        time.sleep(0.005)


def folder():
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def send(end, held):
    end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [held]))])


def receive(end):
    _, ancillary, _, _ = end.recvmsg(1, socket.CMSG_SPACE(4))
    return array.array("i", ancillary[0][2])[0]


def cwd():
    os.chdir(path)
    keep(os.open(".", os.O_PATH))


def opened():
    keep(folder())


def name():
    keep(os.open(path, os.O_PATH))


def thread():
    def run():
        libc.unshare(CLONE_FILES)
        keep(folder())

    threading.Thread(target=run).start()
    while not over():
        time.sleep(0.01)


def thread_cwd():
    def run():
        libc.unshare(CLONE_FS)
        os.chdir(path)
        keep(os.open(".", os.O_PATH))

    threading.Thread(target=run).start()
    while not over():
        time.sleep(0.01)


def locked():
    """In a message that waits in a socket with hundreds of locks, which /proc tells before the message."""
    ours, theirs = socket.socketpair()
    for end in ours, theirs:
        for i in range(200):
            fcntl.lockf(end, fcntl.LOCK_SH, 1, 2 * i)
    held = folder()
    send(ours, held)
    os.close(held)
    tell("up")
    while not os.access("go", os.F_OK, dir_fd=home):
        time.sleep(0.005)
    keep(receive(theirs))


def deep():
    """At the end of a path that is longer than the kernel tells."""
    held, below = folder(), 25
    for _ in range(below):
        os.mkdir("d" * 200, dir_fd=held)
        above, held = held, os.open("d" * 200, os.O_RDONLY, dir_fd=held)
        os.close(above)
    tell("up")
    while not over():
        try:
            file = os.open("../" * below + "new", os.O_RDONLY, dir_fd=held)
            tell("read", os.read(file, 99))
            os.close(file)
        except OSError:
            pass
        time.sleep(0.005)


def mapped(names):
    """A child for each file, which has but a mapping of it, by a name that tells little, and writes to it later, unless
    its name ends with a digit."""
    children = {}
    for name in names:
        told, tell_it = os.pipe()
        children[name] = os.fork()
        if children[name] == 0:
            writes = not name[-1].isdigit()
            other = {"linked": "alias", "newline": "two\nlines"}.get(os.path.basename(name))
            at = os.path.dirname(name) + "/" + (other or os.path.basename(name))
            if other:
                os.link(name, at)
            with open(at, "r+b" if writes else "rb") as file:
                view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | (mmap.PROT_WRITE if writes else 0))
            if other == "alias":
                os.unlink(at)
            os.write(tell_it, b"x")
            while not os.access("go", os.F_OK, dir_fd=home):
                time.sleep(0.02)
            if writes:
                view[:6] = b"PWNED!"
            tell("read", name.encode() + b"\n")
            os._exit(0)
        os.close(tell_it)
        os.read(told, 1)
    tell("up")
    while not over():
        time.sleep(0.02)
    ended = [name for name in names if os.waitpid(children[name], os.WNOHANG)[1] == 9]
    print(f"{len(ended)} of {len(names)} ended")


def parked():
    """In a message that waits, of a socket that waits in another one."""
    ours, theirs = socket.socketpair()
    outer, inner = socket.socketpair()
    held = folder()
    send(ours, held)
    os.close(held)
    send(outer, theirs.detach())
    tell("up")
    while not os.access("go", os.F_OK, dir_fd=home):
        time.sleep(0.005)
    keep(receive(socket.socket(fileno=receive(inner))))


def passed():
    """To and fro between two processes, each of which has it for a moment."""
    one, other = socket.socketpair()
    if os.fork() == 0:
        one, other = other, one
    else:
        held = folder()
        send(one, held)
        os.close(held)
    tell("up")
    one.settimeout(0.05)  # the other may have been ended
    while not over():
        try:
            held = receive(one)
        except TimeoutError:
            continue
        look(held)
        send(one, held)
        os.close(held)


def forked():
    """Each child forks the next one and ends, below one that has nothing."""
    if os.fork() != 0:
        while not over():
            time.sleep(0.01)
        return
    held = folder()
    tell("up")
    while not over():
        if os.fork() != 0:
            os._exit(0)
        look(held)


def written():
    """A file is open for writing, so that the mount can't be made read-only."""
    file = os.open(path + "/written", os.O_WRONLY | os.O_CREAT, 0o600)
    held = folder()
    tell("up")
    while not over():
        try:
            os.close(os.open("made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=held))
            os.unlink("made", dir_fd=held)
        except OSError:
            pass
        look(held)
        os.write(file, b"x")
        os.lseek(file, 0, os.SEEK_SET)


def undumpable():
    """Its descriptors, its memory and its namespaces are root's to look at (PR_SET_DUMPABLE in prctl(2))."""
    libc.prctl(4, 0)
    keep(folder())


{
    "cwd": cwd,
    "opened": opened,
    "name": name,
    "thread": thread,
    "thread-cwd": thread_cwd,
    "parked": parked,
    "locked": locked,
    "undumpable": undumpable,
    "deep": deep,
    "mapped": lambda: mapped(sys.argv[2:]),
    "passed": passed,
    "forked": forked,
    "writer": written,
}[how]()
