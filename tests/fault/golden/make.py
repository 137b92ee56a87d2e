"""make.py HOME: fill a new broker's database with one of everything, through the sbxd and sbx of $SBX_BIN, as an ordinary
user. Leaves HOME/golden.sql (the database as text) and HOME/golden.json (what must be there in every later form).
"""

import json
import pathlib
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from home import Denied, Home  # noqa: E402

HOUR_MS = 3600 * 1000
TEN_YEARS_MS = 3650 * 24 * HOUR_MS
POLICY = """
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    ask:
      db:access: ["*"]
      fs:read: [/srv]
    deny:
      net:access: ["*.forbidden.test"]
permissions: {db:access: use the database, api:call: call the interface}
"""
ODD = [
    "plain",
    "with spaces and 'quotes' and \"double\" ones",
    "back\\slash \\u0041 \\",
    "control \x01\x1b[31m\t\n\r\x7f",
    "bidi \u202e and zero\u200bwidth",
    "smile \U0001f600 and \ufffd",
    "bytes that are no text \uf7ff\uf780\uf7c3",
    "NUL's neighbour \uf7fe; DROP TABLE events; --",
    "x" * 3000,
]


def fill(home):
    project = str(home.project)
    home.policy(POLICY)
    client = home.connect()
    agent = home.connect()
    agent.call("agent", kind="terminal", session=None)

    def grant(permission, target, effect="allow", lifetime="always", **more):
        body = {"profile": "default", "project": project, **more}
        return client.call("grant", permission=permission, target=target, effect=effect, lifetime=lifetime, **body)["grant"]["id"]

    def session(command, executable="/usr/bin/tool", **more):
        connection = home.connect()
        body = {"command": command, "executable": executable, "project": project, "root": project, "cwd": project, **more}
        number = connection.call("session-open", **body)["session"]
        return connection, number

    def answered(connection, permission, target, effect, lifetime, scope="exact", **more):
        number = connection.send("check", permission=permission, target=target, **more)
        prompt = agent.push("prompt")
        ttl = {"ttl_ms": TEN_YEARS_MS} if lifetime == "until" else {}
        agent.call("answer", prompt=prompt["id"], token=prompt["token"], effect=effect, lifetime=lifetime, scope=scope,
                   terminal=True, **ttl)
        return connection.reply(number)["verdict"]

    # Sessions: ended, ended by their connection, and one that runs while the broker is killed.
    tool, number = session(["tool", *ODD], environment=["LANG"])
    lost, _ = session(["lost"], profile="npm")
    lost.close()
    running, _ = session(["running"], allow=["fs:read=/srv/shared"], deny=["net:access=tracker.test"])

    # Grants of every permission, scope, effect, lifetime and origin.
    grant("fs:read", "/srv/data")
    grant("fs:read", "/srv/data/secret", effect="deny")
    grant("fs:write", project + "/build", reason=ODD[3])
    grant("fs:read", "/srv/**/*.csv")
    for target in ("api.test:443", "*.cdn.test", "192.0.2.0/24", "[2001:db8::1]:8080", "localhost:5432", "any.test:8000-8010"):
        grant("net:access", target)
    grant("net:access", "bad.test", effect="deny", profile=None, project=None)
    grant("net:access", "anywhere.test:443", project=None)
    grant("net:access", "anyprofile.test:443", profile=None)
    grant("proc:spawn", "/usr/bin/make")
    grant("env:read", "CI_*")
    grant("ipc:connect", "/srv/sockets/db.sock")
    grant("net:listen", "8080")
    grant("db:access", "prod", reason="for the \uf7ff report")
    grant("db:access", "once", lifetime="once")
    grant("db:access", "used-up", lifetime="once")
    grant("db:access", "ten-years", lifetime="until", ttl_ms=TEN_YEARS_MS)
    grant("db:access", "expired", lifetime="until", ttl_ms=1)
    grant("db:access", "of-the-session", lifetime="session", session=number)
    revoked = [grant("db:access", f"revoked-{i}") for i in range(3)]
    client.call("revoke", ids=revoked[:1])
    client.call("revoke", match={"permission": "db:access", "target": "revoked-1"})
    grant("db:access", "other", profile="npm")
    client.call("revoke", profile="npm")
    home.sbx("grant", "db:access", "by-the-command", "--profile", "default", "--always", "--reason", "sbx grant")
    for item in ODD:
        grant("api:call", item.replace("\n", " "), reason=item[:300])

    # Prompts: allowed for each lifetime, denied, cancelled, and one that waits when the broker is killed.
    for lifetime in ("once", "session", "until", "always"):
        answered(tool, "db:access", f"answered-{lifetime}", "allow", lifetime, reason=f"it needs {lifetime}")
    answered(tool, "db:access", "denied-once", "deny", "once")
    answered(tool, "db:access", "denied-always", "deny", "always")
    answered(tool, "fs:read", "/srv/logs/today.log", "allow", "always", scope="folder")
    waiting = tool.send("check", permission="db:access", target="cancelled")
    agent.push("prompt")
    tool.call("cancel", check=waiting)

    # Decisions of every module, events of the runner, and odd bytes in every text.
    def check(permission, target, on=client, **more):
        try:
            return on.call("check", permission=permission, target=target, ask=False, **more)["verdict"]
        except Denied as error:
            return {"effect": "error", "why": str(error)}

    check("db:access", "used-up", profile="default", project=project)
    for i in range(30):
        check("fs:read", "/srv/data/file", profile="default", project=project)
        check("net:access", f"host{i}.forbidden.test:443", profile="default", project=project)
        check("net:access", "api.test:443", on=tool, process="/usr/bin/node")
        for item in ODD:
            check("api:call", item.replace("\n", " "), on=tool, process=item[:200], parents=[item[:100], "sh"], reason=item[:300])
    tool.call("event", kind="connection", permission="net:access", target="api.test:443", process="/usr/bin/node",
              detail={"bytes_in": 1 << 40, "odd": ODD[4]})
    tool.call("event", kind="repair", target=project + "/.git/hooks", detail={"what": ODD[5]})
    tool.call("event", kind="connection", permission="net:access", target="rebound.test:80", refused="a private address",
              detail={})
    (home.root / ".config/sbx/policy.yaml").write_text(POLICY + "nonsense: 1\n")
    client.call("policy")
    (home.root / ".config/sbx/policy.yaml").write_text(POLICY)
    client.call("policy")
    tool.call("session-close", exit=3)
    time.sleep(1.5)  # the head is written each second
    client.verify()
    running.send("check", permission="db:access", target="pending")
    agent.push("prompt")
    return client, agent, running


