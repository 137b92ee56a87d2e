"""pushes.py SOCKET --ready FILE --log FILE: an agent in a terminal that answers nothing; what it is pushed goes to the log, a
JSON object a line."""
import json
import socket
import sys

path, arguments = sys.argv[1], sys.argv[2:]
ready, log = arguments[arguments.index("--ready") + 1], arguments[arguments.index("--log") + 1]
broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
broker.connect(path)
broker.send(json.dumps({"type": "hello", "id": 1, "protocol": 7, "version": "pushes.py"}).encode())
broker.send(json.dumps({"type": "agent", "id": 2, "kind": "terminal", "session": None}).encode())
with open(log, "a", buffering=1) as lines:
    while data := broker.recv(1 << 17):
        message = json.loads(data)
        if message["type"] == "agent":
            open(ready, "w").write("1")
        lines.write(json.dumps(message) + "\n")
