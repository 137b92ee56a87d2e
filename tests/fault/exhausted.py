"""exhausted.py: sbx with its n-th allocation failing (libnomem.so): the right result, a sentence or status 125; never a signal,
and never a grant that is wider than what was asked for.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys

from home import ROUNDS, Home, claim, finish
from load import POLICY

LIBRARY = pathlib.Path(os.environ["SBX_FAULT"]) / "libnomem.so"
SEED = os.environ.get("SBX_FAULT_SEED") or str(random.SystemRandom().randrange(1 << 32))
TRIES = int(60 * ROUNDS)
EXIT_NO_MEMORY = 125


def strike(home, number, words):
    """The command's result, and whether its allocation failed at all."""
    mark = home.root / "struck"
    mark.unlink(missing_ok=True)
    environment = {**home.environment, "LD_PRELOAD": str(LIBRARY), "SBX_NOMEM_AT": str(number), "SBX_NOMEM_FILE": str(mark)}
    result = subprocess.run([home.programs / "sbx", *words], env=environment, cwd=home.project, stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60, check=False)
    return result, mark.exists()


def allocations(home, words):
    """How many it makes: by halving."""
    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if strike(home, middle, words)[1] else (low, middle - 1)
    return low


def wrong_grants(home, sound):
    """Grants in force that are not just the one that was asked for."""
    client = home.connect()
    keys = ("permission", "pattern", "effect", "profile", "project", "session", "lifetime")
    grants = [[grant[key] for key in keys] for grant in client.pages("grants")]
    client.call("revoke", all=True)
    client.close()
    return sum(1 for grant in grants if grant != sound)


def run(home, chance, words, statuses):
    count = allocations(home, words)
    grant = words[0] == "grant"
    if grant:
        home.sbx("revoke", "--all")
    whole = home.sbx(*words)
    sound = None
    if grant:
        client = home.connect()
        sound = next([item[key] for key in ("permission", "pattern", "effect", "profile", "project", "session", "lifetime")]
                     for item in client.pages("grants"))
        client.call("revoke", all=True)
        client.close()
    lost = 0
    numbers = range(1, count + 1) if count <= TRIES else sorted(chance.sample(range(1, count + 1), TRIES))
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


def main():
    print(f"seed {SEED}", file=sys.stderr)
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
    finish(all(good))


main()
