#include "touch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"
#include "support/home.h"

enum { FUSE_MAGIC = 0x65735546 }; /* statfs(2) */

static char path[PATH_MAX], other[PATH_MAX];

static const char *at(const char *host, const char *name) {
	snprintf(path, sizeof path, "%s/%s", host, name);
	return path;
}

static const char *at_other(const char *host, const char *name) {
	snprintf(other, sizeof other, "%s/%s", host, name);
	return other;
}

/* Of a descriptor, which it closes; a negative one is errno's. */
static int real(int fd) {
	struct statfs status;
	if (fd < 0) return errno;
	int code = fstatfs(fd, &status) < 0 ? errno : status.f_type == FUSE_MAGIC ? TOUCH_CURTAIN : 0;
	close(fd);
	return code;
}

static int real_text(int fd) {
	char text[16] = {0};
	if (fd < 0) return errno;
	if (read(fd, text, sizeof text - 1) < 0) return errno;
	return strncmp(text, "real", 4) == 0 ? real(fd) : ENOMSG;
}

static int done(long result) {
	return result < 0 ? errno : 0;
}

/* The call has succeeded, and what it is about is there, on the real file system. */
static int real_after(long result, const char *name) {
	return result < 0 ? errno : real(open(name, O_PATH | O_NOFOLLOW));
}

static int touch_open(const char *host, const char *argument) {
	(void)argument;
	return real_text(open(at(host, "a/b.txt"), O_RDONLY));
}

static int touch_read_write(const char *host, const char *argument) {
	(void)argument;
	int fd = open(at(host, "a/b.txt"), O_RDWR);
	return fd < 0 || write(fd, "r", 1) == 1 ? real(fd) : errno;
}

static int touch_truncating(const char *host, const char *argument) {
	(void)argument;
	int fd = open(at(host, "a/c.txt"), O_WRONLY | O_TRUNC);
	return fd < 0 || write(fd, "new", 3) == 3 ? real(fd) : errno;
}

static int touch_append(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "a/c.txt"), O_WRONLY | O_APPEND | O_NOFOLLOW));
}

static int touch_create_there(const char *host, const char *argument) {
	(void)argument;
	return real_text(open(at(host, "a/b.txt"), O_CREAT | O_RDWR, 0600));
}

static int touch_create(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "a/new"), O_CREAT | O_WRONLY, 0600));
}

static int touch_create_top(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "new"), O_CREAT | O_WRONLY | O_TRUNC, 0600));
}

static int touch_create_exclusively(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "a/new"), O_CREAT | O_EXCL | O_WRONLY, 0600));
}

static int touch_exclusive_there(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "a/b.txt"), O_CREAT | O_EXCL | O_WRONLY, 0600)) == EEXIST ? 0 : EINVAL;
}

static int touch_nameless(const char *host, const char *argument) {
	(void)argument;
	return real(open(at(host, "a"), O_TMPFILE | O_RDWR, 0600));
}

static int count_names(const char *name) {
	DIR *folder = opendir(name);
	int count = 0;
	if (!folder) return -errno;
	while (readdir(folder)) count++;
	int code = real(dup(dirfd(folder)));
	closedir(folder);
	return code ? -code : count;
}

static int touch_list(const char *host, const char *argument) {
	(void)argument;
	int count = count_names(at(host, "a"));
	return count < 0 ? -count : count > 5 ? 0 : ENOMSG;
}

static int touch_list_top(const char *host, const char *argument) {
	(void)argument;
	int count = count_names(host);
	return count < 0 ? -count : count >= 4 ? 0 : ENOMSG;
}

static int touch_map(const char *host, const char *argument) {
	(void)argument;
	int fd = open(at(host, "a/b.txt"), O_RDONLY);
	if (fd < 0) return errno;
	const char *bytes = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
	return bytes == MAP_FAILED ? errno : memcmp(bytes, "real", 4) == 0 ? real(fd) : ENOMSG;
}

