#!/usr/bin/env python3
"""questions.py BIN FOLDER ROUNDS SERVER: how long a question takes until somebody sees it, in turns with a bare notify-send to the same
notification server; and what the desktop's two programs have in memory. FOLDER has files 0 … ROUNDS-1 and t0 … in it that are asked
about. Prints rows of two tables. Times are those of CLOCK_MONOTONIC, which all processes of a machine share; what goes over the bus is
seen by a monitor (busctl), the same way for all."""
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time

BIN, FOLDER, ROUNDS, SERVER = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
PATIENCE_S = 20
REALTIME_US = (time.time_ns() - time.monotonic_ns()) / 1000  # busctl says when it received a message by that clock


def now_us():
    return time.monotonic_ns() / 1000


class Lines:
    """What a program writes, line by line, none later than PATIENCE_S."""

    def __init__(self, descriptor):
        self.descriptor, self.rest = descriptor, b""

    def next(self, what):
        while b"\n" not in self.rest:
            if not select.select([self.descriptor], [], [], PATIENCE_S)[0]:
                sys.exit(f"questions.py: {what}: nothing came")
            data = os.read(self.descriptor, 1 << 16)
            if not data:
                sys.exit(f"questions.py: {what}: it has ended")
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()


class Bus:
    """When notifications are asked for, and when the server has answered."""

    def __init__(self):
        self.monitor = subprocess.Popen(
            ["busctl", "--user", "--json=short", "monitor", "--match", "interface=org.freedesktop.Notifications", "--match", "type=method_return"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        Lines(self.monitor.stderr.fileno()).next("busctl monitor")
        self.lines = Lines(self.monitor.stdout.fileno())

    def shown(self, text):
        """of the notification with that text: (asked for, answered, its id)"""
        call = None
        while True:
            message = json.loads(self.lines.next(f"a notification of {text}"))
            if call is None and message.get("member") == "Notify" and text in json.dumps(message["payload"]):
                call, asked = (message["sender"], message["cookie"]), message["timestamp-realtime"] - REALTIME_US
            elif call and message["type"] == "method_return" and (message.get("destination"), message.get("reply_cookie")) == call:
                return asked, message["timestamp-realtime"] - REALTIME_US, message["payload"]["data"][0]

    def end(self):
        self.monitor.terminate()
        self.monitor.wait()


class Agent:
    """Somebody who answers, at the broker; what it is told is the broker's word that there is a question."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(os.environ["XDG_RUNTIME_DIR"] + "/sbx/broker.sock")
        self.number = 0
        self.send({"type": "hello", "protocol": 7, "version": "questions.py"})
        self.send({"type": "agent", "kind": "tui", "session": None})

    def send(self, message):
        self.number += 1
        self.socket.send(json.dumps({**message, "id": self.number}).encode())

    def asked(self, path):
        while True:
            message = json.loads(self.socket.recv(1 << 17))
            if message["type"] == "prompt" and message["target"] == path:
                return now_us(), message

    def allow(self, prompt):
        self.send({"type": "answer", "prompt": prompt["id"], "token": prompt["token"], "effect": "allow", "lifetime": "session",
                   "scope": "exact", "terminal": True})


class Sandbox:
    """A tool that opens what it is told to (files_load.c)."""

    def __init__(self, tty=None, **environment):
        jobs, self.jobs = os.pipe()
        answers, answered = os.pipe()

        def take_terminal():
            os.setsid()
            if tty is not None:
                import fcntl
                import termios

                fcntl.ioctl(tty, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([BIN + "/sbx", "run", "--", BIN + "/files_load"], stdin=jobs, stdout=answered, stderr=tty,
                                        preexec_fn=take_terminal, env={**os.environ, **environment})
        os.close(jobs)
        os.close(answered)
        self.answers = Lines(answers)

    def opens(self, path):
        os.write(self.jobs, f"read\t1\t{path}\n".encode())

    def began(self):
        begin, _, outcome = self.answers.next("the sandbox").split()
        if outcome != "ok":
            sys.exit(f"questions.py: the call came out as {outcome}")
        return int(begin) / 1000

    def end(self):
        os.close(self.jobs)
        self.process.wait()


def close_notification(number):
    subprocess.run(["busctl", "--user", "call", "org.freedesktop.Notifications", "/org/freedesktop/Notifications",
                    "org.freedesktop.Notifications", "CloseNotification", "u", str(number)], check=True, stdout=subprocess.DEVNULL)


def desktop(times):
    bus, agent, sandbox = Bus(), Agent(), Sandbox(SBX_NO_NOTIFY="")
    for number in range(ROUNDS + 1):  # the first one warms up
        text = f"bare-{number}."
        begin = now_us()
        subprocess.run(["notify-send", "--urgency", "critical", "--icon", "dialog-question", "sbx", text], check=True)
        asked, answered, notification = bus.shown(text)
        close_notification(notification)
        if number:
            times["bare asked"].append(asked - begin)
            times["bare shown"].append(answered - begin)
        path = f"{FOLDER}/{number}"
        sandbox.opens(path)
        pushed, prompt = agent.asked(path)
        asked, answered, notification = bus.shown(path.rsplit("/", 2)[1] + "/" + str(number))
        agent.allow(prompt)
        begin = sandbox.began()
        if number:
            times["pushed"].append(pushed - begin)
            times["asked"].append(asked - begin)
            times["shown"].append(answered - begin)
            times["push to asked"].append(asked - pushed)
    memory = {name: private_kb(process_of(name)) for name in ("sbx-notify", "sbx-notify-show")}
    os.kill(process_of("sbx-notify"), signal.SIGTERM)
    sandbox.end()
    bus.end()
    return memory


def terminal(times):
    """Without the desktop, whose agent has ended: when the target is on the terminal."""
    screen, tty = pty.openpty()
    agent, sandbox = Agent(), Sandbox(tty, SBX_NO_NOTIFY="1")
    for number in range(ROUNDS + 1):
        path, seen = f"{FOLDER}/t{number}", b""
        sandbox.opens(path)
        while path.rsplit("/", 1)[1].encode() not in seen.replace(b"\x1b[0m", b""):
            if not select.select([screen], [], [], PATIENCE_S)[0]:
                sys.exit(f"questions.py: the terminal shows no question: {seen}")
            seen += os.read(screen, 1 << 16)
        shown = now_us()
        pushed, prompt = agent.asked(path)
        agent.allow(prompt)
        begin = sandbox.began()
        if number:
            times["terminal"].append(shown - begin)
    sandbox.end()


def process_of(name):
    """the process of that name that was started with this benchmark's home"""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/comm") as comm, open(f"/proc/{process}/environ", "rb") as environment:
                if comm.read().strip() == name[:15] and f"HOME={os.environ['HOME']}".encode() in environment.read().split(b"\0"):
                    return int(process)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
    sys.exit(f"questions.py: {name} doesn't run")


def private_kb(process):
    """what no other process shares"""
    with open(f"/proc/{process}/smaps_rollup") as sums:
        return sum(int(line.split()[1]) for line in sums if line.startswith("Private_"))


ROWS = (("bare asked", f"`notify-send`, from its start → {SERVER} is asked"), ("bare shown", f"`notify-send`, from its start → {SERVER} has it"),
        ("pushed", "a held call → the question is at an agent"), ("asked", f"a held call → {SERVER} is asked"), ("shown", f"a held call → {SERVER} has it"),
        ("push to asked", f"the question is at an agent → {SERVER} is asked"), ("terminal", "a held call → the question is on the terminal"))

measured = {name: [] for name, _ in ROWS}
kilobytes = desktop(measured)
terminal(measured)
for name, title in ROWS:
    values = sorted(measured[name])
    print(f"| {title} | {values[len(values) // 2] / 1000:.2f} ms | {values[-1] / 1000:.2f} ms |")
print("\n| private memory, after these questions | |\n|---|---:|")
for name, value in kilobytes.items():
    print(f"| `{name}` | {value / 1000:.2f} MB |")
