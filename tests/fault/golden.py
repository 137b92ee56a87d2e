"""golden.py: sbxd over each golden database (golden/README.md): it comes up, the chain verifies, the verdicts are the same."""

import json
import pathlib
import subprocess

from home import Home, claim, finish

POLICY = """
version: 1
permissions: {db:access: use the database, api:call: call the interface}
profiles:
  default:
    ask:
      db:access: ["*"]
      fs:read: [/srv]
    deny:
      net:access: ["*.forbidden.test"]
"""


def check(dump):
    facts = json.loads(dump.with_suffix(".json").read_text())
    with Home() as home:
        home.policy(POLICY)
        home.state.mkdir(parents=True, mode=0o700)
        with open(dump, "rb") as sql:
            subprocess.run(["sqlite3", home.database], stdin=sql, check=True)
        home.database.chmod(0o600)
        client = home.connect()
        verified = client.verify()
        good = claim(f"form {facts['form']}: rows of the history that still verify", verified, max(0, facts["rows"]["events"] - verified))
        listed = {grant["id"] for grant in client.pages("grants", all=True)}
        good &= claim(f"form {facts['form']}: grants that are still listed", facts["rows"]["grants"],
                      facts["rows"]["grants"] - len(listed))
        other = 0
        for wish in facts["verdicts"]:
            said = client.call("check", permission=wish["permission"], target=wish["target"], profile=wish["profile"],
                               project=wish["project"], ask=False)["verdict"]
            other += (said["effect"], said["grant"]) != (wish["effect"], wish["grant"])
        return good & claim(f"form {facts['form']}: verdicts that are still the same", len(facts["verdicts"]), other)


finish(all([check(dump) for dump in sorted((pathlib.Path(__file__).parent / "golden").glob("v*.sql"))]))
