#include "support/home.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"

/* One home a test program. */
static char *home;

_Noreturn static void give_up(const char *what) {
	perror(what);
	exit(1);
}

static const struct passwd *choose_user(void) {
	const char *name = getenv("SBX_TEST_USER");
	if (name) return getpwnam(name);
	const struct passwd *user;
	setpwent();
	while ((user = getpwent()) && (user->pw_uid < 1000 || user->pw_uid >= 60000)) continue;
	endpwent();
	return user ? user : getpwnam("nobody");
}

static void copy_program(const char *from) {
	CLEANUP_FREE char *name = string_format("bin/%s", path_name(from));
	CLEANUP_FREE char *to = home_path(name);
	CLEANUP_FD int in = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP_FD int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat status;
	if (in < 0 || out < 0 || fstat(in, &status) < 0) give_up(from);
	for (off_t left = status.st_size; left > 0;) {
		ssize_t sent = sendfile(out, in, NULL, (size_t)left);
		if (sent <= 0) give_up(from);
		left -= sent;
	}
}

static void become(const struct passwd *user) {
	if (!user) give_up("no ordinary user to run as");
	if (chown(home, user->pw_uid, user->pw_gid) < 0) give_up("chown");
	if (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		give_up("becoming an ordinary user");
	/* Leaving root makes a process undumpable, and the broker refuses whom it can't look at. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) give_up("prctl");
}

static void set_environment(void) {
	static const char *const unset[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
					    "SBX_IDLE",       "LISTEN_FDS",      "LISTEN_PID"};
	for (size_t i = 0; i < ARRAY_LENGTH(unset); i++) unsetenv(unset[i]);
	CLEANUP_FREE char *run = home_path("run");
	if (mkdir(run, 0700) < 0 || setenv("HOME", home, 1) < 0 || setenv("XDG_RUNTIME_DIR", run, 1) < 0 ||
	    chdir(home) < 0)
		give_up(home);
}

const char *home_make(const char *const *programs) {
	const char *temporary = getenv("TMPDIR");
	umask(022); /* programs and data are read by another user */
	home = string_format("%s/sbx-test.XXXXXX", temporary && *temporary == '/' ? temporary : "/tmp");
	if (!mkdtemp(home)) give_up(home);
	/* What /tmp may be a link to is not what a path in the tests should be. */
	char *real = realpath(home, NULL);
	if (!real) give_up(home);
	free(home);
	home = real;
	CLEANUP_FREE char *bin = home_path("bin");
	if (chmod(home, 0755) < 0 || mkdir(bin, 0755) < 0) give_up(bin);
	for (; programs && *programs; programs++) copy_program(*programs);
	if (geteuid() == 0) become(choose_user());
	set_environment();
	return home;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
	(void)status;
	(void)type;
	(void)place;
	/* What is root's own (bin) is empty of the test's traces and may stay. */
	if (remove(path) < 0 && errno != ENOENT && errno != EACCES && errno != ENOTEMPTY && errno != EPERM)
		perror(path);
	return 0;
}

void home_remove(void) {
	if (chdir("/") == 0) nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(home);
	home = NULL;
}

char *home_path(const char *name) {
	return path_join(home, name);
}

void home_write(const char *name, const char *content) {
	CLEANUP_FREE char *path = home_path(name);
	CLEANUP_FREE char *folder = path_parent(path);
	if (file_make_directories(folder, NULL) < 0 || file_write(path, content, strlen(content), 0600, NULL) < 0)
		give_up(path);
}
