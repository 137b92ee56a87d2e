"""suspend.py: the real sbxd in a time namespace whose boot clock has run on by two hours while the wall clock stands (a suspend, or a
wall clock set back as far): a grant for an hour has ended, one for a day has not.
"""

import os
import subprocess
import sys

from home import Home, claim, finish
from load import POLICY

HOUR_MS = 3600 * 1000


def check(client, home, target):
    return client.call("check", permission="api:call", target=target, profile="default", project=str(home.project),
                       ask=False)["verdict"]["effect"]


def inside(root):
    home = Home(root)
    client = home.connect()
    print(check(client, home, "hour"), check(client, home, "day"))
    client.close()
    home.end()


def main():
    user = ["--map-user", str(os.getuid()), "--map-group", str(os.getgid())]
    ahead = ["unshare", "--user", *user, "--time", "--boottime", "7200", "--fork"]
    if subprocess.run([*ahead, "true"], check=False, capture_output=True).returncode != 0:
        print("skip no time namespace can be made here: a suspend under the real sbxd")
        return
    with Home() as home:
        home.policy(POLICY)
        client = home.connect()
        for target, hours in (("hour", 1), ("day", 24)):
            client.call("grant", permission="api:call", target=target, effect="allow", lifetime="until", ttl_ms=hours * HOUR_MS,
                        profile="default", project=str(home.project))
        before = [check(client, home, target) for target in ("hour", "day")]
        client.close()
        home.end()
        result = subprocess.run([*ahead, sys.executable, "-B", __file__, str(home.root)], capture_output=True, text=True, check=False)
        print(result.stderr, file=sys.stderr)
        lost = (before != ["allow", "allow"]) + (result.stdout.split() != ["deny", "allow"])
        print(result.stdout, file=sys.stderr)
    finish(claim("attack_b_15 the real sbxd after a suspend (time namespace): what has ended by its clock is over", 2, lost))


inside(sys.argv[1]) if len(sys.argv) > 1 else main()
