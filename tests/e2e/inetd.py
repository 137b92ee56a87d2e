"""inetd.py --port-file FILE COMMAND…: listens on 127.0.0.1 and runs COMMAND for each connection, which is its standard input
and output."""
import os
import socket
import subprocess
import sys

port_file, command = sys.argv[2], sys.argv[3:]
assert sys.argv[1] == "--port-file"
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
with open(port_file + ".new", "w") as file:
    print(listener.getsockname()[1], file=file)
os.rename(port_file + ".new", port_file)
running = []
while True:
    connection, _ = listener.accept()
    running = [process for process in running if process.poll() is None]
    running.append(subprocess.Popen(command, stdin=connection, stdout=connection))
    connection.close()
