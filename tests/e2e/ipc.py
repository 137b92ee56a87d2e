#!/usr/bin/env python3
"""Unix sockets for ipc.bats: servers on the host, and what a tool does inside.

serve PATH      a stream socket that says "hello" to whoever comes, and keeps the connection until the other end closes it
mail PATH LOG   a datagram socket; what comes is appended to LOG, a line each
connect PATH    says what the server says, then how long the connection lasts: "ended" when it is ended
send PATH TEXT  sendto(2); message PATH TEXT: sendmsg(2), which no filter can look into
own             servers and clients that are all of the sandbox
"""
import os
import socket
import sys
import threading


def listener(path, kind=socket.SOCK_STREAM):
    with_kind = socket.socket(socket.AF_UNIX, kind)
    if os.path.exists(path):
        os.unlink(path)
    with_kind.bind(path)
    if kind != socket.SOCK_DGRAM:
        with_kind.listen(8)
    return with_kind


def say(*words):
    print(*words, flush=True)


def greet(peer):
    peer.sendall(b"hello\n")
    while peer.recv(100):
        pass
    peer.close()


def serve(path):
    server = listener(path)
    say("ready")
    while True:
        peer, _ = server.accept()
        threading.Thread(target=greet, args=[peer], daemon=True).start()


def mail(path, log):
    box = listener(path, socket.SOCK_DGRAM)
    say("ready")
    while True:
        text = box.recv(1000)
        with open(log, "ab") as file:
            file.write(text + b"\n")


def attempt(what, function, *arguments):
    try:
        function(*arguments)
        say(what, "worked")
        return True
    except OSError as error:
        say(what, error.strerror)
        return False


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    if attempt("connect:", client.connect, path):
        say(client.recv(100).decode().strip())
        if not client.recv(1):
            say("ended")


def send(path, text):
    box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    attempt("sendto:", box.sendto, text.encode(), path)


def message(path, text):
    box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    attempt("sendmsg:", box.sendmsg, [text.encode()], [], 0, path)


def own():
    for name, kind in (("own.sock", socket.SOCK_STREAM), ("/tmp/own.sock", socket.SOCK_SEQPACKET),
                       ("\0sbx-own", socket.SOCK_STREAM)):
        server = listener(name, kind) if name[0] != "\0" else socket.socket(socket.AF_UNIX, kind)
        if name[0] == "\0":
            server.bind(name)
            server.listen(8)
        client = socket.socket(socket.AF_UNIX, kind)
        attempt(repr(name), client.connect, name)
        server.accept()[0].send(b"x")
        assert client.recv(1) == b"x"
    box = listener("own.mail", socket.SOCK_DGRAM)
    send("own.mail", "a")
    message("own.mail", "b")
    assert box.recv(9) + box.recv(9) == b"ab"
    os.unlink("own.sock")
    os.unlink("own.mail")


COMMANDS = {"serve": serve, "mail": mail, "connect": connect, "send": send, "message": message, "own": own}
COMMANDS[sys.argv[1]](*sys.argv[2:])
