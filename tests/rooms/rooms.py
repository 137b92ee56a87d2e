#!/usr/bin/env python3
"""rooms: the folders of broker/ and runner/ form no circle, and the files of a folder none of more than three.

An arrow is an include of a project's own header, or a symbol that one object uses and another one defines (nm(1), where
the build is there): a declaration in somebody else's header would hide it from the includes. A file is a noun: NAME.c and
NAME.h together. --self-test looks whether planted circles are found.
"""
import os
import re
import subprocess
import sys
import tempfile

TREES = ("broker", "runner")
MOST_FILES = 3
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def nouns_of(source, tree):
    """Each file's path below `source`, with its (room, noun). A public header is its room's."""
    nouns = {}
    for folder, _, files in os.walk(os.path.join(source, tree)):
        below = os.path.relpath(folder, source)
        room = below.split("/include/")[0]
        if room.endswith("/include"):
            room = os.path.dirname(room)
        for name in files:
            if name.endswith((".c", ".h")):
                nouns[os.path.join(below, name)] = (room, name[:-2])
    return nouns


def find_header(nouns, tree, path, include):
    """The file that is included; None: it is none of this tree's."""
    folders = [os.path.dirname(path), tree]
    folders += sorted({p.split("/include/")[0] + "/include" for p in nouns if "/include/" in p})
    for folder in folders:
        found = os.path.normpath(os.path.join(folder, include))
        if found in nouns:
            return found
    return None


def add_includes(source, tree, nouns, arrows):
    for path, noun in nouns.items():
        with open(os.path.join(source, path), encoding="utf-8") as file:
            text = file.read()
        for include in INCLUDE.findall(text):
            header = find_header(nouns, tree, path, include)
            if header and nouns[header] != noun:
                arrows.setdefault(noun, {}).setdefault(nouns[header], f"{path} includes {include}")


def members_of(build, tree):
    """Of each object in the tree's libraries: its source, what it defines for others, what it uses of others."""
    members = {}
    for folder, _, files in os.walk(os.path.join(build, tree)):
        for name in files:
            if not name.endswith(".a"):
                continue
            output = subprocess.run(["nm", "-A", "-g", "-P", os.path.join(folder, name)], check=True,
                                    capture_output=True, text=True).stdout
            for member, symbol, kind in re.findall(r"\[(.+)\.o\]: (\S+) (\w)", output):
                source = os.path.join(os.path.relpath(folder, build), member)
                defines, uses = members.setdefault(source, (set(), set()))
                (uses if kind in "Uwv" else defines).add(symbol)
    return members


def add_symbols(build, tree, nouns, arrows):
    members = {nouns[path]: symbols for path, symbols in members_of(build, tree).items() if path in nouns}
    defined = {symbol: noun for noun, (defines, _) in members.items() for symbol in defines}
    for noun, (_, uses) in members.items():
        for symbol in uses:
            other = defined.get(symbol, noun)
            if other != noun:
                arrows.setdefault(noun, {}).setdefault(other, f"{'/'.join(noun)} uses {symbol}")
    return len(defined)


def circles(arrows):
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in arrows.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in list(arrows):
        if node not in index:
            visit(node)
    return found


def describe(what, circle, arrows):
    lines = [f"a circle of {len(circle)} {what}:"]
    for node in sorted(circle):
        for other, why in sorted(arrows.get(node, {}).items()):
            if other in circle:
                lines.append(f"  {why}")
    return "\n".join(lines)


def rooms_of(arrows):
    rooms = {}
    for noun, others in arrows.items():
        for other, why in others.items():
            if noun[0] != other[0]:
                rooms.setdefault(noun[0], {}).setdefault(other[0], why)
    return rooms


def look(source, build, tree):
    """The tree's circles in words, and how much was looked at."""
    nouns, arrows = nouns_of(source, tree), {}
    add_includes(source, tree, nouns, arrows)
    symbols = add_symbols(build, tree, nouns, arrows) if build else 0
    rooms = rooms_of(arrows)
    wrong = [describe("rooms", c, rooms) for c in circles(rooms)]
    for room in sorted({noun[0] for noun in nouns.values()}):
        inside = {n: {o: w for o, w in others.items() if o[0] == room} for n, others in arrows.items() if n[0] == room}
        wrong += [describe(f"files in {room}", c, inside) for c in circles(inside) if len(c) > MOST_FILES]
    return wrong, len(nouns), symbols


def plant(folder, files):
    for path, includes in files.items():
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.writelines(f'#include "{include}"\n' for include in includes)


def find_planted(files):
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, files)
        return look(folder, None, "broker")[0]


def hide_symbol():
    """Two rooms that include nothing of each other, and use each other's functions."""
    with tempfile.TemporaryDirectory() as folder:
        for room, own, other in (("a", "one", "two"), ("b", "two", "one")):
            at = os.path.join(folder, "broker", room)
            os.makedirs(at)
            with open(f"{at}/{own}.c", "w", encoding="utf-8") as file:
                file.write(f"void {own}(void);\nvoid {other}(void);\nvoid {own}(void) {{ {other}(); }}\n")
            subprocess.run([os.environ.get("CC", "cc"), "-c", f"{own}.c", "-o", f"{own}.c.o"], check=True, cwd=at)
            subprocess.run(["ar", "rc", f"lib{room}.a", f"{own}.c.o"], check=True, cwd=at)
        return look(folder, folder, "broker")[0]


def self_test():
    ring = ["n0", "n1", "n2", "n3"]
    between = {"broker/a/x.c": ["b/y.h"], "broker/a/x.h": [], "broker/b/y.h": [], "broker/b/z.c": ["a/x.h"]}
    inside = {f"broker/a/{n}.h": [f"{ring[(i + 1) % 4]}.h"] for i, n in enumerate(ring)}
    small = {f"broker/a/{n}.h": [f"{ring[(i + 1) % 3]}.h"] for i, n in enumerate(ring[:3])}
    downwards = {"broker/a/x.c": ["b/y.h"], "broker/b/y.h": []}
    expected = ((find_planted(between), 1, "rooms"), (find_planted(inside), 1, "4 files in broker/a"),
                (find_planted(small), 0, ""), (find_planted(downwards), 0, ""), (hide_symbol(), 1, "uses one"))
    for wrong, count, words in expected:
        assert len(wrong) == count and all(words in text for text in wrong), (wrong, count, words)


def main(arguments):
    self_test()
    if arguments == ["--self-test"]:
        return 0
    source, build = arguments
    status = 0
    for tree in TREES:
        wrong, files, symbols = look(source, build, tree)
        print(f"{tree}: {files} files and {symbols} symbols, {len(wrong)} circles too many")
        assert files > 100 and symbols > 100, "next to nothing was looked at"
        for text in wrong:
            print(text)
        status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