static int openat2_of(int folder, const char *name, uint64_t resolve) {
	const struct open_how how = {.flags = O_RDONLY, .resolve = resolve};
	return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

static int touch_no_links(const char *host, const char *argument) {
	(void)argument;
	return real_text(openat2_of(AT_FDCWD, at(host, "a/b.txt"), RESOLVE_NO_SYMLINKS));
}

static int touch_beneath(const char *host, const char *argument) {
	(void)argument;
	return real_text(openat2_of(open(at(host, ".."), O_PATH), "h/a/b.txt", RESOLVE_BENEATH));
}

static int touch_no_crossing(const char *host, const char *argument) {
	(void)argument;
	return real_text(openat2_of(AT_FDCWD, at(host, "a/b.txt"), RESOLVE_NO_XDEV));
}

static int right_status(long result, const struct stat *status) {
	return result < 0 ? errno : status->st_mtime > 0 && status->st_size > 0 ? 0 : TOUCH_CURTAIN;
}

static int touch_stat(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return right_status(stat(at(host, "a/b.txt"), &status), &status);
}

static int touch_stat_folder(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return right_status(stat(at(host, "a"), &status), &status);
}

static int touch_stat_top(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return right_status(stat(host, &status), &status);
}

static int touch_stat_link(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return right_status(lstat(at(host, "ln"), &status), &status);
}

static int statx_with(const char *name, int flags, unsigned mask) {
	struct statx status;
	return statx(AT_FDCWD, name, flags, mask, &status) < 0 ? errno : status.stx_mtime.tv_sec ? 0 : TOUCH_CURTAIN;
}

static int touch_statx(const char *host, const char *argument) {
	(void)argument;
	return statx_with(at(host, "a/b.txt"), 0, STATX_BASIC_STATS | STATX_BTIME);
}

static int touch_statx_lazily(const char *host, const char *argument) {
	(void)argument;
	return statx_with(at(host, "a/b.txt"), AT_STATX_DONT_SYNC, STATX_BASIC_STATS);
}

static int touch_access(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(access(name, R_OK), name);
}

static int touch_access_folder(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a");
	return real_after(access(name, R_OK | X_OK), name);
}

static int touch_chdir(const char *host, const char *argument) {
	(void)argument;
	return chdir(at(host, "a")) < 0 ? errno : real(open(".", O_RDONLY));
}

static int touch_readlink(const char *host, const char *argument) {
	char text[16] = {0};
	(void)argument;
	long size = readlink(at(host, "ln"), text, sizeof text - 1);
	return size < 0 ? errno : strcmp(text, "a/b.txt") == 0 ? 0 : ENOMSG;
}

static int touch_through_link(const char *host, const char *argument) {
	(void)argument;
	return real_text(open(at(host, "ln"), O_RDONLY));
}

static int touch_statfs(const char *host, const char *argument) {
	struct statfs status;
	(void)argument;
	return statfs(at(host, "a/b.txt"), &status) < 0 ? errno : status.f_type == FUSE_MAGIC ? TOUCH_CURTAIN : 0;
}

static int touch_getxattr(const char *host, const char *argument) {
	char value[8];
	(void)argument;
	const char *name = at(host, "a/b.txt");
	long size = getxattr(name, "user.t", value, sizeof value);
	return size == 1 || errno == ENODATA || errno == ENOTSUP ? real(open(name, O_PATH)) : errno;
}

static int touch_listxattr(const char *host, const char *argument) {
	char list[256];
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(listxattr(name, list, sizeof list), name);
}

static int touch_setxattr(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(setxattr(name, "user.t", "2", 1, 0), name);
}

static int touch_removexattr(const char *host, const char *argument) {
	(void)argument;
	return done(removexattr(at(host, "a/b.txt"), "user.t"));
}

static int touch_mkdir(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/new");
	return real_after(mkdir(name, 0700), name);
}

static int touch_mkdir_top(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "new");
	return real_after(mkdir(name, 0700), name);
}

static int touch_mkdir_there(const char *host, const char *argument) {
	(void)argument;
	return mkdir(at(host, "a"), 0700) < 0 && errno == EEXIST ? 0 : EINVAL;
}

static int touch_mknod(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/new");
	return real_after(mknod(name, S_IFIFO | 0600, 0), name);
}

static int touch_symlink(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/new");
	return real_after(symlink("nowhere", name), name);
}

static int touch_link(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/new");
	return real_after(link(at_other(host, "a/b.txt"), name), name);
}

