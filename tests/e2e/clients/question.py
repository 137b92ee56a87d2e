"""question.py [--tcp] SERVER NAME TYPE...: asks a name server by hand, and prints for each type the code, the number of answers,
flags that say something (AA, TC, RA) and whether the question came back as it was."""
import socket
import sys

CODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}


def over_udp(server, message):
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(30)
        client.connect((server, 53))
        client.send(message)
        return client.recv(4096)


def over_tcp(server, message):
    with socket.create_connection((server, 53), timeout=30) as client, client.makefile("rb") as replies:
        client.sendall(len(message).to_bytes(2, "big") + message)
        return replies.read(int.from_bytes(replies.read(2), "big"))


ask = over_udp
if sys.argv[1] == "--tcp":
    del sys.argv[1]
    ask = over_tcp
server, name, *types = sys.argv[1:]
for kind in types:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = labels + b"\0" + int(kind).to_bytes(2, "big") + b"\0\1"
    reply = ask(server, b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + question)
    flags = int.from_bytes(reply[2:4], "big")
    words = [word for bit, word in ((0x400, "AA"), (0x200, "TC"), (0x80, "RA")) if flags & bit]
    same = "same" if reply[12 : 12 + len(question)] == question else "changed"
    print(kind, CODES[flags & 15], int.from_bytes(reply[6:8], "big"), *words, same)
