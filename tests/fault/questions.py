"""questions.py: a question that waits on the desktop, in the terminal and in the monitor, while what shows or asks it is killed
(SIGKILL) or has no memory left. Nothing is allowed that nobody allowed, a terminal is as it was unless who uses it was killed,
and what comes next works.
"""

import contextlib
import fcntl
import http.server
import json
import os
import pathlib
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from exhausted import EXIT_NO_MEMORY, Strike, sample
from home import PATIENCE_S, ROUNDS, Denied, Home, claim, finish, wait_for
from runner import mounts, processes

SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))
KILLS = max(1, int(8 * ROUNDS))
TRIES = max(1, int(10 * ROUNDS))
NOTIFIER = os.environ.get("SBX_NOTIFIER")
MONITOR = pathlib.Path(os.environ["SBX_BIN"]) / "sbx-monitor"
# Asked about before the tool starts, and in its call.
POLICY = """
version: 1
prompt: {{timeout: 60s, without-agent: wait}}
profiles:
  default:
    hosts: {{svc.test: 127.0.0.1}}
    ask: {{net:access: ["*"]}}
  early:
    extends: [default]
    ask: {{net:access: ["svc.test:{port}"]}}
"""
DENIED = 3 # the tool's status


class Server(http.server.BaseHTTPRequestHandler):
    reached = 0

    def do_GET(self):  # pylint: disable=invalid-name
        Server.reached += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


# As a shell: the terminal outlives what runs in it. (When the process ends whose session it is, the kernel resets it.)
LEADER = """
import fcntl, json, os, subprocess, sys, termios
told, wait, words, environment = int(sys.argv[1]), int(sys.argv[2]), *map(json.loads, sys.argv[3:])
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
run = subprocess.Popen(words, env=environment)
os.write(told, b"%d " % run.pid)
os.write(told, b"%d " % run.wait())
os.read(wait, 1)
"""


class Terminal:
    """A terminal with a command in it; what it shows is read all the time."""

    def __init__(self, home, words, environment=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.shown = self.told = b""
        self.report, tell = os.pipe()
        wait, self.end = os.pipe()
        environment = {**(environment or home.environment), "TERM": "xterm"}
        words = json.dumps([str(word) for word in words])
        self.leader = subprocess.Popen([sys.executable, "-c", LEADER, str(tell), str(wait), words, json.dumps(environment)],
                                       cwd=home.project, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                       pass_fds=(tell, wait))
        os.close(tell)
        os.close(wait)
        self.ends = {self.report: "told", self.master: "shown"}
        self.closed = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        wait_for(lambda: b" " in self.told, "a command in a terminal")
        self.pid = int(self.told.split()[0])

    def read(self):
        while not self.closed.is_set():
            for end in select.select(list(self.ends), [], [], 0.02)[0]:
                data = os.read(end, 1 << 16)
                setattr(self, self.ends[end], getattr(self, self.ends[end]) + data)
                if not data:
                    del self.ends[end]

    def status(self):
        """As subprocess has it; None while it runs."""
        words = self.told.split()
        return int(words[1]) if self.told.count(b" ") > 1 else None

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        """What still runs in it is killed."""
        if self.status() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, signal.SIGKILL)
        os.close(self.end)
        self.leader.wait(PATIENCE_S)
        self.closed.set()
        self.reader.join(PATIENCE_S)
        for end in (self.master, self.slave, self.report):
            os.close(end)


def wait_until(condition, seconds=PATIENCE_S):
    try:
        wait_for(condition, "", seconds)
        return True
    except TimeoutError:
        return False


def command(port, mark, profile="default"):
    """A tool that wants to reach the server, and says so with its status."""
    script = f'[ -t 0 ] && stty raw -echo; printf "GET / HTTP/1.0\\r\\n\\r\\n" >/dev/tcp/svc.test/{port} || exit {DENIED}; : {mark}'
    return ["sbx", "run", "--profile", profile, "--", "bash", "-c", script]