static int touch_unlink(const char *host, const char *argument) {
	(void)argument;
	return done(unlink(at(host, "a/u.txt")));
}

static int touch_rmdir(const char *host, const char *argument) {
	(void)argument;
	return done(rmdir(at(host, "a/d")));
}

static int touch_rename(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/new");
	return real_after(rename(at_other(host, "a/r.txt"), name), name);
}

static int touch_rename_over(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/c.txt");
	return real_after(rename(at_other(host, "a/r.txt"), name), name);
}

static int touch_exchange(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/c.txt");
	return real_after(renameat2(AT_FDCWD, at_other(host, "a/r.txt"), AT_FDCWD, name, RENAME_EXCHANGE), name);
}

static int touch_rename_into(const char *host, const char *argument) {
	(void)argument;
	snprintf(other, sizeof other, "%s/../mine", host);
	close(open(other, O_CREAT | O_WRONLY, 0600));
	/* another mount: as outside, whoever moves a file there copies it */
	return rename(other, at(host, "a/new")) < 0 && errno != EXDEV ? errno : 0;
}

static int touch_chmod(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(chmod(name, 0640), name);
}

static int touch_chown(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(chown(name, getuid(), getgid()), name);
}

static int touch_utimens(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/b.txt");
	return real_after(utimensat(AT_FDCWD, name, NULL, 0), name);
}

static int touch_chmod_folder(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a");
	return real_after(chmod(name, 0750), name);
}

static int touch_chmod_top(const char *host, const char *argument) {
	(void)argument;
	return real_after(chmod(host, 0750), host);
}

static int touch_truncate(const char *host, const char *argument) {
	(void)argument;
	const char *name = at(host, "a/c.txt");
	return real_after(truncate(name, 1), name);
}

/* What the program says, which it is given as an argument. */
static int says(const char *name, int folder) {
	int pipes[2], status;
	char text[PATH_MAX + 32] = {0};
	char *const arguments[] = {(char *)name, (char *)"said", NULL};
	if (pipe2(pipes, O_CLOEXEC) < 0) return errno;
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		syscall(SYS_execveat, folder, name, arguments, environ, 0);
		_exit(errno);
	}
	close(pipes[1]);
	long size = read(pipes[0], text, sizeof text - 1);
	waitpid(child, &status, 0);
	if (size <= 0) return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return strstr(text, "said") ? 0 : ENOMSG;
}

static int touch_execute(const char *host, const char *argument) {
	(void)argument;
	return says(at(host, "a/bin"), AT_FDCWD);
}

static int touch_script(const char *host, const char *argument) {
	(void)argument;
	return says(at(host, "a/s.sh"), AT_FDCWD);
}

static int touch_interpreter(const char *host, const char *argument) {
	(void)argument;
	snprintf(other, sizeof other, "%s/../script", host);
	int fd = open(other, O_CREAT | O_TRUNC | O_WRONLY, 0700);
	if (fd < 0) return errno;
	dprintf(fd, "#!%s\n", at(host, "a/bin"));
	close(fd);
	return says(other, AT_FDCWD);
}

static int touch_execute_at(const char *host, const char *argument) {
	(void)argument;
	return says("h/a/bin", open(at(host, ".."), O_PATH));
}

static int touch_below_held(const char *host, const char *argument) {
	(void)argument;
	int folder = open(at(host, "a"), O_RDONLY | O_DIRECTORY);
	return folder < 0 ? errno : real_text(openat(folder, "b.txt", O_RDONLY));
}

static int touch_below_bare(const char *host, const char *argument) {
	(void)argument;
	int folder = open(host, O_PATH | O_DIRECTORY);
	return folder < 0 ? errno : real_text(openat(folder, "a/b.txt", O_RDONLY));
}

static int touch_bare(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	int fd = open(at(host, "a/b.txt"), O_PATH);
	int code = fd < 0 ? errno : right_status(fstat(fd, &status), &status);
	if (code) return code;
	snprintf(other, sizeof other, "/proc/self/fd/%d", fd);
	return real_text(open(other, O_RDONLY));
}

static int touch_bare_status(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return right_status(fstat(open(at(host, ""), O_PATH), &status), &status);
}

