"""plain.py WAY [ARG]: ways to a name that is asked about which look like ways to one that isn't (attack_plain.bats). Says what
became of each try, "WHAT worked" or "WHAT EROFS"."""
import errno
import mmap
import os
import socket
import sys
import time

PROJECT = os.getcwd()
ENVRC = PROJECT + "/.envrc"


def tried(what, attempt):
    try:
        attempt()
        print(what, "worked", flush=True)
    except OSError as error:
        print(what, errno.errorcode[error.errno], flush=True)


def fill(path, flags=os.O_CREAT | os.O_TRUNC, **at):
    descriptor = os.open(path, os.O_WRONLY | flags, 0o644, **at)
    os.write(descriptor, b"evil\n")
    os.close(descriptor)


def link_what_it_leads_to(way, name):
    """linkat(2) with AT_SYMLINK_FOLLOW, which Python uses only with a folder."""
    here = os.open(".", os.O_PATH)
    os.link(way, name, src_dir_fd=here, follow_symlinks=True)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def ordinary():
    """Whoever remembers where names are made remembers the project."""
    for name in ("first", "second"):
        fill(name)


def outside():
    """A folder of the sandbox's own with a link to what is asked about."""
    os.mkdir("/tmp/t")
    os.symlink(ENVRC, "/tmp/t/x")


def used(folder):
    """Made, used and removed: whoever remembers it remembers a folder."""
    os.mkdir(folder)
    for name in ("one", "two"):
        fill(f"{folder}/{name}")
    for name in ("one", "two"):
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


def up():
    os.makedirs("sub/dir")
    os.symlink("sub/dir", "l")
    os.symlink("../.envrc", "sub/x")
    ordinary()
    tried("up", lambda: fill("l/../x"))
    tried("up to the name", lambda: fill("l/../../.envrc"))
    tried("mkdir", lambda: os.mkdir("l/../../.vscode"))
    descriptor = os.open("sub/dir", os.O_PATH)
    tried("up from a descriptor", lambda: fill("../x", dir_fd=descriptor))
    os.chdir("sub/dir")
    tried("up from a folder", lambda: fill("../x"))


def up_elsewhere(shown):
    os.symlink(shown + "/sub", "shown")
    ordinary()
    tried("up", lambda: fill("shown/../x"))


def last():
    os.symlink(".envrc", "relative")
    os.symlink(ENVRC, "absolute")
    os.symlink("relative", "chain")
    os.mkdir("d")
    os.symlink("../.envrc", "d/link")
    ordinary()
    for name in ("relative", "absolute", "chain", "d/link"):
        tried(name, lambda: fill(name))
        tried(f"{name} whole", lambda: fill(f"{PROJECT}/{name}"))
    tried("no follow", lambda: fill("relative", os.O_CREAT | os.O_NOFOLLOW))
    tried("exclusive", lambda: fill("relative", os.O_CREAT | os.O_EXCL))


def proc():
    here = os.open(".", os.O_PATH)
    os.mkdir("d")
    for way in ("/proc/self/cwd", "/proc/thread-self/cwd", f"/proc/{os.getpid()}/cwd", f"/proc/self/fd/{here}",
                f"/dev/fd/{here}", f"/proc/self/root{PROJECT}", f"/proc/self/root/proc/self/cwd/d/.."):
        tried(way, lambda: fill(f"{way}/.envrc"))
    os.chdir("/proc/self")
    tried("from /proc", lambda: fill("cwd/../../.envrc"))
    tried("from a link", lambda: fill(f"root{PROJECT}/.envrc"))


def place_of_a_folder():
    outside()
    os.symlink("/tmp/t", "l0")
    tried("nothing there", lambda: fill("a/x"))
    os.link("l0", "a", follow_symlinks=False)
    tried("linked", lambda: fill("a/x"))
    used("b")
    os.link("l0", "b", follow_symlinks=False)
    tried("a folder before", lambda: fill("b/x"))
    used("c")
    os.rename("l0", "c")
    tried("renamed", lambda: fill("c/x"))
    os.makedirs("d/e")
    fill("d/e/one")
    os.rename("d", "f")
    os.makedirs("g")
    os.symlink("/tmp/t", "g/e")
    os.rename("g", "d")
    tried("above", lambda: fill("d/e/x"))
    tried("what isn't asked about", lambda: fill("c/plain"))
    print("plain", os.path.exists("/tmp/t/plain"))


