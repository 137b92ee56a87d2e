"""checks.py SOCKET COUNT: as many checks of db:access, each about another target that is as long in a message as one can be; says
how many were allowed."""
import json
import socket
import sys

TARGET_BYTES = 4000  # LIMIT_TARGET is 4096
NO_UTF8 = "\uf7ff"  # the byte 0xff in a message (docs/protocol.md): three there
AT_ONCE = 16  # below what is a flood

broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.settimeout(60)
broker.connect(sys.argv[1])
last = 0


def send(message):
    global last
    last += 1
    broker.send(json.dumps({**message, "id": last}, ensure_ascii=False).encode())


def receive():
    return json.loads(broker.recv(1 << 17))


send({"type": "hello", "protocol": 7, "version": "checks.py"})
assert "pid" in receive()
count, allowed = int(sys.argv[2]), 0
for number in range(count + AT_ONCE):
    if number < count:
        target = f"{number:06} ".ljust(TARGET_BYTES, NO_UTF8)
        send({"type": "check", "permission": "db:access", "target": target, "process": "checks", "project": "/"})
    if number >= AT_ONCE:
        allowed += receive().get("verdict", {}).get("effect") == "allow"
print("allowed", allowed)
