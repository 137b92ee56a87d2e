"""datagrams.py SOCKET FILE: listen as the system's log does, and write every datagram to the file as it comes."""
import socket
import sys

log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind(sys.argv[1])
with open(sys.argv[2], "wb", buffering=0) as lines:
    while True:
        lines.write(log.recv(65536) + b"\n")
