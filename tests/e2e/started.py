"""Each program of sbx in each odd way of being started: it works, or says in one sentence what is wrong.

started.py BIN: prints a line for each case that does neither, and ends with 1 if there is one.
"""
import ctypes
import os
import resource
import select
import signal
import socket
import sys

BIN = sys.argv[1]
HOME = os.environ["HOME"]
# Where another HOME would have a broker of its own.
OWN_FOLDERS = {"XDG_STATE_HOME": HOME + "/.local/state", "XDG_CONFIG_HOME": HOME + "/.config"}
PATIENCE = 60  # seconds, until a program that neither ends nor says anything counts as stuck

PROGRAMS = [
    ("sbx", "run", "--", "true"),
    ("sbx", "grants"),
    ("sbx", "doctor"),
    ("sbx", "--version"),
    ("sbx-monitor", "--check"),
    ("sbxd", "--version"),
    ("sbx-notify", "--version"),
    ("sbx-init",),
]


def closed(*fds):
    def prepare():
        for fd in fds:
            os.close(fd)
    return {"prepare": prepare, "mute": 2 in fds}


def limit(which, value):
    return {"prepare": lambda: resource.setrlimit(which, (value, value))}


def ignored(number):
    return {"prepare": lambda: signal.signal(number, signal.SIG_IGN)}


def processes(more):
    """So many more than the user has now: how far a start gets then is the machine's affair."""
    def prepare():
        own, count = os.getuid(), 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{name}").st_uid == own:
                    count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                pass
        resource.setrlimit(resource.RLIMIT_NPROC, (count + more, count + more))
    return {"prepare": prepare}


def environment(**changes):
    return {"environment": changes}


WAYS = {
    "0 closed": closed(0),
    "1 closed": closed(1),
    "2 closed": closed(2),
    "0, 1 and 2 closed": closed(0, 1, 2),
    "SIGCHLD ignored": ignored(signal.SIGCHLD),
    "SIGPIPE ignored": ignored(signal.SIGPIPE),
    "SIGHUP ignored": ignored(signal.SIGHUP),
    "all signals blocked": {"prepare": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())},
    "lowest niceness": {"prepare": lambda: os.nice(19)},
    "umask 777": {"prepare": lambda: os.umask(0o777)},
    "NOFILE 64": limit(resource.RLIMIT_NOFILE, 64),
    "STACK 64 KiB": limit(resource.RLIMIT_STACK, 64 * 1024),
    "FSIZE 0": limit(resource.RLIMIT_FSIZE, 0),
    "MEMLOCK 0": limit(resource.RLIMIT_MEMLOCK, 0),
    "SIGPENDING 0": limit(resource.RLIMIT_SIGPENDING, 0),
    "AS 256 MiB": limit(resource.RLIMIT_AS, 256 * 1024 * 1024),
    "CPU 20 s": limit(resource.RLIMIT_CPU, 20),
    "no words at all": {"words": []},
    "NPROC 1": limit(resource.RLIMIT_NPROC, 1),
    **{f"{more} more processes": processes(more) for more in range(1, 9)},
    "HOME of root": environment(HOME="/root"),
    "no HOME": environment(HOME=None, **OWN_FOLDERS),  # the account's is taken then
    "empty HOME": environment(HOME="", **OWN_FOLDERS),
    "relative HOME": environment(HOME="project", **OWN_FOLDERS),
    "HOME that isn't there": environment(HOME=HOME + "/missing", **OWN_FOLDERS),
    "HOME that others may write": environment(HOME=HOME + "/open", **OWN_FOLDERS),
    "HOME is a file": environment(HOME=HOME + "/.config/sbx/policy.yaml"),
    "no PATH": environment(PATH=None),
    "empty PATH": environment(PATH=""),
    "relative PATH": environment(PATH="bin:."),
    "odd TERM": environment(TERM="\x1b[31m"),
    "odd locale": environment(LC_ALL="xx_YY.no-such"),
    "a folder as 0": {"stdin": os.open("/", os.O_RDONLY | os.O_DIRECTORY)},
    "a datagram socket as 0": {"stdin": socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].detach()},
    "a write-only 0": {"stdin": os.open("/dev/null", os.O_WRONLY)},
}


def execute(path, words, env):
    """execve(2), also without any word, which os.execve refuses."""
    texts = [os.fsencode(word) for word in words] + [None]
    pairs = [os.fsencode(f"{name}={value}") for name, value in env.items()] + [None]
    ctypes.CDLL(None).execve(os.fsencode(path), (ctypes.c_char_p * len(texts))(*texts),
                             (ctypes.c_char_p * len(pairs))(*pairs))
    os._exit(99)


def read_all(fd):
    """All that comes until the end, or None."""
    text = b""
    while select.select([fd], [], [], PATIENCE)[0]:
        block = os.read(fd, 4096)
        if not block:
            return text
        text += block
    return None


def start(program, way):
    """Status and stderr's text."""
    env = dict(os.environ)
    for name, value in way.get("environment", {}).items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    path = os.path.join(BIN, program[0])
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(way.get("stdin", os.open("/dev/null", os.O_RDONLY)), 0)
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.dup2(write_end, 2)
        os.closerange(3, 1024)
        way.get("prepare", lambda: None)()
        execute(path, way.get("words", program), env)
    os.close(write_end)
    text = read_all(read_end)
    os.close(read_end)
    if text is None:
        os.kill(pid, signal.SIGKILL)
        text = b"it neither ends nor says anything"
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode(errors="replace")


def fault(program, way):
    status, text = start(program, way)
    if status == 0 or (program[-1] in ("doctor", "--check") and status == 1):
        return None
    if status < 0:
        return f"ended by signal {-status}: {text}"
    if way.get("mute"):
        return None
    lines = [line for line in text.splitlines() if line.startswith(("sbx", "Usage"))]
    return None if lines else f"status {status} and no sentence: {text!r}"


os.mkdir(HOME + "/open")
os.chmod(HOME + "/open", 0o777)
bad = 0
for name, way in WAYS.items():
    for program in PROGRAMS:
        wrong = fault(program, way)
        if wrong:
            bad += 1
            print(f"{' '.join(program)}, {name}: {wrong}")
sys.exit(1 if bad else 0)
