"""exhausted.py: sbx and sbxd with their n-th allocation failing (libnomem.so): the right result, a sentence or status 125; never a
signal, never a grant that is wider than what was asked for, and never an allow that isn't recorded.
"""

import os
import pathlib
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

from home import PATIENCE_S, ROUNDS, Client, Denied, Gone, Home, claim, finish
from load import POLICY

LIBRARY = pathlib.Path(os.environ["SBX_FAULT"]) / "libnomem.so"
SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))
TRIES = max(1, int(60 * ROUNDS))
BROKER_TRIES = max(1, int(60 * ROUNDS))
EXIT_NO_MEMORY = 125


class Strike:
    """What libnomem.so needs to be told, and what it tells."""

    def __init__(self, home, number):
        self.mark = home.root / "struck"
        self.mark.unlink(missing_ok=True)
        self.environment = {**home.environment, "LD_PRELOAD": str(LIBRARY), "SBX_NOMEM_AT": str(number), "SBX_NOMEM_FILE": str(self.mark)}

    def count(self):
        return struct.unpack("=qq", self.mark.read_bytes())[0]


def strike(home, number, words):
    """The command's result, and how many allocations it made."""
    struck = Strike(home, number)
    result = subprocess.run([home.programs / "sbx", *words], env=struck.environment, cwd=home.project, stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60, check=False)
    return result, struck.count()


def sample(chance, count, tries):
    return range(1, count + 1) if count <= tries else sorted(chance.sample(range(1, count + 1), tries))


def wrong_grants(home, sound):
    """Grants in force that are not just the one that was asked for."""
    client = home.connect()
    keys = ("permission", "pattern", "effect", "profile", "project", "session", "lifetime")
    grants = [[grant[key] for key in keys] for grant in client.pages("grants")]
    client.call("revoke", all=True, at_once=True)
    client.close()
    return sum(1 for grant in grants if grant != sound)


def run(home, chance, words, statuses):
    count = strike(home, 1 << 60, words)[1]
    grant = words[0] == "grant"
    if grant:
        home.sbx("revoke", "--all")
    whole = home.sbx(*words)
    sound = None
    if grant:
        client = home.connect()
        sound = next([item[key] for key in ("permission", "pattern", "effect", "profile", "project", "session", "lifetime")]
                     for item in client.pages("grants"))
        client.call("revoke", all=True, at_once=True)
        client.close()
    lost = 0
    numbers = sample(chance, count, TRIES)
    for number in numbers:
        result, _ = strike(home, number, words)
        bad = result.returncode < 0 or (result.returncode not in (*statuses, EXIT_NO_MEMORY))
        # A result that says all is well must be the whole one.
        bad |= result.returncode == 0 and whole.returncode == 0 and len(result.stdout) + 200 < len(whole.stdout)
        bad |= result.returncode == 0 and whole.returncode != 0
        bad |= grant and wrong_grants(home, sound) > 0
        if bad:
            name = signal.Signals(-result.returncode).name if result.returncode < 0 else result.returncode
            print(f"{words}, allocation {number} of {count}: {name}: {result.stderr[-300:]}", file=sys.stderr)
        lost += bad
    return claim(f"the n-th allocation fails in `sbx {' '.join(words[:2])}` (n to {count})", len(numbers), lost)


# The real sbxd


class Told:
    """What the clients of one sbxd were told."""

    def __init__(self):
        self.allowed = set()  # processes
        self.granted = set()  # ids, for ever


def check(told, client, permission, target):
    verdict = client.call("check", permission=permission, target=target, process=target)["verdict"]
    if verdict["effect"] == "allow":
        told.allowed.add(target)


def prompt(told, runner, agent, target, lifetime):
    """A question and its answer. Where it can't be asked the asker is told so."""
    number = runner.send("check", permission="db:access", target=target, process=target)
    while agent.socket not in select.select([runner.socket, agent.socket], [], [], PATIENCE_S)[0]:
        if runner.receive().get("id") == number:
            return
    asked = agent.push("prompt")
    grant = agent.call("answer", prompt=asked["id"], token=asked["token"], effect="allow", lifetime=lifetime, terminal=True)["grant"]
    if grant and lifetime == "always":
        told.granted.add(grant["id"])
    if runner.reply(number)["verdict"]["effect"] == "allow":
        told.allowed.add(target)


