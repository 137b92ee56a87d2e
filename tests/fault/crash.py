"""crash.py: sbxd is killed (SIGKILL) at random moments under load, and while it starts; nothing that anybody was told is lost.

After each kill a copy of the database is looked at as it was left, then a new broker is started over it. The moments come
from a seed that is printed; SBX_FAULT_SEED sets it, SBX_FAULT_ROUNDS multiplies the 200 kills.
"""

import contextlib
import io
import os
import pathlib
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from home import BIN, ROUNDS, Home, claim, finish, wait_for_end
from load import POLICY, Load, Told

KILLS = int(200 * ROUNDS)
STARTS = int(40 * ROUNDS)
GENERATION = 20  # kills of one database; then a new one, or looking at all of it each time takes too long
GOLDEN = pathlib.Path(__file__).parent / "golden/v1.sql"
SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))


def copy_of(home):
    """The database as the kill left it, opened; its own recovery happens in the copy."""
    copy = home.root / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for suffix in ("", "-wal", "-tail"):
        if pathlib.Path(f"{home.database}{suffix}").exists():
            shutil.copy(f"{home.database}{suffix}", copy / f"sbx.db{suffix}")
    database = sqlite3.connect(copy / "sbx.db")
    database.text_factory = lambda data: data.decode(errors="surrogateescape")
    return database


class Losses:
    """What was promised and isn't there, by the promise."""

    def __init__(self):
        self.counts = dict.fromkeys(
            ["an allow without its record", "a grant or an answer that was lost", "a revoked grant that is back",
             "a half migration or a damaged file", "a chain that does not verify", "a request without answer or end",
             "a new broker that did not come up", "a broker that ended by itself", "a session of the old broker that runs on", "a prompt of the old broker that waits",
             "a loss that this test does not see"], 0)

    def add(self, what, detail):
        self.counts[what] += 1
        print(f"LOST {what}: {detail}", file=sys.stderr, flush=True)


def compare(database, tail, told, losses):
    if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        losses.add("a half migration or a damaged file", "integrity_check")
    recorded = {row[0] for row in database.execute("SELECT process FROM events WHERE verdict = 'allow'")}
    for process in told.allowed:
        if process not in recorded and f'"{process}"'.encode() not in tail:
            losses.add("an allow without its record", process)
    stored = {row[0]: row[1:] for row in database.execute("SELECT id, active, permission, pattern, effect FROM grants")}
    for grant, what in told.grants.items():
        row = stored.get(grant)
        if row is None or row[1:] != what:
            losses.add("a grant or an answer that was lost", f"{grant}: {what}, stored: {row}")
        elif row[0] == 0 and grant not in told.unsure:
            losses.add("a grant or an answer that was lost", f"{grant}: not in force")
        elif row[0] == 1 and grant in told.revoked:
            losses.add("a revoked grant that is back", grant)


def revive(home, losses):
    """A new broker over what is left; it must come up at once, whatever the old one left behind."""
    result = home.start()
    if result.returncode != 0:
        losses.add("a new broker that did not come up", result.stderr)
        return None
    client = home.connect(start=False)
    try:
        client.verify()
    except AssertionError as error:
        losses.add("a chain that does not verify", error)
    if list(client.pages("sessions")):
        losses.add("a session of the old broker that runs on", "")
    if list(client.pages("prompts")):
        losses.add("a prompt of the old broker that waits", "")
    return client


def forget(home):
    home.end()
    shutil.rmtree(home.state, ignore_errors=True)


def kill_under_load(home, told, chance, losses, number):
    client = revive(home, losses)
    if not client:
        return
    held = os.pidfd_open(client.greeting["pid"])
    client.close()
    load = Load(home, told, f"{SEED}-{number}")
    load.start()
    time.sleep(chance.uniform(0.0, 0.25))
    if select.select([held], [], [], 0)[0]:
        losses.add("a broker that ended by itself", (home.state / "sbxd.log").read_text())
    signal.pidfd_send_signal(held, signal.SIGKILL)
    wait_for_end(held)
    os.close(held)
    for failure in load.join():
        losses.add("a request without answer or end", failure)
    compare_copy(home, told, losses)


