"""checks.py SOCKET COUNT: as many checks of db:access, each about another target of the most bytes; says how many were allowed."""
import json
import socket
import sys

TARGET_BYTES = 4000  # LIMIT_TARGET is 4096

broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.settimeout(60)
broker.connect(sys.argv[1])
last = 0


def call(message):
    global last
    last += 1
    broker.send(json.dumps({**message, "id": last}).encode())
    return json.loads(broker.recv(1 << 17))


assert "pid" in call({"type": "hello", "protocol": 4, "version": "checks.py"})
allowed = 0
for number in range(int(sys.argv[2])):
    target = f"{number:06} ".ljust(TARGET_BYTES, "x")
    reply = call({"type": "check", "permission": "db:access", "target": target, "process": "checks", "project": "/"})
    allowed += reply.get("verdict", {}).get("effect") == "allow"
print("allowed", allowed)
