#!/usr/bin/env python3
"""What the host replaces and removes while sandboxes show it.

`replaced.py paths <POLICY`: the paths below the home that any profile of `sbx policy show` allows, one a line.

`replaced.py see ORDERS REPORTS NAME`, in a sandbox: of each order (a line of the file ORDERS) tells in the file
REPORTS/NAME-LINE how long it took until each path that was there at first was as it should be. An order is the newest
generation, which a file has as its text and a folder in a file `text`, and what is to be seen: that generation, `gone`,
or `any` of the two.

`replaced.py make HOME PATHS SANDBOXES KIND` makes them, as KIND (files, folders) where none lies in another.

`replaced.py change HOME PATHS SANDBOXES KIND`, on the host: goes through all of it with what programs do: rename over, remove
and make again, a removed folder above. Ends with 1 when a sandbox has seen something else for more than LIMIT seconds.
"""

import json
import os
import shutil
import sys
import time

LIMIT = 5  # seconds on a machine that is busy with other tests; alone it is some 0.4 to 0.7
PATIENCE = 20
SHARED = (".", ".ssh", ".config", ".local", ".local/state")  # something of sbx's own lies there, or of the tests


def allowed(text):
    paths, allow, permission = [], False, ""
    for line in text.splitlines():
        depth, word = len(line) - len(line.lstrip()), line.strip()
        if depth <= 4:
            allow = word == "allow:"
        elif depth == 6:
            permission = word
        elif allow and permission in ("fs:read:", "fs:write:") and word.startswith('- "~/'):
            paths.append(word.split('"')[1][2:])
    return sorted(set(paths))


def seen(path):
    try:
        if os.path.isdir(path):
            path += "/text"
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError as error:
        return error.strerror


def watch(paths, order):
    newest, _, order = order.rpartition(" ")
    begin, late = time.monotonic(), {}
    left = {path: "nothing" for path in paths}
    while left and time.monotonic() - begin < PATIENCE:
        for path in list(left):
            left[path] = seen(path)
            if left[path] == order or order == "any" and left[path] in (newest, "gone"):
                late[path] = time.monotonic() - begin
                del left[path]
        time.sleep(0.01)
    return {"longest": max(late.values(), default=0), "wrong": left, "count": len(paths)}


def write_report(path, report):
    with open(path + ".new", "w") as file:
        json.dump(report, file)
    os.rename(path + ".new", path)


def see(orders, reports, name):
    with open(orders + ".paths") as file:
        paths = [os.path.expanduser("~/" + line.strip()) for line in file]
    paths = [path for path in paths if seen(path) == "0"]
    done = 0
    write_report(f"{reports}/{name}-0", {"longest": 0, "wrong": {}, "count": len(paths)})
    while True:
        with open(orders) as file:
            lines = file.read().splitlines()
        if len(lines) == done:
            time.sleep(0.01)
            continue
        if lines[done] == "end":
            return
        done += 1
        write_report(f"{reports}/{name}-{done}", watch(paths, lines[done - 1]))


def make(path, text, folder):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if folder:
        os.makedirs(path, exist_ok=True)
        path += "/text"
    with open(path, "w") as file:
        file.write(text)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


class Host:
    def __init__(self, home, paths, count):
        self.home, self.paths, self.count = home, paths, count
        self.orders, self.reports = home + "/project/orders", home + "/project/reports"
        self.done, self.longest, self.generation = 0, 0.0, 0

    def order(self, text):
        with open(self.orders, "a") as file:
            file.write(text + "\n")

    def wait(self, what):
        for number in range(self.count):
            path = f"{self.reports}/{number}-{self.done}"
            end = time.monotonic() + 2 * PATIENCE
            while not os.path.exists(path):
                if time.monotonic() > end:
                    sys.exit(f"{what}: sandbox {number} has not told what it sees")
                time.sleep(0.01)
            with open(path) as file:
                report = json.load(file)
            if report["wrong"]:
                sys.exit(f"{what}: sandbox {number} sees {report['wrong']}")
            self.longest = max(self.longest, report["longest"])
            print(f"{what}: sandbox {number}: {report['count']} paths, {report['longest']:.3f} s", flush=True)

    def step(self, what, change, wanted=None):
        self.generation += 1
        text = str(self.generation)
        for path in self.paths:
            change(self.home + "/" + path, text)
        self.done += 1
        self.order(f"{text} {wanted or text}")
        self.wait(what)


def is_folder(path, paths, folders):
    return folders or any(other.startswith(path + "/") for other in paths)


def change(home, paths, count, folders):
    host = Host(home, paths, count)
    host.wait("at first")

    def rename_over(path, text):
        folder = is_folder(os.path.relpath(path, home), paths, folders)
        if folder:
            remove(path)
        make(path + ".tmp", text, folder)
        os.rename(path + ".tmp", path)

    def again(path, text):
        make(path, text, is_folder(os.path.relpath(path, home), paths, folders))

    def remove_above(path, text):
        folder = os.path.dirname(path)
        remove(path if os.path.relpath(folder, home) in SHARED else folder)

    host.step("renamed over", rename_over)
    host.step("once more", rename_over)
    host.step("removed", lambda path, text: remove(path), "gone")
    host.step("made again", again, "any")
    host.step("removed with the folder above", remove_above, "gone")
    host.step("made again", again, "any")
    host.order("end")
    print(f"longest {host.longest:.3f} s")
    sys.exit(host.longest > LIMIT)


def main():
    verb = sys.argv[1]
    if verb == "paths":
        print("\n".join(allowed(sys.stdin.read())))
    elif verb == "see":
        see(*sys.argv[2:5])
    else:
        home, listed, count, kind = sys.argv[2:6]
        with open(listed) as file:
            paths = [line.strip() for line in file]
        if verb == "make":
            for path in paths:
                remove(home + "/" + path)
            for path in paths:
                make(home + "/" + path, "0", is_folder(path, paths, kind == "folders"))
        else:
            change(home, paths, int(count), kind == "folders")


main()
