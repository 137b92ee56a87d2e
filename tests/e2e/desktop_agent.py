"""desktop_agent.py SOCKET --ready FILE: a desktop that shows every question and answers none. SIGUSR1: it can't any more."""
import json
import os
import signal
import socket
import sys

broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.connect(sys.argv[1])


def send(number, message):
    broker.send(json.dumps({**message, "id": number}).encode())


signal.signal(signal.SIGUSR1, lambda *_: send(3, {"type": "agent", "kind": "desktop", "session": None, "shows": False}))
send(1, {"type": "hello", "protocol": 5, "version": "desktop_agent.py"})
send(2, {"type": "agent", "kind": "desktop", "session": None, "shows": True})
while data := broker.recv(1 << 17):
    if json.loads(data).get("type") == "agent":
        with open(sys.argv[sys.argv.index("--ready") + 1], "w") as ready:
            ready.write(str(os.getpid()))