def pending(home):
    client = home.connect()
    try:
        return list(client.pages("prompts"))
    finally:
        client.close()


def deny_all(home):
    """True when nothing waits any more."""
    client = home.connect()
    for prompt in client.pages("prompts"):
        try:
            client.call("answer", prompt=prompt["id"], token=None, effect="deny", lifetime="once", terminal=True)
        except Denied:
            pass  # gone meanwhile
    client.close()


def allows(home):
    """What the history has as allowed, and the grants: nobody allows anything here."""
    client = home.connect()
    events = [event for event in client.pages("history") if event["verdict"] == "allow" and event["permission"] == "net:access"]
    found = len(events) + sum(1 for grant in client.pages("grants") if grant["effect"] == "allow")
    client.close()
    return found


# No memory


def strike_in_terminal(home, words, number, until=None):
    """The command in a terminal with its n-th allocation failing, until it ends or `until` does what ends it."""
    struck = Strike(home, number)
    terminal = Terminal(home, words, struck.environment)
    deadline = time.monotonic() + PATIENCE_S
    while terminal.status() is None and time.monotonic() < deadline:
        if until:
            until(terminal)
        time.sleep(0.01)
    status = terminal.status()
    wait_until(terminal.is_as_before, 1)
    wrong = []
    if status is None:
        wrong.append("it goes on for ever")
    elif status < 0:
        wrong.append(signal.Signals(-status).name)
    if not terminal.is_as_before():
        wrong.append("the terminal is not as it was")
    if terminal.shown.count(b"\x1b[?1049h") > terminal.shown.count(b"\x1b[?1049l"):
        wrong.append("its other screen is still shown")
    terminal.close()
    return status, wrong, struck.count(), terminal.shown


def strikes_in_terminal(home, chance, what, words, statuses, until=None):
    status, wrong, count, shown = strike_in_terminal(home, words, 1 << 60, until)
    if wrong or status not in statuses:
        raise AssertionError(f"{what}, without a fault: {status}, {wrong}, {shown}")
    early = count // 3  # what any command does: exhausted.py
    numbers = [early + number for number in sample(chance, count - early, TRIES)]
    lost = 0
    for number in numbers:
        status, wrong, _, shown = strike_in_terminal(home, words, number, until)
        if status not in (*statuses, EXIT_NO_MEMORY):
            wrong.append(f"status {status}")
        if Server.reached > 0 or allows(home) > 0:
            wrong.append("something was allowed")
        if wrong:
            print(f"{what}, allocation {number} of {count}: {wrong}: {shown[-300:]}", file=sys.stderr)
        lost += bool(wrong)
        deny_all(home)
    return claim(f"the n-th allocation fails in {what} (n to {count})", len(numbers), lost)


def quit_monitor(terminal):
    """True when it has ended well. What is typed before a new question is thrown away, so once may not do."""
    if terminal.status() is None and b"today: " in terminal.shown:
        os.write(terminal.master, b"q")
    return terminal.status() == 0


def without_memory(home, port, chance):
    return [
        strikes_in_terminal(home, chance, "sbx-monitor: the terminal is as it was", [MONITOR], (0, 1), quit_monitor),
        *(strikes_in_terminal(home, chance, f"`sbx run` that asks in its terminal {when}", command(port, "struck", profile),
                              (DENIED, 125), lambda _: deny_all(home))
          for profile, when in (("early", "before the tool starts"), ("default", "in a call of the tool's"))),
    ]


# The desktop