def shut():
    outside()
    os.mkdir("d")
    os.symlink("/tmp/t", "d/l")
    os.chmod("d", 0)
    tried("shut", lambda: fill("d/l/x"))
    os.chmod("d", 0o700)
    tried("open again", lambda: fill("d/l/x"))


def made_by_the_host():
    hooks = PROJECT + "/.git/modules/m/hooks"
    open("up", "w").close()
    wait_for("go")
    tried("direct", lambda: fill(hooks + "/pre-commit"))
    os.mkdir("d")
    os.symlink(hooks, "d/l")
    os.chmod("d", 0)
    tried("shut", lambda: fill("d/l/post-checkout"))
    os.chmod("d", 0o700)
    tried("open again", lambda: fill("d/l/post-checkout"))
    os.chdir(hooks)
    tried("from within", lambda: fill("pre-push"))
    tried("a folder", lambda: os.mkdir("folder"))


def below_a_newer_mount():
    """Of the sandbox's own home, by the name of a folder that is granted later."""
    folder = os.environ["HOME"] + "/.x"
    os.makedirs(folder + "/d")
    os.symlink(ENVRC, folder + "/n")
    os.symlink(PROJECT, folder + "/d/p")
    before = os.open(folder, os.O_RDONLY)
    os.chdir(folder)
    open(PROJECT + "/up", "w").close()
    wait_for(folder + "/marker")
    fill(folder + "/one")
    tried("by the descriptor", lambda: fill("n", dir_fd=before))
    tried("by a link of it", lambda: fill("d/p/.envrc", dir_fd=before))
    tried("from the folder", lambda: fill("n"))
    tried("by the new name", lambda: fill(folder + "/n"))


def in_a_pattern(folder):
    for name in ("one", "two"):
        tried(name, lambda: fill(f"{folder}/{name}"))
    tried("a folder", lambda: os.mkdir(f"{folder}/folder"))
    os.chdir(folder)
    tried("from within", lambda: fill("three"))


def in_a_pin():
    open("up", "w").close()
    wait_for("go")
    while f"{PROJECT}/a/conf/special " not in open("/proc/self/mountinfo").read():
        time.sleep(0.02)
    in_a_pattern("a/conf")


def by_a_descriptor(folder):
    before, file = os.open(folder, os.O_RDONLY), os.open(folder + "/file", os.O_RDONLY)
    tried("fchmod", lambda: os.fchmod(before, 0o750))
    tried("futimens", lambda: os.utime(file, (1, 1)))
    open("up", "w").close()
    wait_for("go")
    while os.stat(folder).st_mode & 0o777 != 0o750:
        tried("fchmod later", lambda: os.fchmod(before, 0o750))
        time.sleep(0.02)
    tried("futimens later", lambda: os.utime(file, (1, 1)))


def a_folder_of_masks_as_a_file():
    """As a file `.git` leads to another repository."""
    for path in (".git", ".jj/repo"):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        tried(path, lambda path=path: fill(path))
        tried("exclusively " + path, lambda path=path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)))


def ways_to(path, descriptor, link):
    yield "plain", path
    yield "by the root", "/proc/self/root" + path
    yield "by a descriptor", f"/proc/self/fd/{descriptor}"
    yield "by the thread's descriptor", f"/proc/thread-self/fd/{descriptor}"
    yield "by a link", link + "/" + os.path.basename(path)


def made_by_the_host_and_open(*paths):
    """What was opened to be read, or by name alone, before it was masked, is written no other way than by its name."""
    os.symlink(".", "link")
    open("up", "w").close()
    for path in paths:
        wait_for(path)
    for path in paths:
        for flags in (os.O_RDONLY, os.O_PATH):
            fd = os.open(path, flags)
            for how, way in ways_to(f"{PROJECT}/{path}", fd, f"{PROJECT}/link"):
                tried(f"{path} {how}", lambda way=way: os.write(os.open(way, os.O_WRONLY | os.O_APPEND), b"evil"))
                tried(f"{path} {how} truncated", lambda way=way: os.truncate(way, 0))
                tried(f"{path} {how} chmod", lambda way=way: os.chmod(way, 0o777))
            time.sleep(1)
            tried(f"{path} later", lambda fd=fd: os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_APPEND), b"evil"))


