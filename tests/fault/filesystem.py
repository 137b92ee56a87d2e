"""filesystem.py: the real sbxd on a file system that is full, read-only or gone, over a database that is damaged, locked or newer.

Runs itself again in a user and mount namespace of its own, where an ordinary user may mount a small tmpfs.
"""

import contextlib
import os
import pathlib
import random
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import time

from home import ROUNDS, Denied, Gone, Home, claim, finish, wait_for
from load import POLICY

DAMAGES = int(60 * ROUNDS)
SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))


def enter_namespace():
    """Three stages: outside; inside, where the right to mount stays with a helper; and without it, as sbxd wants its clients."""
    stage = os.environ.get("SBX_FAULT_STAGE")
    if stage == "2":
        return
    if stage == "1":
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            for line in theirs.makefile():
                theirs.send(b"%d\n" % subprocess.run(shlex.split(line), check=False).returncode)
            os._exit(0)
        os.set_inheritable(ours.fileno(), True)
        os.environ.update(SBX_FAULT_STAGE="2", SBX_FAULT_MOUNTER=str(ours.fileno()))
        os.execvp("setpriv", ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", sys.executable, "-B", *sys.argv])
    user = ["--map-user", str(os.getuid()), "--map-group", str(os.getgid())]
    inside = ["unshare", "--user", "--mount", *user, "--keep-caps"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
        print("skip no mount namespace can be made here: disks that are full, read-only, locked, damaged")
        sys.exit(0)
    os.environ["SBX_FAULT_STAGE"] = "1"
    os.execvp("unshare", [*inside, sys.executable, "-B", *sys.argv])


def as_mounter(*words):
    with socket.socket(fileno=os.dup(int(os.environ["SBX_FAULT_MOUNTER"]))) as mounter:
        mounter.send((shlex.join(words) + "\n").encode())
        if mounter.recv(16) != b"0\n":
            raise OSError(shlex.join(words))


def mount(*words):
    as_mounter("mount", *words)


def check(client, home, target, **more):
    verdict = client.call("check", permission="api:call", target=target, profile="default", project=str(home.project), ask=False,
                          **more)["verdict"]
    return verdict["effect"], verdict["why"]


def grant(client, home, target, effect="allow"):
    return client.call("grant", permission="api:call", target=target, effect=effect, lifetime="always", profile="default",
                       project=str(home.project))["grant"]["id"]


def new_home():
    home = Home()
    home.policy(POLICY)
    return home


def fill(folder, keep=0):
    with open(folder / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - keep))


def refused(action):
    """The sentence, or "" when it was not refused."""
    try:
        action()
    except (Denied, Gone) as error:
        return str(error)
    return ""


def full():
    lost = []
    with new_home() as home:
        home.state.mkdir(parents=True)
        mount("-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(home.state))
        client = home.connect()
        keep, stop = grant(client, home, "made-1"), grant(client, home, "free-2", "deny")
        client.close()
        client = home.connect()
        fill(home.state)
        said = ""
        for i in range(2000):  # what SQLite has of its log is used up first
            said = refused(lambda: grant(client, home, f"made-{i}/full"))
            if said:
                break
        lost.append("full" not in said)
        allowed = [check(client, home, "free-1", process="x" * 200) for _ in range(400)]
        lost.append(allowed[-1][0] != "deny" or "history can't be written" not in allowed[-1][1])
        lost.append(check(client, home, "free-2")[0] != "deny")
        (home.state / "filler").unlink()
        wait_for(lambda: check(client, home, "free-1")[0] == "allow", "it never recovers")
        lost.append(check(client, home, "made-1")[0] != "allow")
        client.verify()
        told = sum(1 for effect, _ in allowed if effect == "allow")
        home.end()
        with contextlib.closing(sqlite3.connect(home.database)) as database:  # open it would keep sbxd out
            rows = database.execute(
                "SELECT count(*) FROM events WHERE verdict = 'allow' AND length(process) = 200").fetchone()[0]
        lost.append(rows < told)
        # And one that starts on it.
        fill(home.state)
        client = None
        said = refused(lambda: home.connect().close())
        (home.state / "filler").unlink()
        client = home.connect()
        lost.append({keep, stop} - {item["id"] for item in client.pages("grants")} != set())
        client.close()
        home.end()
        as_mounter("umount", str(home.state))
    return claim("attack_b_14, attack_b_19 the disk is full: nothing is allowed, grants and denials stay, it recovers", 7, sum(lost))


def read_only():
    lost = []
    with new_home() as home:
        home.state.mkdir(parents=True)
        mount("-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(home.state))
        client = home.connect()
        grant(client, home, "made-1")
        home.end()
        mount("-o", "remount,ro", str(home.state))
        said = refused(lambda: home.connect().close())
        lost.append("read-only" not in said.lower() and "can't be written" not in said)
        print(f"read-only: {said}", file=sys.stderr)
        mount("-o", "remount,rw", str(home.state))
        client = home.connect()
        lost.append(check(client, home, "made-1")[0] != "allow")
        client.close()
        home.end()
        as_mounter("umount", str(home.state))
    return claim("attack_b_14 a read-only disk is refused with a sentence, and nothing is lost", 2, sum(lost))


def locked():
    with new_home() as home:
        grant(home.connect(), home, "made-1")
        home.end()
        holder = subprocess.Popen(["sqlite3", home.database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        holder.stdin.write("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT 1;\n")
        holder.stdin.flush()
        holder.stdout.readline()
        holder.stdout.readline()
        said = refused(lambda: home.connect().close())
        holder.stdin.close()
        holder.wait()
        lost = ["locked" not in said, check(home.connect(), home, "made-1")[0] != "allow"]
    return claim("attack_b_14 a database that another program has locked is refused, and served when it is free", 2, sum(lost))


def newer():
    with new_home() as home:
        home.connect().close()
        home.end()
        database = sqlite3.connect(home.database)
        database.executescript("PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        before = home.database.read_bytes()
        said = refused(lambda: home.connect().close())
        lost = ["newer sbx" not in said, home.database.read_bytes() != before]
    return claim("attack_b_14 a newer form is refused and not touched", 2, sum(lost))


def removed():
    with new_home() as home:
        client = home.connect()
        pid = client.greeting["pid"]
        shutil.rmtree(home.state)
        gone = False
        end = time.monotonic() + 10
        while not gone and time.monotonic() < end:
            gone = not pathlib.Path(f"/proc/{pid}").exists()
            time.sleep(0.05)
        client = home.connect()
        lost = [not gone, client.greeting["pid"] == pid, client.verify() is None]
    return claim("the database is removed under it: it leaves, and another starts anew", 3, sum(lost))


def damage(home, chance, kind):
    if kind == "flips":
        data = bytearray(home.database.read_bytes())
        page = chance.randrange(len(data) // 4096) * 4096
        for _ in range(chance.choice([1, 8, 200])):
            data[page + chance.randrange(4096)] ^= 1 << chance.randrange(8)
        home.database.write_bytes(data)
    else:
        log = pathlib.Path(f"{home.database}-wal")
        data = bytearray(log.read_bytes())
        if kind == "cut":
            del data[chance.randrange(len(data)):]
        else:
            for _ in range(50):
                data[chance.randrange(len(data))] = chance.randrange(256)
        log.write_bytes(data)


def damaged(chance):
    """Whatever is in the file: sbxd serves or says why; rules hold; nobody waits for ever; it doesn't crash."""
    lost = outcomes = served = 0
    with new_home() as home:
        client = home.connect()
        for i in range(40):
            stop = grant(client, home, f"made-{i}", "deny" if i % 2 else "allow")
            check(client, home, f"made-{i}")
        client.call("revoke", ids=[stop])
        client.close()
        home.end(9)
        whole = {path.name: path.read_bytes() for path in home.state.iterdir() if path.name.startswith("sbx.db")}
        for number in range(DAMAGES):
            for path in home.state.iterdir():
                path.unlink()
            for name, data in whole.items():
                (home.state / name).write_bytes(data)
                (home.state / name).chmod(0o600)
            kind = ["flips", "cut", "garbled"][number % 3]
            if kind == "flips":  # in the file itself, not in the log above it
                subprocess.run(["sqlite3", home.database, "PRAGMA wal_checkpoint(TRUNCATE)"], check=True, capture_output=True)
            damage(home, chance, kind)
            outcomes += 1
            try:
                client = home.connect()
            except Gone as error:
                good = "database" in str(error) and "signal" not in str(error)
                if not good:
                    print(f"{kind}: {error}", file=sys.stderr)
                lost += not good
                continue
            served += 1
            try:
                pid = client.greeting["pid"]
                wrong = [target for target in ("never-1", "unknown", "made-0/below") if check(client, home, target)[0] == "allow"]
                for i in range(40):
                    check(client, home, f"made-{i}")
                if wrong or not pathlib.Path(f"/proc/{pid}").exists():
                    print(f"{kind}: allowed {wrong}", file=sys.stderr)
                    lost += 1
            except Gone as error:
                print(f"{kind}: it ended: {error}", file=sys.stderr)
                lost += 1
            except Denied:
                pass
            client.close()
            home.end()
    print(f"damaged: {served} of {outcomes} were served", file=sys.stderr)
    return claim("attack_b_14 bytes flipped, the log cut or garbled: it serves or says why, and allows nothing more", outcomes, lost)


enter_namespace()
print(f"seed {SEED}", file=sys.stderr)
finish(all([full(), read_only(), locked(), newer(), removed(), damaged(random.Random(SEED))]))