class Desktop:
    """A session bus and a notification server that shows everything and answers nothing."""

    def __init__(self, home):
        self.home = home
        address = f"unix:path={home.root}/run/bus"
        conf = home.root / "run/bus.conf"
        conf.write_text(f"""<busconfig><type>session</type><listen>{address}</listen><auth>EXTERNAL</auth><policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>""")
        self.environment = {**home.environment, "DBUS_SESSION_BUS_ADDRESS": address}
        self.bus = subprocess.Popen(["dbus-daemon", f"--config-file={conf}", "--nofork", "--nopidfile"], stderr=subprocess.DEVNULL)
        wait_for((home.root / "run/bus").exists, "a bus")
        self.log = home.root / "run/notifier.log"
        with open(self.log, "wb") as log:
            self.server = subprocess.Popen([NOTIFIER], env=self.environment, stdin=subprocess.PIPE, stdout=log)
        wait_for(lambda: b"ready" in self.log.read_bytes(), "a notification server")

    def shown(self):
        """How many notifications it was asked for, so far."""
        return self.log.read_bytes().count(b'"event":"notify"')

    def agent(self, environment=None):
        return subprocess.Popen([self.home.programs / "sbx-notify"], env={**self.environment, **(environment or {})},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def close(self):
        for program in (self.server, self.bus):
            program.kill()
            program.wait()


def agents(home):
    client = home.connect()
    count = client.call("status")["agents"]
    client.close()
    return count


def strike_notify(home, desktop, number):
    """sbx-notify with its n-th allocation failing, while a question waits."""
    runner = home.connect()
    runner.call("session-open", command=["tool"], executable="/usr/bin/tool", project=str(home.project), root=str(home.project),
                cwd=str(home.project))
    runner.send("check", permission="net:access", target="svc.test:1", process="tool")
    wait_for(lambda: len(pending(home)) == 1, "the question")
    before = desktop.shown()
    struck = Strike(home, number)
    agent = desktop.agent(struck.environment)
    there = lambda: agent.poll() is not None or desktop.shown() > before
    here = wait_until(there, 10)
    wrong = []
    waiting = pending(home)
    if len(waiting) != 1:
        wrong.append("the question was answered")
    elif not here and not wait_until(lambda: there() or not pending(home)[0]["desktop"], PATIENCE_S):
        wrong.append("the question is said to be on the desktop, and is not")
    if agent.poll() is None:
        agent.terminate()
    said = agent.stderr.read().decode(errors="replace")
    status = agent.wait(PATIENCE_S)
    if status not in (0, EXIT_NO_MEMORY) and not (status == 1 and said):
        wrong.append(f"it ends with {status}: {said[-200:]}")
    if not wait_until(lambda: agents(home) == 0, 10):
        wrong.append("it still counts as an agent")
    runner.close()
    if not wait_until(lambda: not pending(home), 10):
        wrong.append("who asked has gone, and the question has not")
    return wrong, struck.count()


def strikes_in_notify(home, desktop, chance):
    wrong, count = strike_notify(home, desktop, 1 << 60)
    if wrong:
        raise AssertionError(f"sbx-notify, without a fault: {wrong}")
    numbers = sample(chance, count, TRIES)
    lost = 0
    for number in numbers:
        wrong, _ = strike_notify(home, desktop, number)
        if wrong:
            print(f"sbx-notify, allocation {number} of {count}: {wrong}", file=sys.stderr)
        lost += bool(wrong)
    return claim(f"the n-th allocation fails in sbx-notify while a question waits (n to {count})", len(numbers), lost)


# Kills


class Scene:
    """A question that a tool's call waits for (or the tool itself), with everybody who may show it."""

    def __init__(self, home, desktop, port, mark, profile, shown):
        self.home, self.mark, self.killed = home, mark, set()
        self.notify = desktop.agent() if desktop and shown else None
        self.monitor = Terminal(home, [MONITOR])
        wait_for(lambda: agents(home) == 1 + (self.notify is not None), "the agents")
        self.terminal = Terminal(home, command(port, mark, profile))
        wait_for(lambda: pending(home) or self.terminal.status() is not None, "the question")

    def asking(self):
        """The process that asks in the terminal, in a group of its own: its number."""
        group = os.tcgetpgrp(self.terminal.master)
        return group if group not in (0, self.terminal.leader.pid) else None

    def of_sandbox(self):
        return [pid for pid in processes(self.mark) if pid not in (self.terminal.leader.pid, self.terminal.pid)]

    def tool(self):
        for pid in self.of_sandbox():
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "bash\n":
                    return pid
            except OSError:
                pass
        return None

    def kill(self, what):
        self.killed.add(what)
        if what == "sbxd":
            self.home.end(signal.SIGKILL)
            return
        pid = {"sbx-notify": lambda: self.notify.pid if self.notify else None, "sbx-monitor": lambda: self.monitor.pid,
               "the runner": lambda: self.terminal.pid, "the tool": self.tool, "who asks": self.asking}[what]()
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, signal.SIGKILL)

    def settle(self):
        """Whatever still asks is told no, until the run has ended."""
        end = time.monotonic() + PATIENCE_S
        while self.terminal.status() is None and time.monotonic() < end:
            deny_all(self.home)
            time.sleep(0.02)

    def finish(self):
        """What is wrong now."""
        wrong = []
        self.settle()
        status = self.terminal.status()
        if "the runner" not in self.killed and status not in (DENIED, 125, 128 + signal.SIGKILL):
            wrong.append(f"sbx run: {status}")
        if "the runner" not in self.killed and not wait_until(self.terminal.is_as_before, 5):
            wrong.append("the terminal is not as it was")
        if not wait_until(lambda: not self.of_sandbox(), 10):
            wrong.append("a process of the sandbox is left")
        if "sbx-monitor" not in self.killed:
            if not wait_until(lambda: quit_monitor(self.monitor) and self.monitor.is_as_before(), 10):
                wrong.append(f"the monitor: {self.monitor.status()}, as before: {self.monitor.is_as_before()}")
        if self.notify:
            self.notify.terminate()
            self.notify.stderr.close()
            if self.notify.wait(PATIENCE_S) not in ((0, -signal.SIGKILL) if "sbx-notify" in self.killed else (0,)):
                wrong.append(f"sbx-notify: {self.notify.returncode}")
        if wrong:
            print(self.terminal.shown[-600:], self.monitor.shown[-200:], file=sys.stderr)
        self.monitor.close()
        self.terminal.close()
        return wrong


