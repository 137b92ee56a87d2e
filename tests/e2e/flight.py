"""flight.py COMMAND…: put descriptors in flight (SCM_RIGHTS through socket pairs that nobody reads) until the kernel refuses
one, write "full" into the working folder, and run COMMAND while they stay there."""
import array
import errno
import os
import socket
import subprocess
import sys

AT_ONCE = 253  # SCM_MAX_FD

descriptors = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("/dev/null", os.O_RDONLY)] * AT_ONCE))]
pairs = []
refused = 0
while refused != errno.ETOOMANYREFS:
    pairs.append(socket.socketpair())
    pairs[-1][0].setblocking(False)
    try:
        while True:
            pairs[-1][0].sendmsg([b"x"], descriptors)
    except OSError as error:
        refused = error.errno
        if refused not in (errno.EAGAIN, errno.ETOOMANYREFS):
            raise
with open("full.new", "w", encoding="utf-8") as file:
    file.write("full\n")
os.rename("full.new", "full")
sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
