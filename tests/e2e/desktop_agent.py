"""desktop_agent.py SOCKET --ready FILE: a desktop that shows every question and answers none by itself. SIGUSR1: it can't show any
more. SIGUSR2: it allows the newest one for two hours. What the broker tells it is printed, a line of JSON each.
"""
import json
import os
import signal
import socket
import sys

broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.connect(sys.argv[1])
shown = {}


def send(number, message):
    broker.send(json.dumps({**message, "id": number}).encode())


def allow(*_):
    prompt, token = max(shown.items())
    send(4, {"type": "answer", "prompt": prompt, "token": token, "effect": "allow", "lifetime": "until", "ttl_ms": 7200000,
             "scope": "exact", "terminal": False})


signal.signal(signal.SIGUSR1, lambda *_: send(3, {"type": "agent", "kind": "desktop", "session": None, "shows": False}))
signal.signal(signal.SIGUSR2, allow)
send(1, {"type": "hello", "protocol": 7, "version": "desktop_agent.py"})
send(2, {"type": "agent", "kind": "desktop", "session": None, "shows": True})
while data := broker.recv(1 << 17):
    message = json.loads(data)
    print(json.dumps(message), flush=True)
    if message.get("type") == "prompt":
        shown[message["id"]] = message["token"]
    if message.get("type") == "prompt-gone":
        shown.pop(message["id"], None)
    if message.get("type") == "agent":
        with open(sys.argv[sys.argv.index("--ready") + 1], "w") as ready:
            ready.write(str(os.getpid()))