static int touch_fchdir(const char *host, const char *argument) {
	(void)argument;
	int folder = open(at(host, "a"), O_PATH | O_DIRECTORY);
	if (folder < 0 || fchdir(folder) < 0) return errno;
	return real_text(open("b.txt", O_RDONLY));
}

static int touch_fchdir_top(const char *host, const char *argument) {
	(void)argument;
	int folder = open(host, O_PATH | O_DIRECTORY);
	if (folder < 0 || fchdir(folder) < 0) return errno;
	return real_text(open("a/b.txt", O_RDONLY));
}

static int touch_bind(const char *host, const char *argument) {
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	(void)argument;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path, sizeof name.sun_path, "%s/a/new", host);
	return real_after(bind(fd, (struct sockaddr *)&name, sizeof name), name.sun_path);
}

static int watch(const char *name, const char *then) {
	char events[512];
	int watcher = inotify_init1(IN_NONBLOCK);
	if (inotify_add_watch(watcher, name, IN_ALL_EVENTS) < 0) return errno;
	int fd = open(then, O_RDONLY);
	if (fd < 0) return errno;
	close(fd);
	return read(watcher, events, sizeof events) > 0 ? 0 : TOUCH_CURTAIN;
}

static int touch_watch_folder(const char *host, const char *argument) {
	(void)argument;
	return watch(at(host, "a"), at_other(host, "a/b.txt"));
}

static int touch_watch_file(const char *host, const char *argument) {
	(void)argument;
	return watch(at(host, "a/b.txt"), at_other(host, "a/b.txt"));
}

static int touch_fifo(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	int fd = open(at(host, "a/fifo"), O_RDWR | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) < 0) return errno;
	return S_ISFIFO(status.st_mode) ? real(fd) : TOUCH_CURTAIN;
}

static int touch_realpath(const char *host, const char *argument) {
	(void)argument;
	return realpath(at(host, "ln"), other) ? 0 : errno;
}

static int touch_missing(const char *host, const char *argument) {
	(void)argument;
	return open(at(host, "a/missing"), O_RDONLY) < 0 && errno == ENOENT ? 0 : EINVAL;
}

static int touch_stat_missing(const char *host, const char *argument) {
	struct stat status;
	(void)argument;
	return stat(at(host, "a/missing/deep"), &status) < 0 && errno == ENOENT ? 0 : EINVAL;
}

static int touch_unlink_missing(const char *host, const char *argument) {
	(void)argument;
	return unlink(at(host, "a/missing")) < 0 && errno == ENOENT ? 0 : EINVAL;
}

