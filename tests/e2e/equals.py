#!/usr/bin/env python3
"""Makes equal calls at the same time: equals.py COUNT write FILE | spawn PROGRAM | connect SOCKET

Each process prints "calls", makes the call, and prints "did" when its call was let through, else "refused".
"""

import os
import socket
import sys
import time

count, how, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def call():
    if how == "write":
        with open(target, "a") as file:
            file.write("x")
    elif how == "spawn":
        os.execv(target, [target, "did"])
    else:
        socket.socket(socket.AF_UNIX).connect(target)
    os.write(1, b"did\n")


def try_to():
    os.write(1, b"calls\n")
    try:
        call()
    except OSError:
        os.write(1, b"refused\n")
    os._exit(0)


children = []
start = time.time() + 0.2
for _ in range(count):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(max(0, start - time.time()))
        try_to()
for child in children:
    os.waitpid(child, 0)