def denied_while_it_is_open(path):
    """A descriptor of before is of the tree that may be written."""
    descriptors = [os.open(path, flags) for flags in (os.O_RDONLY, os.O_PATH)]
    os.symlink(f"/proc/self/fd/{descriptors[0]}", "way")
    open("up", "w").close()
    wait_for("go")
    for way in [f"/proc/self/fd/{fd}" for fd in descriptors] + [f"/dev/fd/{descriptors[0]}", "way"]:
        tried(f"{way} open", lambda way=way: os.write(os.open(way, os.O_WRONLY | os.O_APPEND), b"evil"))
        tried(f"{way} truncate", lambda way=way: os.truncate(way, 0))
        tried(f"{way} chmod", lambda way=way: os.chmod(way, 0o777))
        tried(f"{way} link", lambda way=way: link_what_it_leads_to(way, "link"))
    print("still", os.read(descriptors[0], 9))
    os.close(os.open("/dev/stdout", os.O_WRONLY | os.O_APPEND))
    unnamed = os.memfd_create("m")
    fill(f"/proc/self/fd/{unnamed}", 0)


def locks_of_git(*locks):
    """What git writes there comes to be the file that is masked."""
    for lock in locks:
        tried("makes " + lock, lambda lock=lock: fill(lock, os.O_CREAT | os.O_EXCL))
    open("up", "w").close()
    for lock in locks:
        wait_for(lock)
        tried("opens " + lock, lambda lock=lock: os.close(os.open(lock, os.O_WRONLY | os.O_APPEND)))
        tried("links " + lock, lambda lock=lock: os.link(lock, "link"))
        way = f"/proc/self/fd/{os.open(lock, os.O_RDONLY)}"
        tried("links by /proc " + lock, lambda way=way: link_what_it_leads_to(way, "link"))
        tried("truncates " + lock, lambda lock=lock: os.truncate(lock, 0))


def before_the_host_renames(_, *ways):
    """As `sed -i` and editors save: by another name, which no mask has."""
    open("up", "w").close()
    wait_for("temporary")
    descriptor = os.open("temporary", os.O_RDWR | os.O_APPEND)
    if "link" in ways:
        os.link("temporary", "link")
    if "map" in ways:
        memory = mmap.mmap(descriptor, 4)
    if "message" in ways:
        one, other = socket.socketpair()
        socket.send_fds(one, [b"x"], [descriptor])
    if "descriptor" not in ways:
        os.close(descriptor)
    open("held", "w").close()
    while True:
        time.sleep(1)
        if "link" in ways:
            tried("link", lambda: fill("link", 0))
            return
        print("goes on", flush=True)


def links_of_what_is_granted():
    """A name of it that outlives the grant."""
    fill(".envrc")
    tried("link", lambda: os.link(".envrc", "link"))
    way = f"/proc/self/fd/{os.open('.envrc', os.O_RDONLY)}"
    tried("link by /proc", lambda: link_what_it_leads_to(way, "link"))
    fill("plain")
    os.link("plain", "second")


def a_pipe(path):
    """Data goes into one whatever mount it lies in."""
    name = os.open(path, os.O_PATH)
    for way in (path, "/proc/self/root" + path, f"/proc/self/fd/{name}"):
        tried(way, lambda way=way: os.write(os.open(way, os.O_WRONLY | os.O_NONBLOCK), b"evil\n"))


{function.__name__: function for function in (
    up, up_elsewhere, last, proc, place_of_a_folder, shut, made_by_the_host, below_a_newer_mount, in_a_pattern, in_a_pin,
    by_a_descriptor, a_folder_of_masks_as_a_file, made_by_the_host_and_open, a_pipe, locks_of_git,
    denied_while_it_is_open, links_of_what_is_granted, before_the_host_renames)}[sys.argv[1]](*sys.argv[2:])
