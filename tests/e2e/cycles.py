"""cycles.py SOCKET ROUNDS MARK PATH: grant and revoke PATH again and again while a sandbox reads it, and see that nothing is left.

MARK is a word in the command line of the shell in the sandbox that started its readers. Before and after: the sandbox's
mounts, the descriptors and the memory of sbxd, the runner and its children. Prints what grew; fails when something did that
doesn't just fluctuate.
"""
import json
import os
import socket
import subprocess
import sys
import time

MEMORY_KB = 1024  # malloc's own caches
READERS = 8  # each may be in a call, which has descriptors for as long as it lasts
SERIES = 3  # in each of which what is not given back grows; what was only about to be held when it was counted doesn't
PATIENCE_S = 60  # of a busy machine, until what is under way is done


class Broker:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.last = 0
        self.pid = self.call(type="hello", protocol=7, version="cycles.py")["pid"]

    def call(self, **message):
        self.last += 1
        self.socket.send(json.dumps({**message, "id": self.last}).encode())
        reply = json.loads(self.socket.recv(1 << 17))
        assert reply["type"] != "error", reply
        return reply


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def name(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def find_shell(mark):
    """The one that lasts: its children are shells of the same command line, some only until they start a program."""
    for pid in map(int, subprocess.check_output(["pgrep", "-f", "--", mark]).split()):
        try:
            if name(pid) == "sh" and name(parent(pid)) != "sh":
                return pid
        except FileNotFoundError:
            pass
    raise LookupError(f"no shell in the sandbox has {mark} in its command line")


def state(broker, runner, inside):
    ours = {"sbxd": broker.pid, "runner": runner}
    ours.update({f"child {name(child)}": child for child in children(runner) if name(child) != "bwrap"})
    with open(f"/proc/{inside}/mountinfo") as file:
        mounts = len(file.readlines())
    return {
        "mounts": mounts,
        **{f"descriptors of {who}": len(os.listdir(f"/proc/{pid}/fd")) for who, pid in ours.items() if os.access(f"/proc/{pid}/fd", os.R_OK)},
        **{f"memory of {who}": memory(pid) for who, pid in ours.items()},
    }


def settled(look):
    """What it says when that stays the same for a while."""
    end, before = time.monotonic() + PATIENCE_S, look()
    while True:
        time.sleep(0.5)
        now = look()
        if counted(now) == counted(before) or time.monotonic() > end:
            return now
        before = now


def counted(said):
    return {what: value for what, value in said.items() if not what.startswith("memory")}


def growth(before, after):
    usual = {"memory": MEMORY_KB, "descriptors": READERS, "mounts": 0}
    grown = {what: after.get(what, 0) - before[what] for what in before}
    return {what: by for what, by in grown.items() if by > usual[what.split()[0]]}


def main():
    path, rounds, mark, target = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    broker = Broker(path)
    runner = broker.call(type="list", what="sessions")["items"][0]["pid"]
    inside = find_shell(mark)

    def cycle():
        grant = broker.call(type="grant", permission="fs:read", target=target, effect="allow", profile=None, project=None, lifetime="always")
        broker.call(type="revoke", ids=[grant["grant"]["id"]])

    for _ in range(rounds // 10):  # what is made once is made
        cycle()
    after = settled(lambda: state(broker, runner, inside))
    for _ in range(SERIES):
        before, begin = after, time.monotonic()
        for _ in range(rounds):
            cycle()
        took = time.monotonic() - begin
        after = settled(lambda: state(broker, runner, inside))
        for what in before:
            if after.get(what, 0) != before[what]:
                print(f"{what}: {before[what]} -> {after.get(what)}")
        print(f"{rounds} cycles, {took / rounds * 1000:.2f} ms each; " + ", ".join(f"{what} {value}" for what, value in after.items()))
        if not growth(before, after):
            return 0
    return 1


sys.exit(main())
