"""bound.py --port-file FILE: a port of 127.0.0.1 that nobody else can have, and at which nobody listens."""
import os
import signal
import socket
import sys

assert sys.argv[1] == "--port-file"
port_file = sys.argv[2]
bound = socket.socket()
bound.bind(("127.0.0.1", 0))
with open(port_file + ".new", "w") as file:
    print(bound.getsockname()[1], file=file)
os.rename(port_file + ".new", port_file)
signal.pause()
