"""What the fault tests in Python share: a home with a broker of its own, and a client that speaks the protocol.

A claim is one line `claim TIMES LOST WHAT` on stdout, which tests/fault/run collects into its table: what was done, how
often, and how often something was lost. Anything lost makes the program end with 1.
"""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(os.environ["SBX_BIN"])
ROUNDS = float(os.environ.get("SBX_FAULT_ROUNDS", "1"))
PATIENCE_S = 60  # for what comes at once but on a machine that is busy with others


class Gone(Exception):
    """The broker hung up, or is not there."""


class Denied(Exception):
    """The broker answered with an error."""


def claim(what, times, lost):
    print(f"claim {times} {lost} {what}", flush=True)
    return lost == 0


def wait_for(condition, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


class Client:
    """One connection; keeps what is pushed in `pushes`."""

    def __init__(self, path, protocol=7, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.pushes = collections.deque()
        self.last = 0
        try:
            self.socket.connect(str(path))
        except OSError as error:
            raise Gone(str(error)) from error
        if hello:
            self.greeting = self.call("hello", protocol=protocol, version="fault")

    def close(self):
        self.socket.close()

    def send(self, type_, /, **body):
        self.last += 1
        try:
            self.socket.send(json.dumps({"type": type_, "id": self.last, **body}).encode())
        except OSError as error:
            raise Gone(str(error)) from error
        return self.last

    def receive(self):
        try:
            data = self.socket.recv(1 << 17)
        except TimeoutError as error:
            raise AssertionError("silence: no answer and no end of the connection") from error
        except OSError as error:
            raise Gone(str(error)) from error
        if not data:
            raise Gone("closed")
        return json.loads(data)

    def reply(self, number):
        while True:
            message = self.receive()
            push = message["type"] in ("prompt", "prompt-gone") or "id" not in message
            if not push and message["id"] == number:
                if message["type"] == "error":
                    raise Denied(message["message"])
                return message
            self.pushes.append(message)

    def call(self, type_, /, **body):
        return self.reply(self.send(type_, **body))

    def push(self, kind):
        while True:
            for message in self.pushes:
                if message["type"] == kind:
                    self.pushes.remove(message)
                    return message
            self.pushes.append(self.receive())

    def pages(self, what, /, **body):
        cursor = None
        while True:
            page = self.call("list", what=what, cursor=cursor, **body)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def verify(self):
        """Rows checked; raises when one is bad."""
        cursor = None
        while True:
            page = self.call("verify", cursor=cursor)
            if page["bad"]:
                raise AssertionError(f"the chain is broken: {page['bad']}")
            cursor = page["next"]
            if cursor is None:
                return page["checked"]


class Home:
    """A home directory with everything of sbx in it; `root` may be given."""

    def __init__(self, root=None, programs=BIN):
        base = os.environ.get("SBX_E2E_BASE") or pathlib.Path.home() / ".cache/sbx/e2e"
        os.makedirs(base, exist_ok=True)
        self.made = root is None
        self.root = pathlib.Path(root or tempfile.mkdtemp(prefix="f", dir=base))
        self.programs = programs
        self.project = self.root / "app"
        self.state = self.root / ".local/state/sbx"
        self.database = self.state / "sbx.db"
        self.socket = self.root / "run/sbx/broker.sock"
        for folder in (self.project, self.root / ".config/sbx"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.root / "run").mkdir(mode=0o700, exist_ok=True)
        self.environment = {
            "HOME": str(self.root),
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
        }

    def policy(self, text):
        (self.root / ".config/sbx/policy.yaml").write_text(text)

    def command(self, *words, **options):
        options = {"env": self.environment, "cwd": self.project, "text": True, "stdin": subprocess.DEVNULL, **options}
        return subprocess.run([str(word) for word in words], capture_output=True, timeout=60, check=False, **options)

    def sbx(self, *words, **options):
        return self.command(self.programs / "sbx", *words, **options)

    def start(self, **options):
        """sbxd in the background, as sbx does it; its result."""
        return self.command(self.programs / "sbxd", "--idle", "60s", **options)

    def connect(self, start=True):
        """A client; where no broker serves it is started, as often as that takes."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return Client(self.socket)
            except Gone:
                if not start or time.monotonic() > end:
                    raise
            result = self.start()
            if result.returncode != 0:
                raise Gone(result.stderr.strip())

    def pid(self):
        with contextlib.closing(Client(self.socket)) as client:
            return client.greeting["pid"]

    def end(self, number=signal.SIGTERM):
        """End the broker, if one serves, and wait until it has gone."""
        try:
            pid = self.pid()
            held = os.pidfd_open(pid)
        except (Gone, ProcessLookupError):
            return
        try:
            signal.pidfd_send_signal(held, number)
            wait_for_end(held)
        finally:
            os.close(held)

    def remove(self):
        self.end()
        if self.made:
            shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def wait_for_end(held):
    import select

    poll = select.poll()
    poll.register(held, select.POLLIN)
    if not poll.poll(PATIENCE_S * 1000):
        raise TimeoutError("a process that was killed is still there")


def finish(good):
    sys.exit(0 if good else 1)
