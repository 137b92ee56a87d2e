"""broker.py SOCKET [--pid | MESSAGE…]: speak to the broker in its own words (docs/protocol.md), or in wrong ones.

Each MESSAGE is sent as one datagram; `@N` sends N bytes of garbage, `!HEX` the bytes. Without --raw a `hello` goes first.
Every reply is printed as it comes, one a line; "closed" when the broker hangs up. --pid prints the broker's process id.
"""
import json
import socket
import sys

arguments = sys.argv[2:]
raw = "--raw" in arguments
pid = "--pid" in arguments
messages = [a for a in arguments if a not in ("--raw", "--pid")]

connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.settimeout(30)
connection.connect(sys.argv[1])


def receive():
    try:
        data = connection.recv(1 << 20)
    except ConnectionResetError:
        data = b""
    if not data:
        print("closed")
        sys.exit(0)
    return data.decode()


def send(data):
    try:
        connection.send(data)
    except (BrokenPipeError, ConnectionResetError):
        print("closed")
        sys.exit(0)
    except OSError as error:  # a datagram the socket itself refuses
        print("not sent:", error.strerror)
        sys.exit(0)


if not raw:
    send(json.dumps({"type": "hello", "id": 1, "protocol": 7, "version": "e2e"}).encode())
    reply = json.loads(receive())
    if pid:
        print(reply["pid"])
        sys.exit(0)
for message in messages:
    if message.startswith("@"):
        send(b"x" * int(message[1:]))
    elif message.startswith("!"):
        send(bytes.fromhex(message[1:]))
    else:
        send(message.encode())
    print(receive())
