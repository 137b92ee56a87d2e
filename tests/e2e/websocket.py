"""websocket.py --port-file FILE: a WebSocket (RFC 6455) that sends each text back. websocket.py connect HOST PORT TEXT: says
TEXT three times on one connection and prints the answers."""
import base64
import hashlib
import os
import socket
import sys
import threading

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(key):
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def head_of(stream):
    lines = iter(lambda: stream.readline().decode().strip(), "")
    first = next(lines)
    return first, {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def send(stream, text, mask=b""):
    data = text.encode()
    assert len(data) < 126
    stream.write(bytes([0x81, len(data) | (0x80 if mask else 0)]) + mask
                 + bytes(byte ^ mask[i % 4] if mask else byte for i, byte in enumerate(data)))
    stream.flush()


def receive(stream):
    head = stream.read(2)
    if len(head) < 2:
        return None
    mask = stream.read(4) if head[1] & 0x80 else bytes(4)
    return bytes(byte ^ mask[i % 4] for i, byte in enumerate(stream.read(head[1] & 0x7f))).decode()


def serve_one(connection):
    with connection, connection.makefile("rwb") as stream:
        _, head = head_of(stream)
        stream.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      f"Sec-WebSocket-Accept: {accept_key(head['sec-websocket-key'])}\r\n\r\n").encode())
        stream.flush()
        while (text := receive(stream)) is not None:
            send(stream, "echo of " + text)


def serve(port_file):
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file + ".new", "w") as file:
        print(listener.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0],), daemon=True).start()


def connect(host, port, text):
    key = base64.b64encode(os.urandom(16)).decode()
    with socket.create_connection((host, port)) as connection, connection.makefile("rwb") as stream:
        stream.write((f"GET /chat HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                      f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        stream.flush()
        first, head = head_of(stream)
        assert " 101 " in first + " ", first
        assert head["sec-websocket-accept"] == accept_key(key)
        for number in range(3):
            send(stream, f"{text} {number}", os.urandom(4))
            print(receive(stream))


if sys.argv[1] == "connect":
    connect(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    serve(sys.argv[2])
