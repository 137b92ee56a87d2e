"""lasting.py HOST PORT SAYS: connects, asks for / of the host SAYS, prints the answer and keeps the connection until it ends."""
import socket
import sys

host, port, says = sys.argv[1:]
connection = socket.create_connection((host, int(port)))
connection.settimeout(60)
try:
    connection.sendall(f"GET / HTTP/1.1\r\nHost: {says}:{port}\r\n\r\n".encode())
    while answer := connection.recv(1000):
        print(answer.decode(), flush=True)
    print("ended")
except TimeoutError:
    print("still there")
except OSError:
    print("ended")
