"""How long after a grant is revoked its connection is cut in the sandbox: cut.py SOCKET ROUNDS [SECONDS].

A tool in `sbx run` connects (through the proxy where it is told of one) and waits; then the broker is told to revoke the grant. From that message to the
end of the tool's connection: p50, p99 and the longest, in milliseconds. Fails when one isn't cut within SECONDS (2).
"""
import json
import socket
import subprocess
import sys
import threading
import time

INSIDE = r"""
import os, socket, sys, time, urllib.parse
proxy = urllib.parse.urlsplit(os.environ.get("HTTPS_PROXY", ""))

def connect(target):
    host, port = target.split(":")
    if not proxy.hostname:
        return socket.create_connection((host, int(port)))
    tunnel = socket.create_connection((proxy.hostname, proxy.port))
    tunnel.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += tunnel.recv(1000)
    assert b" 200 " in head.split(b"\r\n")[0], head
    return tunnel

for line in sys.stdin:
    tunnel = connect(line.strip())
    tunnel.sendall(b"x")
    assert tunnel.recv(1) == b"x"
    print("open", flush=True)
    try:
        tunnel.recv(1)
    except OSError:
        pass
    print("cut", time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
    tunnel.close()
"""


def echo_one(peer):
    try:
        while got := peer.recv(100):
            peer.sendall(got)
    except ConnectionResetError:  # that is what being cut is
        pass


def echo(listener):
    while True:
        threading.Thread(target=echo_one, args=(listener.accept()[0],), daemon=True).start()


class Broker:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.last = 0
        self.call(type="hello", protocol=7, version="cut.py")

    def call(self, **message):
        self.last += 1
        self.socket.send(json.dumps({**message, "id": self.last}).encode())
        reply = json.loads(self.socket.recv(1 << 16))
        assert reply["type"] != "error", reply
        return reply


def main():
    path, rounds, patience = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 2
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    target = f"localhost:{listener.getsockname()[1]}"
    tool = subprocess.Popen(["sbx", "run", "--", "python3", "-c", INSIDE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    broker, took = Broker(path), []
    for _ in range(rounds):
        grant = broker.call(type="grant", permission="net:access", target=target, effect="allow", profile=None, project=None, lifetime="always")
        tool.stdin.write(target + "\n")
        tool.stdin.flush()
        assert tool.stdout.readline() == "open\n"
        start = time.clock_gettime(time.CLOCK_MONOTONIC)
        broker.call(type="revoke", ids=[grant["grant"]["id"]])
        word, at = tool.stdout.readline().split()
        assert word == "cut"
        took.append((float(at) - start) * 1000)
    tool.stdin.close()
    tool.wait()
    took.sort()
    print(f"revoke to cut, {rounds} rounds: p50 {took[len(took) // 2]:.1f} ms, p99 {took[len(took) * 99 // 100]:.1f} ms, longest {took[-1]:.1f} ms")
    return 0 if took[-1] < patience * 1000 else 1


sys.exit(main())
