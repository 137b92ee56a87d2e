"""runner.py: kill -9 of sbxd under a running `sbx run`, of the runner, and of agents; with the real programs."""

import http.server
import os
import random
import signal
import subprocess
import sys
import threading
import time

from home import ROUNDS, Gone, Home, claim, finish, wait_for

SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))
KILLS = max(1, int(8 * ROUNDS))
POLICY = """
version: 1
prompt: {{timeout: {timeout}, without-agent: {absent}}}
permissions: {{db:access: use the database}}
profiles:
  default:
    hosts: {{svc.test: 127.0.0.1}}
    allow:
      net:access: ["svc.test:{port}"]
    ask:
      db:access: ["*"]
"""
# The tool: one connection that is kept, and new ones until it is told to end. One line each.
TOOL = """
import http.client, os, sys, time
def connect():
    return http.client.HTTPConnection("svc.test", int(sys.argv[1]), timeout=20)
def get(connection):
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        return str(answer.status)
    except Exception as error:
        return type(error).__name__
kept = connect()
while not os.path.exists("end"):
    fresh = connect()
    print("new", get(fresh), flush=True)
    fresh.close()
    print("kept", get(kept), flush=True)
    time.sleep(0.01)
"""


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def processes(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sorted(line.split()[4] for line in file)


class Tool:
    """The tool in its sandbox, with its lines so far."""

    def __init__(self, home, port, mark):
        (home.project / "end").unlink(missing_ok=True)
        (home.project / "tool.py").write_text(TOOL)
        self.end = home.project / "end"
        self.mark = mark
        self.lines = []
        self.run = subprocess.Popen([home.programs / "sbx", "run", "--", "/usr/bin/python3", "tool.py", str(port), mark],
                                    cwd=home.project, env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        threading.Thread(target=lambda: self.lines.extend(self.run.stdout), daemon=True).start()
        wait_for(lambda: self.run.poll() is not None or "new 200\n" in self.lines, "the tool never got through")
        if self.run.poll() is not None:
            raise RuntimeError(self.run.stderr.read())

    def goes_on(self, kind):
        seen = len(self.lines)
        try:
            wait_for(lambda: f"{kind} 200\n" in self.lines[seen:], kind)
            return True
        except TimeoutError:
            print(f"after {self.lines[max(0, seen - 4):seen]}: {self.lines[seen:][-6:]}", file=sys.stderr)
            return False

    def finish(self):
        self.end.touch()
        return self.run.wait(30)


def brokers(home, port, chance):
    """sbxd dies under it: what lives lives on, new ones work again as soon as another serves."""
    lost = {"a new connection works again": 0, "the connection that lived lives on": 0, "the tool ends with its own status": 0,
            "its session is known to the new sbxd": 0, "the history is whole": 0}
    tool = Tool(home, port, "fault-mark-broker")
    for _ in range(KILLS):
        time.sleep(chance.uniform(0, 0.2))
        home.end(signal.SIGKILL)
        lost["a new connection works again"] += not tool.goes_on("new")
        lost["the connection that lived lives on"] += not tool.goes_on("kept")
        try:
            client = home.connect()
            wait_for(lambda: len(list(client.pages("sessions"))) == 1, "the session")  # pylint: disable=cell-var-from-loop
            client.verify()
            client.close()
        except (TimeoutError, Gone):
            lost["its session is known to the new sbxd"] += 1
        except AssertionError:
            lost["the history is whole"] += 1
    lost["the tool ends with its own status"] += tool.finish() != 0
    return all([claim(f"sbxd killed under `sbx run`: {what}", KILLS, count) for what, count in lost.items()])


def runners(home, port, chance):
    lost = {"a process of the sandbox is left": 0, "its session runs on in sbxd": 0, "a mount is left on the host": 0}
    before = mounts()
    for number in range(KILLS):
        mark = f"fault-mark-runner-{number}"
        tool = Tool(home, port, mark)
        time.sleep(chance.uniform(0, 0.1))
        tool.run.kill()
        tool.run.wait()
        try:
            wait_for(lambda: not processes(mark), "processes")  # pylint: disable=cell-var-from-loop
        except TimeoutError:
            lost["a process of the sandbox is left"] += 1
        client = home.connect()
        try:
            wait_for(lambda: not list(client.pages("sessions")), "sessions")  # pylint: disable=cell-var-from-loop
        except TimeoutError:
            lost["its session runs on in sbxd"] += 1
        client.close()
        lost["a mount is left on the host"] += mounts() != before
    return all([claim(f"runner killed: {what}", KILLS, count) for what, count in lost.items()])


def agents(home, port, chance):
    """An agent dies while a prompt waits: another answers it, or nobody does and it is denied at its deadline."""
    silent = wrong = 0
    for number in range(KILLS):
        absent = ["wait", "deny"][number % 2]
        home.policy(POLICY.format(port=port, absent=absent, timeout="3s" if absent == "deny" else "30s"))
        home.end()
        agent = subprocess.Popen([home.programs / "sbx", "prompts", "--follow"], env=home.environment, cwd=home.project,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        client = home.connect()
        wait_for(lambda: client.call("status")["agents"] == 1, "the agent")  # pylint: disable=cell-var-from-loop
        asker = subprocess.Popen([home.programs / "sbx", "check", "db:access", f"name-{number}"], env=home.environment,
                                 cwd=home.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_for(lambda: list(client.pages("prompts")) or asker.poll() is not None, "the prompt")  # pylint: disable=cell-var-from-loop
        time.sleep(chance.uniform(0, 0.05))
        agent.kill()
        agent.wait()
        if absent == "wait":
            prompt = next(iter(client.pages("prompts")))
            client.call("answer", prompt=prompt["id"], token=None, effect="allow", lifetime="once", terminal=True)
        try:
            wrong += asker.wait(10) != (0 if absent == "wait" else 1)
        except subprocess.TimeoutExpired:
            silent += 1
            asker.kill()
        client.close()
    return all([claim("agent killed while a prompt waits: who asked waits for ever", KILLS, silent),
                claim("agent killed while a prompt waits: another's answer counts, or it is denied at its deadline", KILLS, wrong)])


def main():
    print(f"seed {SEED}", file=sys.stderr)
    chance = random.Random(SEED)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.handle_error = lambda *_: None  # connections are cut here all the time
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    with Home() as home:
        home.policy(POLICY.format(port=port, absent="wait", timeout="30s"))
        good = all([brokers(home, port, chance), runners(home, port, chance), agents(home, port, chance)])
    finish(good)


if __name__ == "__main__":
    main()