def kills(home, desktop, port, chance):
    everybody = ["sbx-notify", "sbx-monitor", "sbxd", "the runner", "the tool", "who asks"]
    before, lost = mounts(), 0
    for number in range(KILLS):
        profile = ["default", "early"][number // 2 % 2]
        scene = Scene(home, desktop, port, f"fault-mark-{os.getpid()}-{number}", profile, number % 2 == 0)
        victims = [everybody[number % len(everybody)], chance.choice(everybody)]
        for victim in victims:
            time.sleep(chance.uniform(0, 0.3))
            scene.kill(victim)
        wrong = scene.finish()
        if Server.reached > 0 or allows(home) > 0:
            wrong.append("something was allowed")
        if not wait_until(lambda: agents(home) == 0, 10):
            wrong.append("somebody still counts as an agent")
        if mounts() != before:
            wrong.append("a mount is left")
        after = home.sbx("run", "--", "true")
        if after.returncode != 0:
            wrong.append(f"the next run: {after.stderr}")
        if wrong:
            print(f"{victims} killed at a question of {profile}: {wrong}", file=sys.stderr)
        lost += bool(wrong)
    return claim("killed at a question on the desktop, in the terminal and the monitor: two of those, sbxd, runner, tool", KILLS, lost)


def main():
    print(f"seed {SEED}", file=sys.stderr)
    chance = random.Random(SEED)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    with Home() as home:
        home.environment["SBX_NO_NOTIFY"] = "1"
        home.policy(POLICY.format(port=port))
        home.connect().close()
        desktop = Desktop(home) if NOTIFIER else None
        try:
            good = [kills(home, desktop, port, chance), *without_memory(home, port, chance)]
            if desktop:
                good.append(strikes_in_notify(home, desktop, chance))
        finally:
            if desktop:
                desktop.close()
    finish(all(good))


if __name__ == "__main__":
    main()
