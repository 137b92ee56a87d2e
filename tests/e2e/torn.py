"""Inside: waits for each of the names to vanish, and at once makes it in every way that there is; then, when there is a
file `again`, once more. What was made is said."""

import ctypes
import os
import sys

RENAME_EXCHANGE = 2  # renameat2(2)


def opened(name):
    with open(name, "x") as file:
        file.write("evil")


def renamed(name):
    with open("made", "w") as file:
        file.write("evil")
    os.rename("made", name)


def brought(name):
    folder = os.path.dirname(name)
    os.makedirs("moved")
    try:
        with open(os.path.join("moved", os.path.basename(name)), "w") as file:
            file.write("evil")
        os.rename("moved", folder)
    finally:
        os.system("rm -rf moved")


def exchanged(name):
    folder = os.path.dirname(name)
    os.makedirs("moved")
    try:
        with open(os.path.join("moved", os.path.basename(name)), "w") as file:
            file.write("evil")
        os.mkdir(folder)
        open(os.path.join(folder, "other"), "w").close()
        here, there = b"moved", folder.encode()
        if ctypes.CDLL(None).renameat2(-100, here, -100, there, RENAME_EXCHANGE) != 0:
            raise OSError("renameat2")
    finally:
        os.system(f"rm -rf moved {folder}/other")


def in_folder(name):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    opened(name)


ways = [opened, in_folder, os.mkdir, os.mkfifo, lambda name: os.symlink("evil", name), lambda name: os.link("evil", name),
        renamed]


def attempt(name):
    away = [] if os.path.lexists(os.path.dirname(name) or ".") else [exchanged, brought]
    for way in away + ways:
        try:
            way(name)
        except OSError:
            continue
        print("made", name, getattr(way, "__name__", way), flush=True)


names = sys.argv[1:]
with open("evil", "w") as evil:
    evil.write("evil")
open("up", "w").close()
for vanished in names:
    while os.path.lexists(vanished):
        pass
    attempt(vanished)
open("tried", "w").close()
while not os.path.exists("again"):
    pass
for vanished in names:
    attempt(vanished)
print("finished")
