#!/usr/bin/env python3
"""wire.py --ready FILE --log FILE --answer ADDRESS: in a network of its own, take up the loopback, answer each question for an
address on 127.0.0.1:53 with that one, and write what goes over any interface to the log: a packet a line, readable bytes as they
are and lengths of labels as dots, so that a name that left is found in it."""
import argparse
import os
import socket
import subprocess
import threading

parser = argparse.ArgumentParser()
parser.add_argument("--ready", required=True)
parser.add_argument("--log", required=True)
parser.add_argument("--answer", required=True)
options = parser.parse_args()

TYPE_A, EVERY_PROTOCOL, PACKET_OUTGOING = 1, 3, 4

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "route", "add", "default", "dev", "lo"], check=True)  # to wherever: it is seen here
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))


def serve():
    while True:
        query, client = names.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        is_address = query[end - 4 : end - 2] == TYPE_A.to_bytes(2, "big")
        head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_address else b"\0\0") + b"\0\0\0\0"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(options.answer)
        names.sendto(head + query[12:end] + (record if is_address else b""), client)


threading.Thread(target=serve, daemon=True).start()
with open(options.log, "w") as log:
    open(options.ready, "w").close()
    while True:
        packet, (_, _, kind, *_) = wire.recvfrom(65536)
        if kind == PACKET_OUTGOING:
            print("".join(chr(byte) if 32 < byte < 127 else "." for byte in packet), file=log, flush=True)
