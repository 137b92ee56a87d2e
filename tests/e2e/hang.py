"""hang.py FOLDER [--page NAME] -- COMMAND…: COMMAND, where FOLDER is a file system that never answers (FUSE whose server reads and
is silent); with --page it answers, and has a file NAME of one page, whose bytes don't come until SIGUSR1: then reading fails.

In a user and mount namespace of its own, where an ordinary user may mount one; the command itself can't. Ends with the command's
status; 77: no such namespace can be made here.
"""
import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading

FUSE_INIT, MAJOR, MINOR = 26, 7, 31
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, OPENDIR, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 25, 27, 36, 42
ROOT, FILE, PAGE, ENOENT, EIO, ENOSYS = 1, 2, 4096, 2, 5, 38


def enter_namespace():
    user = ["--map-user", str(os.getuid()), "--map-group", str(os.getgid())]
    inside = ["unshare", "--user", "--mount", *user, "--keep-caps"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
        sys.exit(77)
    os.environ["HANG_INSIDE"] = "1"
    os.execvp("unshare", [*inside, sys.executable, "-B", *sys.argv])


def mount(folder):
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        sys.exit(77)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hang", os.fsencode(folder), b"fuse", 6, options.encode()) != 0:  # MS_NOSUID | MS_NODEV
        sys.exit(f"mounting: {os.strerror(ctypes.get_errno())}")
    return device


def be_silent(device):
    """It says that it is there (struct fuse_init_out), and nothing else, to nobody, ever."""
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError:
            return
        _, opcode, unique = struct.unpack_from("<IIQ", request)
        if opcode == FUSE_INIT:
            body = struct.pack("<IIIIHHIII", MAJOR, MINOR, 0, 0, 0, 0, 1 << 17, 1, 0) + bytes(32)
            os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)


def attributes(node):
    """struct fuse_attr"""
    mode = 0o40755 if node == ROOT else 0o100644
    size = 0 if node == ROOT else PAGE
    return struct.pack("<6Q10I", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, PAGE, 0)


def answer_to(opcode, node, name, page):
    """An errno and a body; None: nothing, ever."""
    if opcode == LOOKUP:
        found = node == ROOT and name == page
        return (0, struct.pack("<4Q2I", FILE, 0, 60, 60, 0, 0) + attributes(FILE)) if found else (ENOENT, b"")
    if opcode == GETATTR:
        return 0, struct.pack("<QII", 60, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return 0, bytes(16)
    if opcode in (RELEASE, FLUSH):
        return 0, b""
    return None if opcode in (READ, FORGET, BATCH_FORGET, INTERRUPT) else (ENOSYS, b"")


def serve_page(device, page):
    """Everything but the page itself."""
    waiting, over = [], threading.Event()

    def give_up(*_):
        over.set()
        while waiting:
            os.write(device, struct.pack("<IiQ", 16, -EIO, waiting.pop()))

    def serve():
        while True:
            try:
                request = os.read(device, 1 << 20)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if opcode == FUSE_INIT:
                done = 0, struct.pack("<IIIIHHIII", MAJOR, MINOR, 0, 0, 0, 0, 1 << 17, 1, 0) + bytes(32)
            else:
                done = answer_to(opcode, node, request[40:].split(b"\0")[0], page)
            if opcode == READ:
                waiting.append(unique)
                if over.is_set():
                    give_up()
            if done:
                os.write(device, struct.pack("<IiQ", 16 + len(done[1]), -done[0], unique) + done[1])

    signal.signal(signal.SIGUSR1, give_up)
    return serve


def main():
    if "HANG_INSIDE" not in os.environ:
        enter_namespace()
    folder, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    device = mount(folder)
    serve = (lambda: be_silent(device)) if sys.argv[2] == "--" else serve_page(device, os.fsencode(sys.argv[3]))
    threading.Thread(target=serve, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    dropped = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--"]
    done = subprocess.run([*dropped, *command], check=False, restore_signals=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    os._exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


main()
