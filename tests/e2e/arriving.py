"""Inside: opens paths again and again until there is a file `end`, and notes those that can't be opened although a look
says that they are there (hidden), and what was read (read). Makes `up` when it begins."""

import os
import sys
import time


def look(path, hidden):
    try:
        there = os.lstat(path)
        if os.path.isdir(path):
            text = " ".join(os.listdir(path))
        else:
            with open(path) as file:
                text = file.read()
    except PermissionError:
        if path not in hidden:
            with open("hidden", "a") as file:
                file.write(path + "\n")
        hidden.add(path)
        return
    except OSError:
        hidden.discard(path)
        return
    hidden.discard(path)
    if text and there:
        with open("read", "a") as file:
            file.write(f"{path}: {text}\n")


paths, known = sys.argv[1:], set()
open("up", "w").close()
while not os.path.exists("end"):
    for each in paths:
        look(each, known)
    time.sleep(0.0003)  # so that one reader doesn't take a processor from the other tests
for each in paths * 20:
    look(each, known)
