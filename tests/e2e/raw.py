"""raw.py [socks] TEXT…: say exactly these bytes to the sandbox's proxy and print what comes back, up to 64 KiB.

\\r, \\n, \\0 and \\xNN in TEXT are read as in Python. Runs inside the sandbox. HTTP_PROXY says where the proxy is; with network: native nothing does, and it is there all the same.
"""
import os
import socket
import sys
from urllib.parse import urlsplit

proxy = urlsplit(os.environ.get("HTTP_PROXY", "http://127.0.0.1:61080"))
connection = socket.create_connection((proxy.hostname, proxy.port))
connection.settimeout(5)
answer = b""
for text in sys.argv[1:]:
    try:
        connection.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
        connection.settimeout(0.5 if text is not sys.argv[-1] else 5)
        answer += connection.recv(65536)
    except OSError:
        pass
try:
    connection.shutdown(socket.SHUT_WR)
    while len(answer) < 65536:
        more = connection.recv(65536)
        if not more:
            break
        answer += more
except OSError:
    pass
print(answer.decode("latin-1") if not answer.startswith(b"\x05") else answer.hex())
