"""udp.py --port-file FILE [LOG]: says each datagram back, as it came; LOG has its size, a line each.
udp.py HOST PORT CASE…: a tool with a connected UDP socket; "CASE: WHAT", a line each.
"""
import errno
import os
import socket
import sys
import time


def serve(port_file, log=os.devnull):
    echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    echo.bind(("127.0.0.1", 0))
    with open(port_file + ".new", "w") as file:
        print(echo.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    with open(log, "w", buffering=1) as lines:
        while True:
            data, peer = echo.recvfrom(65536)
            print(len(data), file=lines)
            echo.sendto(data, peer)


if sys.argv[1] == "--port-file":
    serve(*sys.argv[2:])
host, port = sys.argv[1], int(sys.argv[2])


def connected(family=socket.AF_INET):
    found = socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0]
    s = socket.socket(*found[:3])
    s.settimeout(60)
    s.connect(found[4])
    return s


def back(s, data):
    s.send(data)
    return s.recv(65536) == data


def echo():
    return all(back(connected(family), b"hello") for family in (socket.AF_INET, socket.AF_INET6))


def sizes():
    s = connected()
    return all(back(s, bytes(i % 251 for i in range(size))) for size in (0, 1, 1200, 1500, 9000, 65507))


def told(s):
    """What the kernel says once the way is closed: a send meets the closed port, and the next call knows."""
    end = time.monotonic() + 60
    s.settimeout(0.1)
    while time.monotonic() < end:
        try:
            s.send(b"anybody")
            s.recv(65536)
        except TimeoutError:
            pass
        except OSError as error:
            return errno.errorcode[error.errno]
    return "nothing"


def refused():
    return told(connected())


def unconnected(send):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2 if send == "sendmsg" else 60)
    address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
    try:
        if send == "sendmsg":
            s.sendmsg([b"hello"], [], 0, address)
        else:
            s.sendto(b"hello", address)
        s.recv(100)
    except TimeoutError:
        return "nothing"
    except OSError as error:
        return errno.errorcode[error.errno]
    return "an answer"


def sendto():
    return unconnected("sendto")


def sendmsg():
    return unconnected("sendmsg")


def lookups():
    """getaddrinfo connects sockets to sort what it found, and sends nothing."""
    for _ in range(100):
        socket.getaddrinfo(host, port)
    return "done"


def peer():
    s = connected()
    return s.getpeername()[1] == port and s.getpeername()[0].startswith("198.18.")


def held():
    s = connected()
    print("held:", back(s, b"x"), flush=True)
    while True:
        try:
            s.settimeout(0.05)
            s.send(b"x")
            s.recv(1)
        except TimeoutError:
            pass
        except OSError as error:
            return errno.errorcode[error.errno]
        time.sleep(0.01)


for case in sys.argv[3:]:
    print(f"{case}: {globals()[case]()}", flush=True)
