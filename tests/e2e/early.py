"""early.py HOST PORT NAME BYTES…: a TLS hello for NAME with BYTES (hexadecimal) before it, by a connection to HOST; for each BYTES
prints them and the first byte of the answer, or "nothing".
"""
import socket
import ssl
import sys

host, port, name = sys.argv[1:4]


def hello():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(received, sent, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()


for before in sys.argv[4:]:
    try:
        with socket.create_connection((host, int(port)), 10) as connection:
            connection.sendall(bytes.fromhex(before) + hello())
            answer = connection.recv(1)
    except OSError:
        answer = b""
    print(before or "-", answer[0] if answer else "nothing")
