#!/usr/bin/env python3
"""nameserver.py --ready FILE --log FILE: in a network of its own, take up the loopback and be its name server: SRV and TXT of
anything (a TXT of many texts for names that begin with many), no data for the rest; the names asked for go to the log."""
import argparse
import socket
import struct
import subprocess

SRV, TXT = 33, 16
parser = argparse.ArgumentParser()
parser.add_argument("--ready", required=True)
parser.add_argument("--log", required=True)
options = parser.parse_args()


def labels(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(kind, data):
    return b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 3600, len(data)) + data


def records(kind, name):
    if kind == SRV:
        return [record(SRV, struct.pack(">HHH", 10, 20, 5432) + labels("db1.good.test"))]
    if kind == TXT:
        count = 4 if name.startswith("many") else 1
        return [record(TXT, b"\x05hello" + bytes([200]) + b"x" * 200)] * count
    return []


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, open(options.log, "w") as log:
    server.bind(("127.0.0.1", 53))
    open(options.ready, "w").close()
    while True:
        query, client = server.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        kind = int.from_bytes(query[end - 4 : end - 2], "big")
        name, at = [], 12
        while query[at]:
            name.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        print(kind, ".".join(name), file=log, flush=True)
        answers = records(kind, ".".join(name))
        head = query[:2] + b"\x81\x80\0\1" + len(answers).to_bytes(2, "big") + b"\0\0\0\0"
        server.sendto(head + query[12:end] + b"".join(answers), client)
