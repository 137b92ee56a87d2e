"""Inside: makes `up`, and opens each of the paths to write, without O_CREAT, as soon as it is there."""

import os
import sys

open("up", "w").close()
waiting = sys.argv[1:]
while waiting:
    for path in waiting:
        if not os.path.lexists(path):
            continue
        waiting.remove(path)
        try:
            os.write(os.open(path, os.O_WRONLY), b"evil")
            print("written:", path)
        except OSError as error:
            print(path, error.strerror)
        break
