"""inside.py [--at PATH] COMMAND…: speak at the door in a sandbox (sbx-inside(1)) in its own words, or in wrong ones.

Run in there by `python3 -c`, since this file isn't visible. COMMAND: a message as JSON, sent on a connection of its own, whose
reply is printed ("closed" when there is none); `bytes:N` sends N bytes; `flood:N` makes N connections that say nothing and prints how
many were let in.
"""
import socket
import sys

arguments = sys.argv[1:]
path = "/run/sbx/ask.sock"
if arguments[0] == "--at":
    path, arguments = arguments[1], arguments[2:]


def visit():
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(path)  # where many wait it blocks
    door.settimeout(60)
    return door


def say(data):
    with visit() as door:
        try:
            door.send(data)
            reply = door.recv(1 << 17)
        except ConnectionError:
            reply = b""
        print(reply.decode() or "closed")


def flood(count):
    doors = []
    for _ in range(count):
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        door.setblocking(False)
        try:
            door.connect(path)
            doors.append(door)
        except BlockingIOError:
            door.close()
    print("let in:", len(doors))


for argument in arguments:
    if argument.startswith("bytes:"):
        say(b" " * int(argument[len("bytes:"):]))
    elif argument.startswith("flood:"):
        flood(int(argument[len("flood:"):]))
    else:
        say(argument.encode())
