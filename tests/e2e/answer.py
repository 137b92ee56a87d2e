"""answer.py SOCKET --ready FILE --log FILE [--kind KIND] RULE…: somebody who answers each question at once, by rules: an agent
of that kind (terminal).

RULE is EFFECT[:LIFETIME[:SCOPE]]=PERMISSION=GLOB: EFFECT `allow`, `deny` or `leave` (unanswered); LIFETIME `once`, `session`,
`always` or milliseconds; SCOPE one of the prompt's, `first` of those that it offers, or `below:FOLDER`: the part of the target
that lies directly in FOLDER. The first rule that fits decides; a question that none fits is left. The log has a line for each
prompt: its id, bundle, permission, target, answer and so on, as JSON.
"""
import fnmatch
import json
import socket
import sys

PRINTED = "id", "bundle", "permission", "target", "process", "parents", "scopes"


def scope_of(word, target):
    if not word.startswith("below:"):
        return word
    top = word[len("below:"):].rstrip("/") + "/"
    return top + target[len(top):].split("/")[0] if target.startswith(top) else "exact"


def answer_to(prompt, rules):
    for how, permission, pattern in rules:
        if fnmatch.fnmatchcase(prompt["permission"], permission) and fnmatch.fnmatchcase(prompt["target"], pattern):
            break
    else:
        return None
    effect, lifetime, scope = (how.split(":", 2) + ["", ""])[:3]
    if effect == "leave":
        return None
    answer = {"type": "answer", "prompt": prompt["id"], "token": prompt["token"], "effect": effect, "terminal": True}
    lifetime = lifetime or ("session" if effect == "allow" else "once")
    if lifetime.isdigit():
        answer.update(lifetime="until", ttl_ms=int(lifetime))
    else:
        answer.update(lifetime=lifetime)
    target = prompt["target"]
    scope = prompt["scopes"][0] if scope == "first" else scope_of(scope or "exact", target)
    return {**answer, "scope": {target: "exact", target.rsplit("/", 1)[0]: "folder"}.get(scope, scope)}


def main():
    path, arguments = sys.argv[1], sys.argv[2:]
    ready, log = arguments[arguments.index("--ready") + 1], arguments[arguments.index("--log") + 1]
    kind = arguments[arguments.index("--kind") + 1] if "--kind" in arguments else "terminal"
    rules = [tuple(word.split("=", 2)) for word in arguments if "=" in word]
    broker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    broker.connect(path)
    last = 0

    def send(message):
        nonlocal last
        last += 1
        broker.send(json.dumps({**message, "id": last}).encode())

    send({"type": "hello", "protocol": 7, "version": "answer.py"})
    send({"type": "agent", "kind": kind, "session": None})
    with open(log, "a", buffering=1) as lines:
        while data := broker.recv(1 << 17):
            message = json.loads(data)
            if message["type"] == "agent":
                with open(ready, "w") as file:
                    file.write("1")
            if message["type"] == "error":
                lines.write(json.dumps({"error": message}) + "\n")
            if message["type"] != "prompt":
                continue
            answer = answer_to(message, rules)
            lines.write(json.dumps({key: message[key] for key in PRINTED}
                                   | {"answer": answer and answer["effect"], "scope": answer and answer["scope"]}) + "\n")
            if answer:
                send(answer)


main()
