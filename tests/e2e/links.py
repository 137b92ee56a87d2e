#!/usr/bin/env python3
"""Many connections to a Unix socket of the host.

serve PATH      echoes; says "ready"
hold PATH N     makes N connections, says "holding" and how many there are; when the file `go` is there, says how many of
                them still answer
bind PATH N     likewise, but first binds its own end of each to a path while others come and go
"""
import os
import resource
import selectors
import socket
import sys
import threading
import time

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def serve(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(4096)
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is server:
                selector.register(server.accept()[0], selectors.EVENT_READ)
                continue
            try:
                data = key.fileobj.recv(100)
                key.fileobj.sendall(data)
            except OSError:
                data = b""
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def connected(path):
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(path)
    except OSError:
        made.close()
        return None
    return made


def come_and_go(path, over):
    """Past the limit each has those that have ended looked for."""
    while not over.is_set():
        made = connected(path)
        if made:
            made.close()


def answers(connection):
    connection.settimeout(20)
    try:
        connection.sendall(b"x")
        return connection.recv(1) == b"x"
    except OSError:
        return False


def make(path, count):
    return [made for made in (connected(path) for _ in range(int(count))) if made]


def keep(held):
    print("holding", len(held), flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    print("answer", sum(map(answers, held)), flush=True)


def hold(path, count):
    keep(make(path, count))


def bind(path, count):
    others = [socket.socket(socket.AF_UNIX) for _ in range(3000)]  # the list that is looked through is long
    held = make(path, count)
    over = threading.Event()
    others_come = threading.Thread(target=come_and_go, args=[path, over])
    others_come.start()
    for number, connection in enumerate(held):
        connection.bind(f"/tmp/own.{number}")
        time.sleep(0.002)
    over.set()
    others_come.join()
    keep(held)
    del others


{"serve": serve, "hold": hold, "bind": bind}[sys.argv[1]](*sys.argv[2:])
