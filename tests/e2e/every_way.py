"""In the sandbox: makes each NAME of the list on standard input in the folder ROOT by every way there is, or changes it.

every_way.py ROOT: each way that works is undone, so that the next one can be tried, and named: "WAY NAME".
"""
import ctypes
import os
import shutil
import sys

RENAME_EXCHANGE = 2
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one, other):
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), RENAME_EXCHANGE) < 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def fresh(name, text="evil\n"):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return name


def folder_with(top, name):
    """A folder TOP in which NAME is, made where the name means nothing."""
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path))
    fresh(path)
    return top


def create(root, name, spare):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fresh(path)


def make_folder(root, name, spare):
    os.makedirs(os.path.join(root, name))


def rename(root, name, spare):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.rename(fresh(spare), path)


def link(root, name, spare):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.link(fresh(spare), path)


def symlink(root, name, spare):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink("elsewhere", path)


def swap(root, name, spare):
    """Exchanges a folder (or file) of another name with the first part of NAME."""
    first, _, rest = name.partition("/")
    there = os.path.join(root, first)
    if rest:
        folder_with(spare, rest)
        os.makedirs(there, exist_ok=True)
    else:
        fresh(spare)
        fresh(there)  # refused already, unless the name isn't kept
    exchange(spare, there)


def move_around(root, name, spare):
    """Moves a folder that has the rest of NAME to its first part."""
    first, _, rest = name.partition("/")
    there = os.path.join(root, first)
    if rest:
        folder_with(spare, rest)
    else:
        folder_with(spare, "inner")
    os.rename(spare, there)


WAYS = {f.__name__: f for f in (create, make_folder, rename, link, symlink, swap, move_around)}


def state(path):
    """None where nothing is; else what changes when it is written, replaced or gets a name in it."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def remove(path):
    if os.path.islink(path) or not os.path.isdir(path):
        if os.path.lexists(path):
            os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def main():
    root = sys.argv[1]
    tried = 0
    for name in sys.stdin.read().split("\n"):
        if not name:
            continue
        for way, make in WAYS.items():
            spare = os.path.join(root, "spare")
            tried += 1
            before = state(os.path.join(root, name))
            kept = os.path.lexists(os.path.join(root, name.partition("/")[0]))
            try:
                make(root, name, spare)
            except OSError:
                pass
            if state(os.path.join(root, name)) != before:
                print(way, os.path.join(root, name), flush=True)
            remove(spare)
            if not kept:
                remove(os.path.join(root, name.partition("/")[0]))
    print("tried", tried)


main()
