"""Changes what is in a folder, over and over: changing.py FOLDER. A file is now one, now a link, now a pipe; a folder is now one, now a link
to another; and one file grows and shrinks."""
import os
import sys

os.chdir(sys.argv[1])
os.makedirs("real", exist_ok=True)
with open("real/file", "w", encoding="ascii") as file:
    file.write("text\n")


def put(make, name):
    make("new")
    os.rename("new", name)


def plain(name):
    with open(name, "w", encoding="ascii") as made:
        made.write("text\n")


while True:
    put(plain, "file")
    put(lambda name: os.symlink("/etc/passwd", name), "file")
    put(os.mkfifo, "file")
    put(plain, "file")
    os.rename("real", "folder")
    os.symlink("/etc", "real")
    os.unlink("real")
    os.rename("folder", "real")
    with open("size", "w", encoding="ascii") as file:
        file.write("x" * 4096)
