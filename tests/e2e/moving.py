"""Inside: tries again and again to open files, until there is a file `end`: `read:PATH` to read, `write:PATH` to write
what is there, nothing is made. The file `state` has a line `WORD PATH` of each (gone, refused, open) and the number of
the round; what was read is in the file `read`."""

import os
import sys
import time


def attempt(order):
    how, _, path = order.partition(":")
    if not os.path.lexists(path):
        return "gone", path
    try:
        fd = os.open(path, os.O_RDONLY if how == "read" else os.O_WRONLY)
    except FileNotFoundError:
        return "gone", path
    except OSError:
        return "refused", path
    text = os.read(fd, 1000) if how == "read" and not os.path.isdir(fd) else b""
    os.close(fd)
    if text:
        with open("read", "ab") as file:
            file.write(text)
    return "open", path


number = 0
while not os.path.exists("end"):
    number += 1
    lines = [" ".join(attempt(order)) for order in sys.argv[1:]]
    with open("state.new", "w") as file:
        file.write("\n".join(lines + [f"round {number}", ""]))
    os.rename("state.new", "state")
    time.sleep(0.0003)  # so that it doesn't take a processor from the other tests
print("finished")
