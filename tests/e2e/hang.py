"""hang.py FOLDER -- COMMAND…: COMMAND, where FOLDER is a file system that never answers (FUSE whose server reads and is silent).

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


def main():
    if "HANG_INSIDE" not in os.environ:
        enter_namespace()
    folder, command = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
    threading.Thread(target=be_silent, args=(mount(folder),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    dropped = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all", "--"]
    done = subprocess.run([*dropped, *command], check=False, restore_signals=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    os._exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


main()
