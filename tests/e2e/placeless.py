"""placeless.py FOLDER DOORBELL: names that are masked and not there, made by ways whose place a look at their text doesn't tell.
FOLDER may be asked for. Each way that made one is said, and undone; "tried N" comes last. What isn't
masked is made by the same ways: those that weren't are said, too."""
import ctypes, errno, mmap, os, struct, sys

MAKE = os.O_CREAT | os.O_WRONLY
libc = ctypes.CDLL(None, use_errno=True)
top = os.getcwd()
curtain = sys.argv[1]
tried = 0


def undo(path):
    if not os.path.lexists(path):
        return False
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    else:
        os.unlink(path)
    return True


def bound(path):
    import socket
    socket.socket(socket.AF_UNIX).bind(path)


def moved(path):
    open(top + "/plain", "w").close()
    os.rename(top + "/plain", path)


CALLS = {"open": lambda path: os.close(os.open(path, MAKE)), "mkdir": os.mkdir, "symlink": lambda path: os.symlink("x", path),
         "rename": moved, "mknod": lambda path: os.mknod(path, 0o600 | 0o10000), "bind": bound}


def attempt(way, call, name, function, made):
    """made: an error that the kernel gives by itself, or None."""
    global tried
    tried += 1
    try:
        function()
        got = None
    except OSError as e:
        got = e.errno
    there = undo(top + "/" + name)
    if name == "plain2" and got != made:
        print("WRONG: %s by %s: %s" % (name, way, got))
    if name != "plain2" and there:
        print("MADE: %s by %s, %s" % (name, way, call))
    undo(top + "/plain")


def every(way, prefix, calls=CALLS, made=None):
    for call in calls:
        for name in (".envrc", "plain2"):
            attempt(way, call, name, lambda: CALLS[call](prefix + name), made)
    for name in (".vscode", ".git/commondir"):
        attempt(way, "open", name, lambda: CALLS["open"](prefix + name), made)


def removed():
    os.mkdir(top + "/gone")
    fd = os.open(top + "/gone", os.O_RDONLY)
    os.rmdir(top + "/gone")
    return fd


every("the working folder", "")

gone = removed()
for proc in ("/proc/self/fd", "/dev/fd", "/proc/thread-self/fd", "/proc/self/task/%d/fd" % os.getpid()):
    every("a folder that was removed, " + proc, "%s/%d/../" % (proc, gone))
os.symlink("/proc/self/fd/%d" % gone, "link")
every("a link to a folder that was removed", "link/../")
os.unlink("link")
for name in (".envrc", "plain2"):
    attempt("its descriptor", "openat", name, lambda: os.close(os.open("../" + name, MAKE, dir_fd=gone)), None)
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
every("the working folder, which was removed", "../")
every("the working folder, which was removed", "/proc/self/cwd/../")
for way in ("x", "/proc/self/cwd/x"):  # as ever
    try:
        os.open(way, MAKE)
        print("WRONG: made in a folder that was removed")
    except OSError as e:
        if e.errno != errno.ENOENT:
            print("WRONG: in a folder that was removed:", e)
os.close(os.open(".", os.O_RDONLY))
os.chdir(top)

os.symlink(".", "d")
absent = errno.ENOENT if sys.argv[2] == "traps" else None  # with traps nothing stands there
every("out of the curtain", curtain + "/../" + os.path.basename(top) + "/", made=absent)
every("out of the curtain and by a link", curtain + "/../" + os.path.basename(top) + "/d/", made=absent)
for name in (".envrc",):
    attempt("within the curtain", "open", name, lambda: CALLS["open"](curtain + "/x/../../" + os.path.basename(top) + "/d/" + name), None)
if not absent:
    within = os.open(curtain, os.O_PATH)
    every("from within the curtain", "/proc/self/fd/%d/../%s/d/" % (within, os.path.basename(top)))
    os.close(within)
os.unlink("d")

long = "D" * 250
os.mkdir("deep")
os.chdir("deep")
for i in range(18):
    os.mkdir(long)
    os.chdir(long)
every("a folder too deep for a path", "../" * 19)
open("ordinary", "w").close()
os.unlink("ordinary")
for i in range(18):
    os.chdir("..")
    os.rmdir(long)
os.chdir(top)
os.rmdir("deep")

# Memory that nobody but the kernel can read for the tool.
secret = libc.syscall(447, 0) if os.uname().machine in ("x86_64", "aarch64", "riscv64") else -1
if secret >= 0:
    os.ftruncate(secret, 4096)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    at = libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, secret, 0)
    ctypes.memmove(at, b".envrc\0", 7)
    attempt("a path that can't be read", "open", ".envrc", lambda: libc.open(ctypes.c_void_p(at), MAKE, 0o600), None)
    attempt("a path that can't be read", "mkdir", ".envrc", lambda: libc.mkdir(ctypes.c_void_p(at), 0o700), None)

os.close(gone)
print("tried", tried)
