/*
 * touch: every kind of call by which a tool touches a file, each in a folder of its own, for the tests of the
 * doorbells.
 *
 * `touch --make TOP` makes the folders, `touch TOP [NAME…]` makes the calls (those named, else all) and prints a line
 * each: its name and "worked", the errno's name, or "wrong: …" when the call said yes but what it reached isn't the
 * host's own object. `touch --done TOP` says for each call that changes something whether the host has the change:
 * "done", "undone" or "half". `touch --list CLASS` names the calls of a class: look, open, run, names, change, odd,
 * walk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PATH_ROOM = 512, WRONG = -2, FUSE_MAGIC = 0x65735546 };

#define BODY      "the body\n"
#define ATTRIBUTE "user.sbx"

static char folder[PATH_ROOM];    /* of the call that is tried */
static char complaint[PATH_ROOM]; /* with WRONG */

/* A path in the folder; the last four stay valid. */
static const char *at(const char *name) {
	static char paths[4][2 * PATH_ROOM];
	static unsigned turn;
	char *path = paths[turn++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

__attribute__((format(printf, 1, 2))) static long wrong(const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(complaint, sizeof complaint, format, arguments);
	va_end(arguments);
	return WRONG;
}

static long closed(int fd, long result) {
	int saved = errno;
	if (fd >= 0) close(fd);
	errno = saved;
	return result;
}

static long real(int fd) {
	struct statfs file_system;
	if (fd < 0 || fstatfs(fd, &file_system) < 0) return -1;
	return file_system.f_type == FUSE_MAGIC ? wrong("a descriptor of the curtain") : 0;
}

static long has_body(int fd) {
	char text[sizeof BODY] = "";
	long result = real(fd);
	ssize_t got;
	if (result < 0) return closed(fd, result);
	got = pread(fd, text, sizeof text, 0);
	if (got < 0) return closed(fd, -1);
	return closed(fd, strcmp(text, BODY) == 0 ? 0 : wrong("read %zd bytes: %s", got, text));
}

static long is_writable(int fd) {
	long result = real(fd);
	if (result < 0) return closed(fd, result);
	return closed(fd, write(fd, BODY, strlen(BODY)) < 0 ? -1 : 0);
}

static long is_file(const struct stat *facts) {
	if (!S_ISREG(facts->st_mode) || facts->st_size != (off_t)strlen(BODY) || facts->st_mtime == 0)
		return wrong("mode %o, size %lld, time %lld", facts->st_mode, (long long)facts->st_size,
			     (long long)facts->st_mtime);
	return 0;
}

/* What the program prints goes through a pipe; it must be "ran". */
static long runs(const char *path, int (*start)(const char *path, char *const arguments[])) {
	char name[2 * PATH_ROOM];
	char *const arguments[] = {name, NULL};
	char text[64] = "";
	int pipes[2], status;
	pid_t child;
	snprintf(name, sizeof name, "%s", path);
	if (pipe2(pipes, O_CLOEXEC) < 0) return -1;
	child = fork();
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		start(path, arguments);
		_exit(errno);
	}
	close(pipes[1]);
	ssize_t got = read(pipes[0], text, sizeof text - 1);
	close(pipes[0]);
	if (waitpid(child, &status, 0) < 0) return -1;
	if (got > 0 && strncmp(text, "ran", 3) == 0) return 0;
	errno = WEXITSTATUS(status);
	return errno ? -1 : wrong("printed: %s", text);
}

/* The folder above TOP, and where a file is from there. */
static int open_above(int flags, const char *file, char name[static 2 * PATH_ROOM]) {
	char above[PATH_ROOM];
	char *end = above + snprintf(above, sizeof above, "%s", folder);
	for (int i = 0; i < 2; i++)
		while (end > above && *--end != '/') continue;
	*end = '\0';
	snprintf(name, 2 * PATH_ROOM, "%s/%s", folder + (end - above) + 1, file);
	return open(above, flags | O_DIRECTORY | O_CLOEXEC);
}

static int start_path(const char *path, char *const arguments[]) {
	return execv(path, arguments);
}

static int start_descriptor(const char *path, char *const arguments[]) {
	char name[2 * PATH_ROOM];
	int directory = open_above(O_PATH, path, name);
	return directory < 0 ? -1 : (int)syscall(SYS_execveat, directory, name, arguments, environ, 0);
}

static int start_spawn(const char *path, char *const arguments[]) {
	pid_t child;
	int status, error = posix_spawn(&child, path, NULL, NULL, arguments, environ);
	if (error == 0) _exit(waitpid(child, &status, 0) < 0 ? errno : WEXITSTATUS(status));
	return (errno = error);
}

/* The calls, in the order of the table. */

static long stat_file(void) {
	struct stat facts;
	return stat(at("a/body"), &facts) < 0 ? -1 : is_file(&facts);
}

static long stat_folder(void) {
	struct stat facts;
	if (stat(at("a"), &facts) < 0) return -1;
	return S_ISDIR(facts.st_mode) && facts.st_mtime != 0 ? 0 : wrong("mode %o", facts.st_mode);
}

static long lstat_link(void) {
	struct stat facts;
	if (lstat(at("link"), &facts) < 0) return -1;
	return S_ISLNK(facts.st_mode) && facts.st_size == (off_t)strlen("a/body") ? 0 : wrong("mode %o", facts.st_mode);
}

static long stat_link(void) {
	struct stat facts;
	return stat(at("link"), &facts) < 0 ? -1 : is_file(&facts);
}

static long statx_synced(void) {
	struct statx facts;
	if (statx(AT_FDCWD, at("a/body"), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &facts) < 0) return -1;
	return facts.stx_size == strlen(BODY) ? 0 : wrong("size %llu", facts.stx_size);
}

static long statx_unsynced(void) {
	struct statx facts;
	if (statx(AT_FDCWD, at("a/body"), AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &facts) < 0) return -1;
	return facts.stx_size == strlen(BODY) ? 0 : wrong("size %llu", facts.stx_size);
}

static long access_read(void) {
	return access(at("a/body"), R_OK);
}

static long access_write(void) {
	return access(at("a/body"), W_OK);
}

static long access_effective(void) {
	return faccessat(AT_FDCWD, at("a/body"), R_OK, AT_EACCESS);
}

static long access_folder(void) {
	return access(at("a"), R_OK | X_OK);
}

static long read_link(void) {
	char text[64] = "";
	if (readlink(at("link"), text, sizeof text - 1) < 0) return -1;
	return strcmp(text, "a/body") == 0 ? 0 : wrong("leads to %s", text);
}

static long change_directory(void) {
	struct stat facts;
	long result = chdir(at("a"));
	if (result == 0) result = stat("body", &facts) < 0 ? -1 : is_file(&facts);
	return chdir("/") < 0 ? -1 : result;
}

static long get_attribute(void) {
	char text[16] = "";
	if (getxattr(at("a/body"), ATTRIBUTE, text, sizeof text - 1) < 0) return -1;
	return strcmp(text, "1") == 0 ? 0 : wrong("is %s", text);
}

static long list_attributes(void) {
	char text[256] = "";
	if (listxattr(at("a/body"), text, sizeof text - 1) < 0) return -1;
	return memmem(text, sizeof text, ATTRIBUTE, sizeof ATTRIBUTE) ? 0 : wrong("has only %s", text);
}

static long file_system(void) {
	struct statfs facts;
	if (statfs(at("a/body"), &facts) < 0) return -1;
	return facts.f_type != FUSE_MAGIC ? 0 : wrong("of the curtain");
}

static long real_path(void) {
	char path[4096];
	if (!realpath(at("link"), path)) return -1;
	return strcmp(path, at("a/body")) == 0 ? 0 : wrong("is %s", path);
}

static long watch_folder(void) {
	char events[512];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (inotify_add_watch(watch, at("a"), IN_OPEN) < 0) return closed(watch, -1);
	int fd = open(at("a/body"), O_RDONLY | O_CLOEXEC);
	if (fd < 0) return closed(watch, -1);
	close(fd);
	return closed(watch, read(watch, events, sizeof events) > 0 ? 0 : wrong("no event"));
}

static long open_read(void) {
	return has_body(open(at("a/body"), O_RDONLY | O_CLOEXEC));
}

static long open_twice(void) {
	long first = open_read();
	return first < 0 ? first : open_read();
}

static long open_link(void) {
	return has_body(open(at("link"), O_RDONLY | O_CLOEXEC));
}

static long open_dots(void) {
	return has_body(open(at("a/../a/./body"), O_RDONLY | O_CLOEXEC));
}

static long open_dots_above(void) {
	return has_body(open(at("../open-dots-above/a/body"), O_RDONLY | O_CLOEXEC));
}

static long open_relative(void) {
	char name[2 * PATH_ROOM];
	int directory = open_above(O_RDONLY, "a/body", name);
	return directory < 0 ? -1 : closed(directory, has_body(openat(directory, name, O_RDONLY | O_CLOEXEC)));
}

static long open_through_path(void) {
	int directory = open(at("a"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 ? -1 : closed(directory, has_body(openat(directory, "body", O_RDONLY | O_CLOEXEC)));
}

static long open_path(void) {
	struct stat facts;
	char name[64];
	int fd = open(at("a/body"), O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &facts) < 0) return closed(fd, -1);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return closed(fd, has_body(open(name, O_RDONLY | O_CLOEXEC)));
}

static long change_by_descriptor(void) {
	int directory = open(at("a"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) return -1;
	long result = fchdir(directory);
	if (result == 0) result = has_body(open("body", O_RDONLY | O_CLOEXEC));
	if (chdir("/") < 0) return -1;
	return closed(directory, result);
}

static long open_missing(void) {
	int fd = open(at("a/missing"), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) return closed(fd, wrong("opened"));
	return errno == ENOENT ? 0 : -1;
}

static long open_missing_below(void) {
	int fd = open(at("missing/body"), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) return closed(fd, wrong("opened"));
	return errno == ENOENT ? 0 : -1;
}

static long list(const char *path, int expected) {
	DIR *directory = opendir(path);
	int count = 0;
	if (!directory) return -1;
	long result = real(dirfd(directory));
	while (readdir(directory)) count++;
	closedir(directory);
	return result < 0 ? result : count == expected ? 0 : wrong("has %d names", count);
}

enum { NAMES_IN_A = 2 + 8, NAMES_AT_TOP = 2 + 2 };

static long list_folder(void) {
	return list(at("a"), NAMES_IN_A);
}

static long list_top(void) {
	return list(folder, NAMES_AT_TOP);
}

static long map_file(void) {
	int fd = open(at("a/body"), O_RDONLY | O_CLOEXEC);
	if (fd < 0) return -1;
	char *text = mmap(NULL, strlen(BODY), PROT_READ, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED) return closed(fd, -1);
	long result = memcmp(text, BODY, strlen(BODY)) == 0 ? 0 : wrong("mapped something else");
	munmap(text, strlen(BODY));
	return closed(fd, result);
}

static long open_fifo(void) {
	int fd = open(at("a/fifo"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return closed(fd, real(fd));
}

static void *reader(void *unused) {
	(void)unused;
	long result = open_read();
	return (void *)(result < 0 ? (long)errno : 0L); // NOLINT(performance-no-int-to-ptr)
}

static long open_in_threads(void) {
	pthread_t threads[8];
	long failed = 0;
	for (int i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, reader, NULL) != 0) return -1;
	for (int i = 0; i < 8; i++) {
		void *result;
		pthread_join(threads[i], &result);
		if (result) failed = (long)result;
	}
	errno = (int)failed;
	return failed ? -1 : 0;
}

static long open_both_ways(void) {
	return is_writable(open(at("a/other"), O_RDWR | O_CLOEXEC));
}

static long open_truncate(void) {
	return is_writable(open(at("a/other"), O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static long open_append(void) {
	return is_writable(open(at("a/other"), O_WRONLY | O_APPEND | O_CLOEXEC));
}

static long open_create(void) {
	return is_writable(open(at("a/new"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static long open_create_top(void) {
	return is_writable(open(at("new"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static long open_exclusive(void) {
	return is_writable(open(at("a/new"), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
}

static long open_create_there(void) {
	return is_writable(open(at("a/other"), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
}

static long open_unnamed(void) {
	return is_writable(open(at("a"), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static long run_program(void) {
	return runs(at("a/program"), start_path);
}

static long run_script(void) {
	return runs(at("a/script"), start_path);
}

static long run_interpreter(void) {
	char name[] = "/tmp/touch-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	dprintf(fd, "#!%s ran\n", at("a/program"));
	fchmod(fd, 0700);
	close(fd);
	long result = runs(name, start_path);
	unlink(name);
	return result;
}

static long run_descriptor(void) {
	return runs("a/program", start_descriptor);
}

static long run_spawn(void) {
	return runs(at("a/program"), start_spawn);
}

static long make_folder(void) {
	return mkdir(at("a/new"), 0755);
}

static long make_folder_top(void) {
	return mkdir(at("new"), 0755);
}

static long remove_folder(void) {
	return rmdir(at("a/empty"));
}

static long make_fifo(void) {
	return mkfifo(at("a/new"), 0600);
}

static long rename_file(void) {
	return rename(at("a/other"), at("a/new"));
}

static long rename_over(void) {
	return rename(at("a/other"), at("a/second"));
}

static long rename_across(void) {
	return rename(at("a/other"), at("new"));
}

static long rename_only_new(void) {
	return renameat2(AT_FDCWD, at("a/other"), AT_FDCWD, at("a/new"), RENAME_NOREPLACE);
}

static long rename_exchange(void) {
	return renameat2(AT_FDCWD, at("a/other"), AT_FDCWD, at("a/empty"), RENAME_EXCHANGE);
}

/* From the sandbox's own /tmp: another file system, as a tool expects. */
static long rename_into(void) {
	char name[] = "/tmp/touch-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);
	long result = rename(name, at("a/new"));
	if (result < 0 && errno == EXDEV) result = 0;
	unlink(name);
	return closed(fd, result);
}

/* How editors and package managers save. */
static long save_atomically(void) {
	int fd = open(at("a/other.tmp"), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, BODY, strlen(BODY)) < 0) return closed(fd, -1);
	close(fd);
	return rename(at("a/other.tmp"), at("a/other"));
}

static long remove_file(void) {
	return unlink(at("a/other"));
}

static long make_symlink(void) {
	return symlink("nowhere", at("a/new"));
}

static long make_link(void) {
	return link(at("a/body"), at("a/new"));
}

static long bind_socket(void) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", at("a/new"));
	return closed(fd, bind(fd, (struct sockaddr *)&address, sizeof address));
}

static long change_mode(void) {
	return chmod(at("a/other"), 0600);
}

static long change_owner(void) {
	return chown(at("a/other"), getuid(), getgid());
}

static long change_times(void) {
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	return utimensat(AT_FDCWD, at("a/other"), times, 0);
}

static long cut(void) {
	return truncate(at("a/other"), 0);
}

static long set_attribute(void) {
	return setxattr(at("a/other"), ATTRIBUTE, "2", 1, 0);
}

static long remove_attribute(void) {
	return removexattr(at("a/body"), ATTRIBUTE);
}

static long change_mode_of_folder(void) {
	return chmod(at("a/empty"), 0700);
}

enum class { LOOK, OPEN, RUN, NAMES, CHANGE, ODD, WALK };

static const char *const class_names[] = {"look", "open", "run", "names", "change", "odd", "walk"};

/* What the host has when it is done: a name that is there, a name that is gone, or an attribute of a/other: its mode,
 * its size, its time. */
enum effect { NONE, THERE, GONE, MODE, SIZE, TIME };

static const struct trial {
	const char *name;
	enum class class;
	long (*call)(void);
	enum effect effect;
	const char *on;
} trials[] = {
	{"stat", LOOK, stat_file, NONE, NULL},
	{"stat-folder", LOOK, stat_folder, NONE, NULL},
	{"stat-link", LOOK, stat_link, NONE, NULL},
	{"lstat-link", LOOK, lstat_link, NONE, NULL},
	{"statx-sync", LOOK, statx_synced, NONE, NULL},
	{"access-read", LOOK, access_read, NONE, NULL},
	{"access-effective", LOOK, access_effective, NONE, NULL},
	{"access-folder", LOOK, access_folder, NONE, NULL},
	{"readlink", LOOK, read_link, NONE, NULL},
	{"realpath", LOOK, real_path, NONE, NULL},
	{"chdir", LOOK, change_directory, NONE, NULL},
	{"getxattr", LOOK, get_attribute, NONE, NULL},
	{"listxattr", LOOK, list_attributes, NONE, NULL},
	{"statfs", LOOK, file_system, NONE, NULL},
	{"open", OPEN, open_read, NONE, NULL},
	{"open-twice", OPEN, open_twice, NONE, NULL},
	{"open-link", OPEN, open_link, NONE, NULL},
	{"open-dots", OPEN, open_dots, NONE, NULL},
	{"open-dots-above", OPEN, open_dots_above, NONE, NULL},
	{"open-missing", OPEN, open_missing, NONE, NULL},
	{"opendir", OPEN, list_folder, NONE, NULL},
	{"opendir-top", OPEN, list_top, NONE, NULL},
	{"mmap", OPEN, map_file, NONE, NULL},
	{"open-fifo", OPEN, open_fifo, NONE, NULL},
	{"open-in-threads", OPEN, open_in_threads, NONE, NULL},
	{"open-read-write", OPEN, open_both_ways, NONE, NULL},
	{"open-truncate", OPEN, open_truncate, NONE, NULL},
	{"open-append", OPEN, open_append, NONE, NULL},
	{"open-create-existing", OPEN, open_create_there, NONE, NULL},
	{"execve", RUN, run_program, NONE, NULL},
	{"execve-script", RUN, run_script, NONE, NULL},
	{"execve-interpreter", RUN, run_interpreter, NONE, NULL},
	{"posix-spawn", RUN, run_spawn, NONE, NULL},
	{"open-create", NAMES, open_create, THERE, "a/new"},
	{"open-create-top", NAMES, open_create_top, THERE, "new"},
	{"open-exclusive", NAMES, open_exclusive, THERE, "a/new"},
	{"open-tmpfile", NAMES, open_unnamed, NONE, NULL},
	{"mkdir", NAMES, make_folder, THERE, "a/new"},
	{"mkdir-top", NAMES, make_folder_top, THERE, "new"},
	{"rmdir", NAMES, remove_folder, GONE, "a/empty"},
	{"mknod-fifo", NAMES, make_fifo, THERE, "a/new"},
	{"rename", NAMES, rename_file, THERE, "a/new"},
	{"rename-over", NAMES, rename_over, GONE, "a/other"},
	{"rename-across", NAMES, rename_across, THERE, "new"},
	{"renameat2-noreplace", NAMES, rename_only_new, THERE, "a/new"},
	{"renameat2-exchange", NAMES, rename_exchange, NONE, NULL},
	{"rename-from-tmp", NAMES, rename_into, NONE, NULL},
	{"save-atomically", NAMES, save_atomically, SIZE, "a/other"},
	{"unlink", NAMES, remove_file, GONE, "a/other"},
	{"symlink", NAMES, make_symlink, THERE, "a/new"},
	{"link", NAMES, make_link, THERE, "a/new"},
	{"bind", NAMES, bind_socket, THERE, "a/new"},
	{"chmod", CHANGE, change_mode, MODE, "a/other"},
	{"chmod-folder", CHANGE, change_mode_of_folder, MODE, "a/empty"},
	{"chown", CHANGE, change_owner, NONE, NULL},
	{"utimensat", CHANGE, change_times, TIME, "a/other"},
	{"truncate", CHANGE, cut, SIZE, "a/other"},
	{"setxattr", CHANGE, set_attribute, NONE, NULL},
	{"removexattr", CHANGE, remove_attribute, NONE, NULL},
	/* Where a descriptor or a watch of the curtain may stay what it was: see the trial's table. */
	{"access-write", ODD, access_write, NONE, NULL},
	{"statx-dont-sync", ODD, statx_unsynced, NONE, NULL},
	{"inotify", ODD, watch_folder, NONE, NULL},
	{"open-path", ODD, open_path, NONE, NULL},
	{"openat-of-path", ODD, open_through_path, NONE, NULL},
	{"fchdir", ODD, change_by_descriptor, NONE, NULL},
	{"open-missing-below", ODD, open_missing_below, NONE, NULL},
	{"execveat", WALK, run_descriptor, NONE, NULL},
	{"openat-relative", WALK, open_relative, NONE, NULL},
};

enum { TRIALS = sizeof trials / sizeof *trials };

static int put_file(const char *name, const char *text, mode_t mode) {
	int fd = open(at(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0) return -1;
	return close(fd);
}

/* This very program, which only says that it ran when it is started by that name. */
static int put_program(const char *name) {
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(at(name), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0755);
	ssize_t sent;
	do sent = sendfile(to, from, NULL, 1 << 20);
	while (sent > 0);
	close(from);
	return close(to) < 0 ? -1 : (int)sent;
}

/* NAMES_IN_A and NAMES_AT_TOP count what is made here. */
static int make(void) {
	if (mkdir(folder, 0755) < 0 || mkdir(at("a"), 0755) < 0 || mkdir(at("a/empty"), 0755) < 0) return -1;
	if (put_file("a/body", BODY, 0644) < 0 || put_file("a/other", "other\n", 0644) < 0) return -1;
	if (put_file("a/second", "second\n", 0644) < 0) return -1;
	if (put_file("a/script", "#!/bin/sh\necho ran\n", 0755) < 0) return -1;
	if (symlink("a/body", at("link")) < 0 || symlink("body", at("a/link")) < 0) return -1;
	if (mkfifo(at("a/fifo"), 0600) < 0 || setxattr(at("a/body"), ATTRIBUTE, "1", 1, 0) < 0) return -1;
	return put_program("a/program");
}

static const char *done(const struct trial *trial) {
	struct stat facts = {0};
	bool there = trial->on && lstat(at(trial->on), &facts) == 0;
	switch (trial->effect) {
	case NONE:
		return NULL;
	case THERE:
		return there ? "done" : "undone";
	case GONE:
		return there ? "undone" : "done";
	case MODE:
		return !there ? "half" : (facts.st_mode & 0077) == 0 ? "done" : "undone";
	case SIZE:
		return !there ? "half" : facts.st_size == (off_t)strlen("other\n") ? "undone" : "done";
	case TIME:
		return !there ? "half" : facts.st_mtime == 1 ? "done" : "undone";
	}
	return NULL;
}

static bool wanted(const struct trial *trial, char **names) {
	if (!*names) return true;
	for (; *names; names++)
		if (strcmp(trial->name, *names) == 0) return true;
	return false;
}

static bool is_program(const char *name) {
	const char *base = strrchr(name, '/');
	return strcmp(base ? base + 1 : name, "program") == 0;
}

int main(int argc, char **argv) {
	if (argc > 0 && is_program(argv[0])) return puts("ran") < 0;
	const char *mode = argc > 2 && argv[1][0] == '-' ? argv[1] : "";
	char **rest = argv + (*mode ? 2 : 1);
	if (argc < 2 || !*rest) {
		fputs("usage: touch [--make | --done] TOP [NAME…] | touch --list CLASS\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (const struct trial *trial = trials; trial < trials + TRIALS; trial++) {
		if (strcmp(mode, "--list") == 0) {
			if (strcmp(class_names[trial->class], *rest) == 0) puts(trial->name);
			continue;
		}
		if (!wanted(trial, rest + 1)) continue;
		snprintf(folder, sizeof folder, "%s/%s", *rest, trial->name);
		if (strcmp(mode, "--make") == 0) {
			if (make() < 0) {
				perror(folder);
				return 1;
			}
		} else if (strcmp(mode, "--done") == 0) {
			const char *how = done(trial);
			if (how) printf("%s %s\n", trial->name, how);
		} else {
			errno = 0;
			long result = trial->call();
			if (result == WRONG)
				printf("%s wrong: %s\n", trial->name, complaint);
			else
				printf("%s %s\n", trial->name, result < 0 ? strerrorname_np(errno) : "worked");
		}
	}
	return 0;
}
