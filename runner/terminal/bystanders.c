#include "bystanders.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "calls/regular.h"

enum { STAT_BYTES = 4096, ANCESTORS_MAX = 64, TTYAUX_MAJOR = 5 };

struct place {
	char state;
	pid_t parent, session;
};

/* proc_pid_stat(5): what follows the name, which may hold anything. */
static bool place_of(pid_t pid, struct place *ret_place) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", (int)pid), *text = NULL;
	if (regular_read(path, STAT_BYTES, &text, NULL, NULL) < 0) return false;
	char *rest = strrchr(text, ')');
	if (!rest || strlen(rest) < sizeof ") S 1" - 1) return false;
	ret_place->state = rest[2];
	ret_place->parent = (pid_t)strtol(rest + 3, &rest, 10);
	strtol(rest, &rest, 10); /* its process group */
	ret_place->session = (pid_t)strtol(rest, NULL, 10);
	return true;
}

static bool is_at_or_below(pid_t pid, pid_t ancestor) {
	struct place place;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (pid == ancestor) return true;
		if (!place_of(pid, &place)) return false;
		pid = place.parent;
	}
	return false;
}

/* By its name or by that of the controlling terminal, /dev/tty (tty(4)). */
static bool is_terminal(const struct stat *file, const struct stat *terminal) {
	if (!S_ISCHR(file->st_mode)) return false;
	return file->st_rdev == makedev(TTYAUX_MAJOR, 0) ||
	       (file->st_rdev == terminal->st_rdev && file->st_dev == terminal->st_dev);
}

static void close_folder(DIR **folder) {
	if (*folder) closedir(*folder);
}
#define CLEANUP_FOLDER __attribute__((cleanup(close_folder)))

/* Standard input and error, which a shell gave it. */
static bool is_inherited(const char *number) {
	return string_equal(number, "0") || string_equal(number, "2");
}

/* Of who `feeds` us only what it opened itself counts (`tee /dev/tty | sbx run …`). */
static bool has_open(pid_t pid, const struct stat *terminal, bool feeds) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fd", (int)pid);
	CLEANUP_FOLDER DIR *folder = opendir(path);
	if (!folder) return access(path, F_OK) == 0;
	if (terminal->st_rdev == makedev(TTYAUX_MAJOR, 0)) return true; /* its own name isn't known */
	for (const struct dirent *entry; (entry = readdir(folder));) {
		struct stat status;
		if (feeds && is_inherited(entry->d_name)) continue;
		if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && is_terminal(&status, terminal))
			return true;
	}
	return false;
}

/* Its standard output is our standard input: what it writes is for us (`yes | sbx run …`). */
static bool feeds_us(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fd/1", (int)pid);
	struct stat output, input;
	return stat(path, &output) == 0 && fstat(STDIN_FILENO, &input) == 0 && S_ISFIFO(input.st_mode) &&
	       output.st_dev == input.st_dev && output.st_ino == input.st_ino;
}

static bool is_bystander(pid_t pid, const struct stat *terminal, pid_t run, const pid_t *held, size_t held_count) {
	struct place place;
	if (!place_of(pid, &place) || place.session != getsid(0) || strchr("TtZX", place.state)) return false;
	if (is_at_or_below(pid, run) || is_at_or_below(run, pid)) return false;
	for (size_t i = 0; i < held_count; i++)
		if (is_at_or_below(pid, held[i])) return false;
	return has_open(pid, terminal, feeds_us(pid));
}

static bool has_unread(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/fd/0", (int)pid);
	struct stat input;
	int unread = 0;
	if (stat(path, &input) < 0 || !S_ISFIFO(input.st_mode)) return false;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

static bool find(int tty, pid_t run, const pid_t *held, size_t held_count, bool busy) {
	CLEANUP_FOLDER DIR *processes = opendir("/proc");
	struct stat terminal;
	if (!processes || fstat(tty, &terminal) < 0) return true;
	for (const struct dirent *entry; (entry = readdir(processes));) {
		unsigned long long number;
		if (string_to_u64(entry->d_name, &number) < 0) continue;
		const pid_t pid = (pid_t)number;
		if (!is_bystander(pid, &terminal, run, held, held_count)) continue;
		if (!busy || has_unread(pid)) return true;
	}
	return false;
}

bool bystanders_are_there(int tty, pid_t run, const pid_t *held, size_t held_count) {
	return find(tty, run, held, held_count, false);
}

bool bystanders_are_busy(int tty, pid_t run, const pid_t *held, size_t held_count) {
	return find(tty, run, held, held_count, true);
}
