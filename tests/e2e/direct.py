"""What a tool does with a socket that may be the host's. direct.py HOST PORT CASE…: one line for each case, "CASE: WHAT".

The server says back what it gets. "host": the peer's address is the host's own, "standin": it is not.
"""
import array
import errno
import os
import select
import socket
import struct
import sys
import time

MSG_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_ULP = 0x20000000, 30, 31
SIOCGIFCONF, SIOCGIFINDEX, SIOCGSKNS = 0x8912, 0x8933, 0x894C
SO_BINDTODEVICE, SO_BINDTOIFINDEX, IP_OPTIONS, IPV6_RTHDR, SO_NETNS_COOKIE = 25, 62, 4, 57, 71
host, port = sys.argv[1], int(sys.argv[2])
address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0][4]


def fresh(**_):
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def connected(prepare=lambda s: None):
    s = fresh()
    prepare(s)
    s.connect(address)
    return s


def kind(s):
    s.sendall(b"ping")
    assert s.recv(4) == b"ping"
    return "host" if s.getpeername()[0] == "127.0.0.1" else "standin"


def outcome(call):
    try:
        call()
        return "done"
    except OSError as error:
        return "EOPNOTSUPP" if error.errno == errno.EOPNOTSUPP else errno.errorcode[error.errno]


def registered():
    s, poll = fresh(), select.epoll()
    poll.register(s, select.EPOLLIN | select.EPOLLOUT)
    s.connect(address)
    assert poll.poll(20), "its loop is told"
    return kind(s)


def duplicated():
    s = fresh()
    other = s.dup()
    s.connect(address)
    return kind(s) if kind(s) == kind(other) else "two"


def inherited():
    s = fresh()
    begin, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.read(begin, 1)
        os._exit(0)
    s.connect(address)
    os.close(end)
    os.waitpid(child, 0)
    return kind(s)


def bound():
    s = fresh()
    s.bind(("127.0.0.1", 0))
    s.connect(address)
    return kind(s)


def unblocking():
    s = fresh()
    s.setblocking(False)
    r = s.connect_ex(address)
    assert r in (0, errno.EINPROGRESS), r
    select.select([], [s], [])
    assert not s.getblocking() and not os.get_blocking(s.fileno())
    s.setblocking(True)
    return kind(s)


def options():
    def prepare(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 40000)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77)
        s.set_inheritable(True)

    s = connected(prepare)
    told = [
        s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2,
        s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
        s.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        int(s.get_inheritable()),
        int(connected().get_inheritable()),
    ]
    return kind(s) + " " + " ".join(map(str, told))


def ioctl(request):
    def call(s):
        import fcntl

        fcntl.ioctl(s, request, bytearray(64))

    return call


def option(level, name, value):
    return lambda s: s.setsockopt(level, name, value)


def raw_connect(s, family):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(s.fileno(), struct.pack("=H14x", family), 16) < 0:
        raise OSError(ctypes.get_errno(), "connect")


source_route = bytes([131, 7, 4]) + socket.inet_aton("127.0.0.9") + b"\0"
WALLS = {
    "connect": lambda s: s.connect(("127.0.0.1", port)),
    "connect6": lambda s: raw_connect(s, socket.AF_INET6),
    "disconnect": lambda s: raw_connect(s, socket.AF_UNSPEC),
    "bind": lambda s: s.bind(("127.0.0.1", 0)),
    "listen": lambda s: s.listen(1),
    "sendto": lambda s: s.sendto(b"x", ("127.0.0.1", port)),
    "fastopen": lambda s: s.sendto(b"x", MSG_FASTOPEN, ("127.0.0.1", port)),
    "fastopen-sendmsg": lambda s: s.sendmsg([b"x"], [], MSG_FASTOPEN, ("127.0.0.1", port)),
    "fastopen-option": option(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1),
    "interfaces": ioctl(SIOCGIFCONF),
    "interface": ioctl(SIOCGIFINDEX),
    "namespace": ioctl(SIOCGSKNS),
    "to-device": option(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo\0"),
    "to-index": option(socket.SOL_SOCKET, SO_BINDTOIFINDEX, 1),
    "source-route": option(socket.IPPROTO_IP, IP_OPTIONS, source_route),
    "routing-header": option(socket.IPPROTO_IPV6, IPV6_RTHDR, b"\0" * 8),
    "ulp": option(socket.IPPROTO_TCP, TCP_ULP, b"tls"),
}


def walls():
    s = connected()
    for name, call in WALLS.items():
        print(f"{name}: {outcome(lambda: call(s))}", flush=True)
    # another thread's or process's hand reaches no further
    if os.fork() == 0:
        print(f"child-disconnect: {outcome(lambda: WALLS['disconnect'](s))}", flush=True)
        os._exit(0)
    os.wait()
    left, right = socket.socketpair()
    socket.send_fds(left, [b"x"], [s.fileno()])
    passed = socket.socket(fileno=socket.recv_fds(right, 1, 1)[1][0])
    print(f"passed-disconnect: {outcome(lambda: WALLS['disconnect'](passed))}")
    return kind(s)


def without():
    """What a socket of the sandbox's own may do all the same, and what none may."""
    s = fresh()
    for name in ("interfaces", "fastopen", "fastopen-sendmsg", "fastopen-option", "bind", "listen"):
        print(f"{name}: {outcome(lambda: WALLS[name](s))}", flush=True)
    return kind(connected())


def shut_down():
    """A socket that has been shut down both ways leads nowhere else either."""
    s = connected()
    s.shutdown(socket.SHUT_RDWR)
    return outcome(lambda: WALLS["disconnect"](s)) + " " + outcome(lambda: s.connect(("127.0.0.1", port)))


def echoes(s):
    try:
        s.sendall(b"x")
        return s.recv(1) != b""
    except OSError:
        return False


def held():
    """Until it is cut: what the end looks like."""
    s = connected()
    print("held:", kind(s), flush=True)
    while echoes(s):
        time.sleep(0.01)
    return "cut"


def hidden():
    """In a message that nobody receives, but for moments."""
    s = connected()
    print("hidden:", kind(s), flush=True)
    left, right = socket.socketpair()
    socket.send_fds(left, [b"x"], [s.fileno()])
    s.close()
    time.sleep(100)
    return "lived on"


def apart():
    """By a thread with descriptors of its own, when the others have closed theirs."""
    import ctypes
    import threading

    CLONE_FILES = 0x400
    s = connected()
    kept, closed = threading.Event(), threading.Event()

    def keep():
        assert ctypes.CDLL(None).unshare(CLONE_FILES) == 0
        kept.set()
        closed.wait()
        print("apart:", kind(s), flush=True)
        while os.write(s.fileno(), b"x") and os.read(s.fileno(), 1):
            time.sleep(0.01)

    def quietly():
        try:
            keep()
        except OSError:
            pass

    thread = threading.Thread(target=quietly)
    thread.start()
    kept.wait()
    number = s.fileno()
    os.close(number)  # the first thread's
    closed.set()
    thread.join()
    return "cut"


def closing():
    """Closed, and the server knows at once."""
    s = connected()
    text = kind(s)
    s.close()
    return text


def blocking():
    return kind(connected())


def cookies():
    s, own = connected(), fresh()
    read = [array.array("Q", x.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))[0] for x in (s, own)]
    return "alike" if read[0] == read[1] else "other"


for case in sys.argv[3:]:
    print(f"{case}: {globals()[case.replace('-', '_')]()}", flush=True)