def visit(told, home, step):
    """One after the other, each by clients of its own: where one is refused the next one must be served."""
    project = str(home.project)
    runner = Client(home.socket)
    if step == "grant":
        told.granted.add(runner.call("grant", permission="api:call", target="made-1", effect="allow", lifetime="always",
                                     profile="default", project=project)["grant"]["id"])
        return
    runner.call("session-open", command=["tool"], executable="/usr/bin/tool", project=project, root=project, cwd=project)
    if step == "check":
        for target in ("free-1", "never-1", "made-1", "unknown"):
            check(told, runner, "api:call", target)
    else:
        agent = Client(home.socket)
        agent.call("agent", kind="terminal", session=None)
        prompt(told, runner, agent, f"asked-{step}", step)


def serve(home, number):
    """An sbxd with an empty database whose allocation fails, and its clients: what they were told, and what was wrong."""
    told, wrong, served = Told(), [], False
    shutil.rmtree(home.state, ignore_errors=True)
    struck = Strike(home, number)
    struck.environment["SBX_NOMEM_FORKS"] = "1"
    with subprocess.Popen([home.programs / "sbxd", "--foreground"], env=struck.environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as broker:
        end = time.monotonic() + PATIENCE_S
        while broker.poll() is None:
            try:
                Client(home.socket).close()
                served = True
                break
            except Gone:
                time.sleep(0.01)
            except AssertionError:
                pass
            if time.monotonic() > end:
                break
        for step in ("grant", "check", "once", "always") if served else ():
            try:
                visit(told, home, step)
            except (Gone, Denied):
                pass
            except AssertionError as error:
                wrong.append(f"{step}: {error}")
        if broker.poll() is None:
            (broker.terminate if served else broker.kill)()
        said = broker.stderr.read().decode(errors="replace")
        status = broker.wait(PATIENCE_S)
        # Before it serves libseccomp (2.5.4) makes its filter, and without memory crashes or never ends.
        if not served and status < 0:
            return told, wrong, struck.count()
        if status not in (0, EXIT_NO_MEMORY) and not (status == 1 and said):
            wrong.append(f"it ends with {status}: {said[-200:]}")
    return told, wrong, struck.count()


def left(home):
    """What the next sbxd finds: it starts, its history verifies."""
    client = home.connect()
    client.verify()
    events = list(client.pages("history"))
    grants = {grant["id"]: (grant["permission"], grant["pattern"], grant["effect"], grant["lifetime"]) for grant in client.pages("grants")}
    client.close()
    home.end()
    allows = {(event["kind"], event["target"]) for event in events if event["verdict"] == "allow"}
    return allows, {event["process"] for event in events if event["verdict"] == "allow"}, grants


def run_broker(home, chance):
    home.end()
    sound, wrong, count = serve(home, 1 << 60)
    sound_allows, _, sound_grants = left(home)
    if wrong or len(sound.allowed) != 4 or len(sound.granted) != 2:
        raise AssertionError(f"without a fault: {wrong}, {sound.allowed}, {sound.granted}")
    numbers = sample(chance, count, BROKER_TRIES)
    lost = 0
    for number in numbers:
        told, wrong, _ = serve(home, number)
        allows, processes, grants = left(home)
        if told.allowed - sound.allowed:
            wrong.append(f"allowed: {told.allowed - sound.allowed}")
        if told.allowed - processes:
            wrong.append(f"allowed without a record: {told.allowed - processes}")
        if allows - sound_allows:
            wrong.append(f"recorded: {allows - sound_allows}")
        if told.granted - grants.keys():
            wrong.append(f"granted and not there: {told.granted - grants.keys()}")
        if set(grants.values()) - set(sound_grants.values()):
            wrong.append(f"there and not granted: {grants}")
        if wrong:
            print(f"sbxd, allocation {number} of {count}: {wrong}", file=sys.stderr)
        lost += bool(wrong)
    return claim(f"the n-th allocation fails in the real sbxd, confined: start (libseccomp may crash), grant, checks, prompts, end (n to {count})", len(numbers), lost)


def main():
    chance = random.Random(SEED)
    with Home() as home:
        home.policy(POLICY)
        home.connect().close()
        good = [run(home, chance, words, statuses) for words, statuses in (
            (["check", "api:call", "free-1"], (0, 1, 2)),
            (["check", "api:call", "never-1"], (1, 2)),
            (["grant", "api:call", "made-1", "--profile", "default", "--always"], (0, 1, 2)),
            (["policy", "check"], (0, 1, 2)),
            (["run", "--print-plan", "--", "true"], (0, 1, 125)),
            (["history", "--json"], (0, 1, 2)),
        )]
        good.append(run_broker(home, chance))
    finish(all(good))


if __name__ == "__main__":
    main()
