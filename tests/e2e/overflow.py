"""overflow.py SOCKET SESSION: grant files to the session, whose runner is stopped, until sbxd gives its connection up, since too
much waits to be read there."""
import json
import socket
import sys

path, session = sys.argv[1], int(sys.argv[2])
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.settimeout(60)
connection.connect(path)
last = 0


def call(kind, **fields):
    global last
    last += 1
    connection.send(json.dumps({"type": kind, "id": last, **fields}).encode())
    while True:
        reply = json.loads(connection.recv(1 << 20))
        if reply.get("id") != last:
            continue
        if reply["type"] == "error" and kind != "grant":
            sys.exit(reply["message"])
        return reply


def runs():
    return any(item["id"] == session for item in call("list", what="sessions")["items"])


call("hello", protocol=7, version="e2e")
for number in range(4000):
    reply = call(
        "grant",
        permission="fs:read",
        target="/" + "/".join([str(number)] + ["x" * 200] * 18),
        effect="allow",
        profile="default",
        project=None,
        lifetime="session",
        session=session,
        at_once=True,
    )
    if reply["type"] == "error":
        if not runs():
            sys.exit(0)
        sys.exit(reply["message"])
    if number % 50 == 0 and not runs():
        sys.exit(0)
sys.exit("the session still runs")
