"""many.py SOCKET COUNT: a session that asks for COUNT variables at once, and what became of it: a line "denied N, allowed N"."""
import json
import os
import select
import socket
import sys

broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.connect(sys.argv[1])
count = int(sys.argv[2])
AT_ONCE = 200  # of one client that may wait (LIMIT_PENDING)


def send(message):
    broker.send(json.dumps(message).encode())


send({"type": "hello", "id": 1, "protocol": 7, "version": "many.py"})
home = os.environ["HOME"]
send({"type": "session-open", "id": 2, "command": ["many"], "executable": "/usr/bin/many", "profile": "default",
      "project": home + "/project", "root": home + "/project", "cwd": home + "/project", "environment": [], "allow": [],
      "deny": [], "policy": None, "policy_name": None, "offline": False, "record": False})
effects = {}
asked = 0
opened = False
while sum(effects.values()) < count:
    while opened and asked < count and asked - sum(effects.values()) < AT_ONCE:
        asked += 1
        send({"type": "check", "id": 100 + asked, "permission": "env:read", "target": f"VARIABLE_{asked}", "process": "many (1)"})
        if select.select([broker], [], [], 0)[0]:
            break
    message = json.loads(broker.recv(1 << 17))
    if message["type"] == "error":
        sys.exit(str(message))
    opened = opened or message["type"] == "session-open"
    if message["type"] == "check":
        effect = message["verdict"]["effect"]
        effects[effect] = effects.get(effect, 0) + 1
print(f"denied {effects.get('deny', 0)}, allowed {effects.get('allow', 0)}", flush=True)
broker.recv(1 << 17)  # until it is ended: the summary of a flood waits as long as the session runs
while True:
    if not broker.recv(1 << 17):
        break