def verdicts(home, client):
    """Verdicts that must be the same in every later form; grants that end by themselves are not among them."""
    subject = {"profile": "default", "project": str(home.project)}
    asked = [
        ("fs:read", "/srv/data/a", subject), ("fs:read", "/srv/data/secret/a", subject), ("fs:read", "/srv/x/y/t.csv", subject),
        ("fs:read", "/srv/logs/other.log", subject), ("fs:read", "/srv/elsewhere", subject),
        ("fs:write", str(home.project) + "/build/x", subject), ("net:access", "api.test:443", subject),
        ("net:access", "api.test:80", subject), ("net:access", "a.b.cdn.test:443", subject), ("net:access", "cdn.test:443", subject),
        ("net:access", "192.0.2.77:22", subject), ("net:access", "[2001:db8::1]:8080", subject),
        ("net:access", "any.test:8005", subject), ("net:access", "bad.test:443", subject),
        ("net:access", "bad.test:443", {"profile": "npm", "project": "/elsewhere"}),
        ("net:access", "anywhere.test:443", {"profile": "default", "project": "/elsewhere"}),
        ("net:access", "anyprofile.test:443", {"profile": "npm", "project": str(home.project)}),
        ("net:access", "anyprofile.test:443", {"profile": "npm", "project": "/elsewhere"}),
        ("db:access", "prod", subject), ("db:access", "used-up", subject), ("db:access", "expired", subject),
        ("db:access", "revoked-0", subject), ("db:access", "revoked-1", subject), ("db:access", "revoked-2", subject),
        ("db:access", "answered-once", subject), ("db:access", "answered-session", subject),
        ("db:access", "answered-always", subject), ("db:access", "denied-once", subject), ("db:access", "denied-always", subject),
        ("db:access", "by-the-command", subject), ("db:access", "of-the-session", subject), ("db:access", "pending", subject),
        ("api:call", ODD[6], subject), ("api:call", ODD[2], subject),
    ]
    said = []
    for permission, target, who in asked:
        verdict = client.call("check", permission=permission, target=target, ask=False, **who)["verdict"]
        said.append({"permission": permission, "target": target, **who, "effect": verdict["effect"], "grant": verdict["grant"]})
    return said


def read_facts(home):
    database = sqlite3.connect(home.database)
    facts = {
        "home": str(home.root),
        "form": database.execute("PRAGMA user_version").fetchone()[0],
        "rows": {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                 for table in ("sessions", "grants", "events", "state")},
        "active": database.execute("SELECT id, permission, effect, lifetime FROM grants WHERE active = 1 ORDER BY id").fetchall(),
    }
    database.close()
    return facts


def main():
    home = Home(sys.argv[1])
    keep = fill(home)
    home.end(9)
    del keep
    facts = read_facts(home)
    dump = subprocess.run(["sqlite3", home.database, ".dump"], capture_output=True, check=True).stdout
    (home.root / "golden.sql").write_bytes(dump + f"PRAGMA user_version = {facts['form']};\n".encode())
    facts["verdicts"] = verdicts(home, home.connect())
    home.end()
    (home.root / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")


main()
