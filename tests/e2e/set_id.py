"""set_id.py: every way to give a file the set-user-ID or set-group-ID bit, tried in the working folder; prints how each went."""
import ctypes
import errno
import os
import struct
import subprocess
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
FCHMODAT2, OPENAT2, AT_FDCWD, EMPTY_PATH = 452, 437, -100, 0x1000
FCHMOD, FCHMODAT = (91, 268) if os.uname().machine == "x86_64" else (52, 53)


def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "failed")


def attempt(name, function):
    try:
        function()
        print(name, "worked")
    except OSError as error:
        print(name, errno.errorcode[error.errno])


def made(flags, mode):
    os.close(os.open(f"made{flags}.{mode:o}", flags | os.O_WRONLY, mode))


def nameless():
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o6755)
    os.link(f"/proc/self/fd/{fd}", "nameless", follow_symlinks=True)


def race():
    """A folder and a file change places while the folder is given the bit."""
    os.mkdir("one")
    open("two", "w").close()
    over = False

    def exchange():
        while not over:
            libc.renameat2(AT_FDCWD, b"one", AT_FDCWD, b"two", 2)

    thread = threading.Thread(target=exchange)
    thread.start()
    for _ in range(int(sys.argv[1])):
        libc.chmod(b"one", 0o2755)
    over = True
    thread.join()
    print("race", [name for name in ("one", "two") if not os.path.isdir(name) and os.stat(name).st_mode & 0o6000])


os.umask(0)
open("file", "w").close()
os.symlink("file", "link")
os.mkdir("folder")
descriptor = os.open("file", os.O_RDONLY)
for mode in (0o4755, 0o2755, 0o6755):
    attempt(f"chmod {mode:o}", lambda: os.chmod("file", mode))
    attempt(f"fchmod {mode:o}", lambda: os.fchmod(descriptor, mode))
    attempt(f"fchmodat {mode:o}", lambda: os.chmod("file", mode, dir_fd=os.open(".", os.O_PATH)))
    attempt(f"fchmodat2 {mode:o}", lambda: call(FCHMODAT2, AT_FDCWD, b"link", mode, 0))
    attempt(f"open {mode:o}", lambda: made(os.O_CREAT, mode))
    attempt(f"creat {mode:o}", lambda: call(85 if os.uname().machine == "x86_64" else -1, b"created", mode))
    attempt(f"mknod {mode:o}", lambda: os.mknod(f"node{mode:o}", 0o100000 | mode))
attempt("O_TMPFILE", nameless)
attempt("openat2", lambda: call(OPENAT2, AT_FDCWD, b"second", struct.pack("QQQ", os.O_CREAT | os.O_RDWR, 0o6755, 0), 24))
attempt("open of what is there", lambda: os.close(os.open("file", os.O_WRONLY, 0o6755)))
attempt("chmod of a folder", lambda: os.chmod("folder", 0o2770))
attempt("fchmod of a folder", lambda: os.fchmod(os.open("folder", os.O_RDONLY), 0o2775))
os.chdir("folder")
attempt("fchmod of no descriptor", lambda: call(FCHMOD, AT_FDCWD, 0o2755))
attempt("fchmod of a name", lambda: call(FCHMOD, os.open(".", os.O_PATH), 0o2755))
attempt("fchmodat of nowhere", lambda: call(FCHMODAT, AT_FDCWD, None, 0o2755))
attempt("fchmodat of an empty path", lambda: call(FCHMODAT, AT_FDCWD, b"", 0o2755))
attempt("fchmodat2 of an empty path", lambda: call(FCHMODAT2, AT_FDCWD, b"", 0o2755, 0))
attempt("fchmodat2 with other flags", lambda: call(FCHMODAT2, AT_FDCWD, b".", 0o2755, 1))
attempt("fchmodat2 of a descriptor", lambda: call(FCHMODAT2, os.open(".", os.O_PATH), b"", 0o2775, EMPTY_PATH))
os.chdir("..")
attempt("chmod of no bit", lambda: os.chmod("file", 0o1755))
attempt("chmod of nothing", lambda: os.chmod("nothing", 0o2755))
print("folder", oct(os.stat("folder").st_mode & 0o7777))
subprocess.run(["git", "init", "-q", "--shared", "repository"], check=True)
print("shared", oct(os.stat("repository/.git/refs").st_mode & 0o2000))
race()
