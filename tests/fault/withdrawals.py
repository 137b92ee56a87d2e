"""withdrawals.py: a right ends (revoked, expired, denied, by a rule) while a process on the way is stopped, killed or kept busy, and
while the tool makes trouble. Two seconds later nothing is read or written through it, in this sandbox or in another one of the user's,
and what sbx said about it was true.
"""

import datetime
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

from home import PATIENCE_S, ROUNDS, Home, claim, finish, wait_for

SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))
COUNT = max(1, int(10 * ROUNDS))
TOOL = pathlib.Path(os.environ["SBX_FAULT"]) / "withdrawn_tool"
DEADLINE_S = 2
# Stopping a sandbox whole takes its time where it has hundreds of processes on a busy machine, and the command its own until sbxd has
# read it. To this comes what the machine was late by itself (Beat).
SLACK_S = 2.0
BEAT_S = 0.01
HEALED_LATER_S = 0.3  # by which a use is seen that comes when who was stopped goes on
WATCH_S = 1.0  # how long nothing may be used after the deadline, with nobody stopped any more
LIFETIME_S = 12
MANY = 200
WAYS = 6
WRITTEN = {1: "by-name", 3: "by-working-folder", 5: "by-open-folder"}  # withdrawn_tool.c, ways[]
POLICY = """
version: 1
prompt: {{without-agent: deny}}
profiles:
  default:
    doorbell: {doorbell}
    limits: {{processes: 200}}
    ask: {{fs:read: [~/asked]}}
{deny}
"""
DENY = "    deny: {{fs:read: [{folder}]}}\n"


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Beat(threading.Thread):
    """How late a process is woken that asks for nothing else: on an overloaded machine sbxd is as late, by seconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late = 0.0
        self.start()

    def run(self):
        while True:
            before = now()
            time.sleep(BEAT_S)
            self.late = max(self.late, now() - before - BEAT_S)


class Tool:
    """One sandbox with tests/fault/withdrawn_tool.c in it."""

    def __init__(self, home, name, trouble):
        self.granted = home.root / "granted"
        self.project = home.root / name
        self.project.mkdir(exist_ok=True)
        (self.project / "tool").unlink(missing_ok=True)  # one of the round before may still be on its way out
        shutil.copy(TOOL, self.project / "tool")
        self.times_file = self.project / "times"
        self.times_file.unlink(missing_ok=True)
        self.words = []
        self.said = open(home.root / f"{name}.said", "w+", encoding="utf-8")  # pylint: disable=consider-using-with
        self.run = subprocess.Popen([home.programs / "sbx", "run", "--project", self.project, "--", "./tool", "times",
                                     home.root / "granted", trouble], cwd=self.project, env=home.environment, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.said)
        threading.Thread(target=lambda: self.words.extend(self.run.stdout), daemon=True).start()

    def is_up(self):
        if self.run.poll() is not None:
            raise RuntimeError(f"the tool has ended: {self.complaint()}")
        return self.words and all(began for began, _ in self.times())

    def complaint(self):
        return pathlib.Path(self.said.name).read_text(encoding="utf-8")

    def times(self):
        """For each way: when the last try that worked began and ended."""
        with open(self.times_file, "rb") as file, mmap.mmap(file.fileno(), 16 * WAYS, access=mmap.ACCESS_READ) as words:
            numbers = struct.unpack(f"{2 * WAYS}q", words[:])
        return [(numbers[i] / 1e9, numbers[i + 1] / 1e9) for i in range(0, 2 * WAYS, 2)]

    def last_written(self, name):
        """When the try began whose bytes the host's file has: in the sandbox's own home the tool may write as it likes; and what it had
        open already it may write to. A file that was emptied, and not written to yet, was opened when it was changed."""
        written = (self.granted / name).read_bytes()
        if len(written) == 8:
            return struct.unpack("q", written)[0] / 1e9
        return (self.granted / name).stat().st_mtime + now() - time.time()

    def last_use(self):
        """When the last try that worked began."""
        uses = [began for began, _ in self.times()]
        for way, name in WRITTEN.items():
            uses[way] = self.last_written(name)
        return max(uses)

    def portal(self):
        children = pathlib.Path(f"/proc/{self.run.pid}/task/{self.run.pid}/children").read_text(encoding="utf-8").split()
        for child in children:
            if pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8").strip() == "sbx-portal":
                return int(child)
        raise RuntimeError("there is no portal")

    def end(self):
        if self.run.poll() is None:
            self.run.kill()
        self.run.wait(PATIENCE_S)
        self.said.close()


# What is done to the processes on the way; each gives what heals it.

def leave(_home, _tool):
    return lambda: None


def stop(pid):
    def heal():
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # sbxd has ended it
    os.kill(pid, signal.SIGSTOP)
    return heal


def stop_runner(_home, tool):
    return stop(tool.run.pid)


def stop_portal(_home, tool):
    return stop(tool.portal())


def kill_portal(_home, tool):
    os.kill(tool.portal(), signal.SIGKILL)
    return lambda: None


def fill_queue(home, tool):
    """Grants that a portal which is stopped doesn't get to put in."""
    heal = stop(tool.portal())
    for number in range(20):
        (home.root / "many" / str(number)).touch()
        home.sbx("grant", "fs:read", home.root / "many" / str(number), "--any-profile", "--anywhere", "--no-wait")
    return heal