const struct touch touches[] = {
	{"open", touch_open, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"open O_RDWR", touch_read_write, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"open O_TRUNC", touch_truncating, BEHIND_TOP | BEHIND_A},
	{"open O_APPEND O_NOFOLLOW", touch_append, BEHIND_TOP | BEHIND_A},
	{"O_CREAT of what is there", touch_create_there, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"O_CREAT new", touch_create, BEHIND_TOP | BEHIND_A},
	{"O_CREAT new, top", touch_create_top, BEHIND_TOP},
	{"O_CREAT O_EXCL new", touch_create_exclusively, BEHIND_TOP | BEHIND_A},
	{"O_EXCL of what is there", touch_exclusive_there, BEHIND_NONE},
	{"O_TMPFILE", touch_nameless, BEHIND_TOP | BEHIND_A},
	{"opendir", touch_list, BEHIND_TOP | BEHIND_A},
	{"opendir top", touch_list_top, BEHIND_TOP},
	{"mmap", touch_map, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"openat2 NO_SYMLINKS", touch_no_links, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"openat2 BENEATH", touch_beneath, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"openat2 NO_XDEV", touch_no_crossing, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"stat", touch_stat, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"stat folder", touch_stat_folder, BEHIND_TOP | BEHIND_A},
	{"stat top", touch_stat_top, BEHIND_TOP},
	{"lstat link", touch_stat_link, BEHIND_NONE},
	{"statx", touch_statx, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"statx DONT_SYNC", touch_statx_lazily, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"access", touch_access, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"access folder", touch_access_folder, BEHIND_TOP | BEHIND_A},
	{"chdir", touch_chdir, BEHIND_TOP | BEHIND_A},
	{"readlink", touch_readlink, BEHIND_NONE},
	{"open through a link", touch_through_link, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"statfs", touch_statfs, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"getxattr", touch_getxattr, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"listxattr", touch_listxattr, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"setxattr", touch_setxattr, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"removexattr", touch_removexattr, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"mkdir", touch_mkdir, BEHIND_TOP | BEHIND_A},
	{"mkdir top", touch_mkdir_top, BEHIND_TOP},
	{"mkdir of what is there", touch_mkdir_there, BEHIND_NONE},
	{"mknod", touch_mknod, BEHIND_TOP | BEHIND_A},
	{"symlink", touch_symlink, BEHIND_TOP | BEHIND_A},
	{"link", touch_link, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"unlink", touch_unlink, BEHIND_TOP | BEHIND_A},
	{"rmdir", touch_rmdir, BEHIND_TOP | BEHIND_A},
	{"rename", touch_rename, BEHIND_TOP | BEHIND_A},
	{"rename over", touch_rename_over, BEHIND_TOP | BEHIND_A},
	{"rename exchange", touch_exchange, BEHIND_TOP | BEHIND_A},
	{"rename into", touch_rename_into, BEHIND_NONE},
	{"chmod", touch_chmod, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"chown", touch_chown, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"utimensat", touch_utimens, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"chmod folder", touch_chmod_folder, BEHIND_TOP | BEHIND_A},
	{"chmod top", touch_chmod_top, BEHIND_TOP},
	{"truncate", touch_truncate, BEHIND_TOP | BEHIND_A},
	{"execve", touch_execute, BEHIND_TOP | BEHIND_A},
	{"execve script", touch_script, BEHIND_TOP | BEHIND_A},
	{"#! interpreter", touch_interpreter, BEHIND_TOP | BEHIND_A},
	{"execveat", touch_execute_at, BEHIND_TOP | BEHIND_A},
	{"below a held descriptor", touch_below_held, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"below O_PATH of the top", touch_below_bare, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"O_PATH, fstat, reopen", touch_bare, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"O_PATH of the top, fstat", touch_bare_status, BEHIND_TOP},
	{"fchdir of O_PATH", touch_fchdir, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"fchdir of O_PATH, top", touch_fchdir_top, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"bind", touch_bind, BEHIND_TOP | BEHIND_A},
	{"inotify folder", touch_watch_folder, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"inotify file", touch_watch_file, BEHIND_TOP | BEHIND_A | BEHIND_FILE},
	{"open fifo", touch_fifo, BEHIND_TOP | BEHIND_A},
	{"realpath", touch_realpath, BEHIND_NONE},
	{"open missing", touch_missing, BEHIND_NONE},
	{"stat missing", touch_stat_missing, BEHIND_NONE},
	{"unlink missing", touch_unlink_missing, BEHIND_NONE},
};
const size_t touch_count = ARRAY_LENGTH(touches);

static void copy(const char *from, const char *to) {
	char bytes[65536];
	long size;
	int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY | O_TRUNC, 0755);
	if (in < 0 || out < 0) perror(to);
	while ((size = read(in, bytes, sizeof bytes)) > 0)
		if (write(out, bytes, (size_t)size) != size) perror(to);
	close(in);
	close(out);
}

static void put_file(const char *name, const char *text, mode_t mode) {
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, mode);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) perror(name);
	close(fd);
}

void touch_make_tree(struct fixture *fixture) {
	const char *host = fixture_host(fixture);
	static const char *const files[] = {"a/b.txt", "a/c.txt", "a/u.txt", "a/r.txt", "top.txt"};
	mkdir(at(host, "a"), 0700);
	mkdir(at(host, "a/d"), 0700);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) put_file(at(host, files[i]), "real\n", 0600);
	put_file(at(host, "a/s.sh"), "#!/bin/sh\necho \"$1\"\n", 0700);
	copy("/bin/echo", at(host, "a/bin"));
	if (mkfifo(at(host, "a/fifo"), 0600) < 0 || symlink("a/b.txt", at(host, "ln")) < 0) perror(host);
}
