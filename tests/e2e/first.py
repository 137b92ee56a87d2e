"""first.py HOST PORT TEXT…: says each TEXT by a connection of its own to HOST, and prints it with what was "served" by the answer,
"cut" when the connection was reset, or "nothing".

\\r, \\n and \\xNN in TEXT are read as in Python. Behind a TEXT that ends in "$" (which isn't said) no more will come.
"""
import re
import socket
import sys

host, port = sys.argv[1:3]
for text in sys.argv[3:]:
    answer, end = b"", "nothing"
    try:
        with socket.create_connection((host, int(port)), 10) as connection:
            connection.sendall(text.removesuffix("$").encode().decode("unicode_escape").encode("latin-1"))
            if text.endswith("$"):
                connection.shutdown(socket.SHUT_WR)
            while b"served" not in answer or not answer.endswith(b"\n"):
                more = connection.recv(4096)
                if not more:
                    break
                answer += more
    except OSError:
        end = "cut"
    served = re.search(rb"served .*", answer)
    print(f"{text}: {served[0].decode('latin-1') if served else end}")