WEDGES = {"nobody": leave, "the runner stopped": stop_runner, "the portal stopped": stop_portal, "the portal killed": kill_portal,
          "the portal's queue full": fill_queue}
TROUBLES = {"none": "nothing", "flight": "descriptors in flight up to the kernel's limit", "curtain": "a busy FUSE server",
            "traps": "a storm of trapped calls", "memory": "forks of 16 GiB under its own mmap lock",
            "multiply": "processes that multiply", "writer": "a file that is written to"}


# How the right ends; each returns the command that says so, or None.

def command(home, *words):
    return subprocess.Popen([home.programs / "sbx", *map(str, words)], cwd=home.project, env=home.environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def revoke(home, grant, _doorbell):
    return command(home, "revoke", grant["id"])


def revoke_all(home, _grant, _doorbell):
    return command(home, "revoke", "--all")


def deny(home, _grant, _doorbell):
    return command(home, "grant", "--deny", "fs:read", home.root / "granted", "--any-profile", "--anywhere")


def write_rule(home, _grant, doorbell):
    home.policy(POLICY.format(doorbell=doorbell, deny=DENY.format(folder=home.root / "granted")))


def expire(_home, grant, _doorbell):
    time.sleep(max(0, grant["ends"] - now()))


ROWS = {"revoke": ("revoke",), "revoke --all": ("revoke",), "a denial": ("grant", "deny"), "a rule": ("policy",), "its time": ("expire",)}
ENDS = {"revoke": revoke, "revoke --all": revoke_all, "a denial": deny, "a rule": write_rule, "its time": expire}


def make_grant(home, ends_itself):
    lifetime = f"{LIFETIME_S}s" if ends_itself else "1h"
    made = now()
    home.sbx("grant", "fs:write", home.root / "granted", "--any-profile", "--anywhere", "--ttl", lifetime)
    grants = json.loads(home.sbx("grants", "--json").stdout)
    return {"id": grants[0]["id"], "ends": made + LIFETIME_S}


def make_many(home):
    client = home.connect()
    for number in range(MANY):
        (home.root / "many" / str(number)).touch()
        client.call("grant", permission="fs:read", target=str(home.root / "many" / str(number)), effect="allow", lifetime="until",
                    ttl_ms=3_600_000)
    client.close()


def ended_at(home, began, end):
    """By the history: when sbxd has taken note of the end, which was wanted when `began`."""
    ago = now() - time.time()
    # Not all of it: with hundreds of processes that multiply a long list takes minutes.
    for line in home.sbx("history", "--json", "--since", "3m").stdout.splitlines():
        row = json.loads(line)
        at = datetime.datetime.fromisoformat(row["time"]).timestamp() + ago
        if at >= began - 0.01 and (row["kind"], row["verdict"])[:len(ROWS[end])] == ROWS[end]:
            return at
    raise RuntimeError("the history has no end")


class Results:
    def __init__(self):
        self.longest = 0.0
        self.late = self.untrue = self.ended = self.unhurt_ended = self.other = 0
        self.beat = Beat()


def judge(case, ends, began, said, results):
    """ends: for each sandbox when it used the right last, and whether it has been ended."""
    deadline = began + DEADLINE_S + SLACK_S + results.beat.late
    over = said.over if hasattr(said, "over") and said.poll() == 0 else None
    words = said.stdout.read() if over else ""
    for tool, last, ended in ends:
        results.longest = max(results.longest, last - began)
        if last > deadline:
            results.late += 1
            print(f"{case}: used {last - began:.2f} s after it had ended, the machine late by {results.beat.late:.2f} s: {tool.times()}",
                  file=sys.stderr)
        if over and last > over:
            results.untrue += 1
            print(f"{case}: used {last - over:.2f} s after sbx had said: {words}", file=sys.stderr)
        results.ended += ended
        if ended and tool is ends[1][0]:
            results.unhurt_ended += 1
            print(f"{case}: a sandbox that did nothing was ended: {tool.complaint()}", file=sys.stderr)


def play(home, case, chance, results):
    trouble, wedge, end, doorbell = case
    home.policy(POLICY.format(doorbell=doorbell, deny=""))
    grant = make_grant(home, end == "its time")
    if end == "revoke --all":
        make_many(home)
    tools = [Tool(home, "one", trouble), Tool(home, "two", "none")]
    results.beat.late = 0.0
    heal = said = None
    try:
        for tool in tools:
            wait_for(tool.is_up, "the tool", seconds=60)
        time.sleep(chance.uniform(0, 0.2))
        if end != "its time" or now() < grant["ends"] - 0.5:
            heal = WEDGES[wedge](home, tools[0])
        time.sleep(chance.uniform(0, 0.05))
        began = grant["ends"] if end == "its time" else now()
        said = ENDS[end](home, grant, doorbell)
        while now() < began + DEADLINE_S + SLACK_S + HEALED_LATER_S:
            time.sleep(0.02)
            if said and said.poll() is not None and not hasattr(said, "over"):
                said.over = now()
        if heal:
            heal()
        time.sleep(WATCH_S)
        ends = [(tool, tool.last_use(), tool.run.poll() is not None) for tool in tools]
        for tool in tools:
            tool.end()  # hundreds of processes that multiply leave nothing for who reads the history
        judge(case, ends, ended_at(home, began, end), said, results)
    finally:
        if heal:
            heal()
        for tool in tools:
            tool.end()
        if said:
            said.wait(PATIENCE_S)
        home.policy(POLICY.format(doorbell=doorbell, deny=""))
        left = [str(grant["id"]) for grant in json.loads(home.sbx("grants", "--json").stdout)]
        for first in range(0, len(left), 100):
            home.sbx("revoke", *left[first:first + 100])


def cases(chance):
    """The first ones go through all troubles, wedges and ends; then chance chooses."""
    # Descriptors in flight are counted by user, and other tests of that user pass some: alone, as with --long, and in attack_r01.
    troubles = [trouble for trouble in TROUBLES if trouble != "flight" or ROUNDS > 1]
    wedges, ends = list(WEDGES), list(ENDS)
    for number in range(COUNT):
        if number < 10:
            yield troubles[number % len(troubles)], wedges[number % len(wedges)], ends[(number + number // 5) % len(ends)], \
                ["auto", "traps"][number % 2]
        else:
            yield chance.choice(troubles), chance.choice(wedges), chance.choice(ends), chance.choice(["auto", "traps"])


def main():
    print(f"seed {SEED}", file=sys.stderr)
    chance = random.Random(SEED)
    results = Results()
    failed = 0
    with Home() as home:
        for folder in ("granted", "many", "asked"):
            (home.root / folder).mkdir()
        (home.root / "granted/file").write_text("what was granted\n")
        for case in cases(chance):
            started = now()
            try:
                play(home, case, chance, results)
            except (RuntimeError, TimeoutError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"{case}: {now() - started:.1f} s, longest so far {results.longest:.3f} s, the machine late by {results.beat.late:.3f} s",
                  file=sys.stderr)
    good = all([claim("a right has ended: it is used two seconds later", COUNT, results.late),
                claim("a right has ended: it is used after sbx has said that it is gone", COUNT, results.untrue),
                claim("a right has ended: a sandbox that did nothing was ended", COUNT, results.unhurt_ended),
                claim("a right has ended: the round could not be played", COUNT, failed)])
    print(f"note {COUNT} rounds, longest use {results.longest:.3f} s after the end, {results.ended} sandboxes ended", flush=True)
    finish(good)


if __name__ == "__main__":
    main()