def compare_copy(home, told, losses):
    database = copy_of(home)
    tail = home.root / "copy/sbx.db-tail"
    compare(database, tail.read_bytes() if tail.exists() else b"", told, losses)
    database.close()


def is_awake(home, told):
    """Would the comparison see a loss? One of each is made by hand, in a copy that is thrown away."""
    seen = Losses()
    sys.stderr.flush()
    process, grant, revoked = next(iter(told.allowed)), max(set(told.grants) - told.unsure), min(told.revoked)
    home.end()
    database = copy_of(home)
    database.execute("DELETE FROM events WHERE process = ?", [process])
    database.execute("DELETE FROM grants WHERE id = ?", [grant])
    database.execute("UPDATE grants SET active = 1 WHERE id = ?", [revoked])
    with contextlib.redirect_stderr(io.StringIO()):
        compare(database, b"", told, seen)
    database.close()
    return all(seen.counts[what] == 1 for what in
               ("an allow without its record", "a grant or an answer that was lost", "a revoked grant that is back"))


def loads(home, chance):
    losses, counts = Losses(), {}
    home.policy(POLICY)
    for number in range(KILLS):
        if number % GENERATION == 0:
            forget(home)
            told = Told()
        kill_under_load(home, told, chance, losses, number)
        if number % GENERATION == GENERATION - 1 or number == KILLS - 1:
            revive(home, losses)
            home.end()
            compare_copy(home, told, losses)
            for what, times in told.counts.items():
                counts[what] = counts.get(what, 0) + times
    if not is_awake(home, told):
        losses.add("a loss that this test does not see", "")
    print("told in all: " + ", ".join(f"{times} × {what}" for what, times in counts.items()), file=sys.stderr)
    if min(counts.values()) == 0:
        print(f"the load does not do all it should: {counts}", file=sys.stderr)
        losses.add("a request without answer or end", "no load")
    return [claim(f"sbxd killed under load: {what}", KILLS, lost) for what, lost in losses.counts.items()]


def form_of(database):
    """(version, tables and indexes): which form a database has."""
    return (database.execute("PRAGMA user_version").fetchone()[0],
            frozenset(row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")))


def load_golden(home, name=GOLDEN):
    forget(home)
    home.state.mkdir(parents=True, mode=0o700)
    with open(name, "rb") as dump:
        subprocess.run(["sqlite3", home.database], stdin=dump, check=True)
    home.database.chmod(0o600)


def starts(home, chance):
    """Killed while it opens, makes or migrates its database, and listens."""
    losses = Losses()
    forms = set()  # a migration may stop between two of its steps: at the form of a golden database that came later
    for name in sorted(GOLDEN.parent.glob("v*.sql"), reverse=True):
        load_golden(home, name)
        database = sqlite3.connect(home.database)
        forms.add(form_of(database))
        grants = database.execute("SELECT count(*) FROM grants").fetchone()[0]  # at last the first one's, which is migrated
        database.close()
    begun = time.monotonic()
    revive(home, losses).close()
    whole = time.monotonic() - begun
    home.end()
    database = sqlite3.connect(home.database)
    forms.add(form_of(database))
    database.close()
    for number in range(STARTS):
        golden = number % 2 == 0
        load_golden(home) if golden else forget(home)
        sbxd = subprocess.Popen([BIN / "sbxd", "--foreground"], env=home.environment, cwd="/", stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, whole))
        sbxd.kill()
        sbxd.wait()
        if golden:
            database = copy_of(home)
            if form_of(database) not in forms or database.execute("SELECT count(*) FROM grants").fetchone()[0] != grants:
                losses.add("a half migration or a damaged file", form_of(database))
            database.close()
        client = revive(home, losses)
        if client:
            client.close()
    return [claim(f"sbxd killed while it starts and migrates: {what}", STARTS, losses.counts[what])
            for what in ("a half migration or a damaged file", "a chain that does not verify", "a new broker that did not come up")]


def main():
    print(f"seed {SEED}", file=sys.stderr)
    chance = random.Random(SEED)
    with Home() as home:
        good = all(starts(home, chance) + loads(home, chance))
    finish(good)


main()
