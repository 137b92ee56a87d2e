"""linking.py TASK …: what a shell can't do to links, tried in the working folder; prints how each went."""
import ctypes
import errno
import os
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EXCHANGE, FOLLOW = -100, 2, 0x400
RENAMEAT2, SYMLINKAT, LINKAT = (316, 266, 265) if os.uname().machine == "x86_64" else (276, 36, 37)


def result(name, function):
    try:
        function()
        print(name, "worked", flush=True)
    except OSError as error:
        print(name, errno.errorcode[error.errno], flush=True)


def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "failed")


def renameat2(one, other, flags):
    call(RENAMEAT2, AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), flags)


def ways(target):
    """Each call that makes a link or brings one to a place."""
    result("symlink", lambda: os.symlink(target, "by-symlink"))
    result("symlinkat", lambda: os.symlink(target, "by-symlinkat", dir_fd=os.open(".", os.O_PATH)))
    os.makedirs("deep/er", exist_ok=True)
    os.symlink("../../" + "up", "deep/er/link")
    result("rename", lambda: os.rename("deep/er/link", "by-rename"))
    result("link", lambda: os.link("deep/er/link", "by-link", follow_symlinks=False))
    descriptor = os.open("deep/er/link", os.O_PATH | os.O_NOFOLLOW)
    result("linkat", lambda: call(LINKAT, AT_FDCWD, b"/proc/self/fd/%d" % descriptor, AT_FDCWD, b"by-linkat", FOLLOW))
    os.symlink("nothing", "beside")
    result("exchange", lambda: renameat2("beside", "deep/er/link", EXCHANGE))
    result("exchange back", lambda: renameat2("deep/er/link", "beside", EXCHANGE))
    result("folder", lambda: os.rename("deep/er", "by-folder"))
    os.chmod("deep/er", 0)
    result("closed folder", lambda: os.rename("deep/er", "by-closed"))
    os.chmod("deep/er", 0o700)
    os.makedirs("d", exist_ok=True)
    result("behind a name", lambda: os.symlink("d/../x", "twisted"))


def errors():
    """What the kernel refuses is refused as it does."""
    long_name = "x" * 256
    os.makedirs("there", exist_ok=True)
    result("nothing", lambda: os.symlink("", "l"))
    result("no name", lambda: os.symlink("x", ""))
    result("there", lambda: os.symlink("x", "there"))
    result("dot", lambda: os.symlink("x", "there/."))
    result("up", lambda: os.symlink("x", "there/.."))
    result("slash", lambda: os.symlink("x", "new/"))
    result("no folder", lambda: os.symlink("x", "gone/l"))
    result("a file's", lambda: os.symlink("x", "file/l"))
    result("long", lambda: os.symlink("x", long_name))
    result("long text", lambda: os.symlink("x" * 4096, "l"))
    result("bad text", lambda: call(SYMLINKAT, None, AT_FDCWD, b"l"))
    result("bad name", lambda: call(SYMLINKAT, b"x", AT_FDCWD, None))
    result("bad descriptor", lambda: call(SYMLINKAT, b"x", 99, b"l"))
    result("no folder's descriptor", lambda: call(SYMLINKAT, b"x", os.open("file", os.O_PATH), b"l"))
    os.mkdir("removed")
    removed = os.open("removed", os.O_PATH)
    os.rmdir("removed")
    result("removed folder", lambda: os.symlink("x", "l", dir_fd=removed))
    result("good", lambda: os.symlink("x", "there/good"))


def race(target, times):
    """A second thread writes another text, and another path, over those of the call."""
    inside = b"inside".ljust(len(target), b"\0")
    text = ctypes.create_string_buffer(inside, len(target) + 1)
    over = False

    def write():
        while not over:
            ctypes.memmove(text, target, len(target))
            ctypes.memmove(text, inside, len(inside))

    thread = threading.Thread(target=write)
    thread.start()
    for i in range(times):
        libc.symlink(text, b"race%d" % i)
    over = True
    thread.join()
    made = [os.readlink(f"race{i}") for i in range(times) if os.path.lexists(f"race{i}")]
    print("race", len(made) > 0, [text for text in made if text.startswith("/")])


def many(count):
    os.mkdir("many")
    for i in range(count):
        os.symlink(f"../file{i}", f"many/{i}")
    print("many", len(os.listdir("many")))


open("file", "w").close()
task, arguments = sys.argv[1], sys.argv[2:]
if task == "ways":
    ways(arguments[0])
elif task == "errors":
    errors()
elif task == "race":
    race(arguments[0].encode(), int(arguments[1]))
elif task == "many":
    many(int(arguments[0]))
