"""A load of every kind of request on one broker, that remembers what it was told: what was told must be true for ever."""

import random
import threading

from home import Client, Denied, Gone

POLICY = """
version: 1
prompt: {timeout: 60s, without-agent: wait}
permissions: {db:access: use the database, api:call: call the interface}
profiles:
  default:
    allow:
      api:call: ["free-*"]
    ask:
      db:access: ["*"]
    deny:
      api:call: ["never-*"]
"""


class Told:
    """What clients were told, over all loads on one database."""

    def __init__(self):
        self.allowed = {}  # the check's process -> the grant that the allow rests on, or None
        self.grants = {}  # id -> (permission, pattern, effect): made for good
        self.revoked = set()  # their ends were told
        self.unsure = set()  # ids whose revocation was asked for, with no answer yet
        self.once = {}  # a used up grant's id -> how often its use was told
        self.counts = {"allow": 0, "deny": 0, "grant": 0, "revoke": 0, "answer": 0, "session": 0, "cut off": 0}


class Load:
    """Clients in threads, until the broker goes."""

    def __init__(self, home, told, seed):
        self.home, self.told, self.seed = home, told, seed
        self.project = str(home.project)
        self.failures = []
        self.lock = threading.Lock()
        kinds = [self.check, self.check, self.grant, self.grant, self.ask, self.answer, self.sessions, self.many]
        self.threads = [threading.Thread(target=self.run, args=(kind, i), daemon=True) for i, kind in enumerate(kinds)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join(60)
            if thread.is_alive():
                self.failures.append("a client is still waiting: silence")
        return self.failures

    def run(self, kind, number):
        try:
            self.client = None
            kind(Client(self.home.socket), random.Random(f"{self.seed}/{number}"), f"{self.seed}-{number}")
        except Gone:
            with self.lock:
                self.told.counts["cut off"] += 1
        except Exception as error:  # pylint: disable=broad-except
            self.failures.append(f"{kind.__name__}: {error!r}")

    def count(self, what):
        with self.lock:
            self.told.counts[what] += 1

    def heard(self, process, verdict):
        if verdict["effect"] == "allow":
            self.told.allowed[process] = verdict["grant"]
        self.count(verdict["effect"])

    def check(self, client, chance, name):
        for i in range(1 << 30):
            process = f"{name}-check-{i}"
            target = chance.choice(["free-a", "never-b", "unknown", f"made-{chance.randrange(200)}"])
            verdict = client.call("check", permission="api:call", target=target, profile="default", project=self.project,
                                  process=process, ask=False)["verdict"]
            self.heard(process, verdict)

    def grant(self, client, chance, name):
        mine = []
        for i in range(1 << 30):
            if mine and chance.random() < 0.4:
                grant = mine.pop(chance.randrange(len(mine)))
                self.told.unsure.add(grant)
                client.call("revoke", ids=[grant], at_once=True)
                self.told.revoked.add(grant)
                self.count("revoke")
            else:
                once = chance.random() < 0.2
                grant = client.call("grant", permission="api:call", target=f"made-{chance.randrange(200)}/{name}/{i}",
                                    effect=chance.choice(["allow", "deny"]), lifetime="once" if once else "always",
                                    profile="default", project=self.project)["grant"]
                self.count("grant")
                if once:
                    continue
                self.told.grants[grant["id"]] = (grant["permission"], grant["pattern"], grant["effect"])
                mine.append(grant["id"])

    def open(self, client):
        self.count("session")
        return client.call("session-open", command=["tool"], executable="/usr/bin/tool", project=self.project,
                           root=self.project, cwd=self.project)["session"]

    def ask(self, client, chance, name):
        self.open(client)
        for i in range(1 << 30):
            process = f"{name}-ask-{i}"
            number = client.send("check", permission="db:access", target=f"{name}/{i}", process=process)
            if chance.random() < 0.1:
                client.call("cancel", check=number)
            try:
                self.heard(process, client.reply(number)["verdict"])
            except Denied:
                self.count("deny")

    def answer(self, client, chance, name):
        client.call("agent", kind="terminal", session=None)
        while True:
            prompt = client.push("prompt")
            lifetime = chance.choice(["once", "session", "always", "always"])
            effect = chance.choice(["allow", "allow", "deny"])
            try:
                reply = client.call("answer", prompt=prompt["id"], token=prompt["token"], effect=effect, lifetime=lifetime,
                                    terminal=True)
            except Denied:
                continue  # cancelled meanwhile
            self.count("answer")
            if reply["grant"] and lifetime == "always":
                grant = reply["grant"]
                self.told.grants[grant["id"]] = (grant["permission"], grant["pattern"], grant["effect"])

    def sessions(self, client, chance, name):
        client.close()
        for _ in range(1 << 30):
            client = Client(self.home.socket)
            self.open(client)
            client.call("check", permission="api:call", target="free-a", process=f"{name}-of-a-session")
            if chance.random() < 0.5:
                client.call("session-close", exit=0)
            client.close()

    def many(self, client, chance, name):
        """Without waiting for each: what is half done when the end comes is most of it."""
        for i in range(1 << 30):
            asked = {}
            for j in range(16):
                process = f"{name}-many-{i}-{j}"
                asked[process] = client.send("check", permission="api:call", target=chance.choice(["free-a", "unknown"]),
                                             profile="default", project=self.project, process=process, ask=False)
            for process, number in asked.items():
                self.heard(process, client.reply(number)["verdict"])
