/*
 * attack K8: `--as-user` leaves nothing of root. Needs root, for whom alone it is; an ordinary user sees the refusals.
 * The program starts itself over as sbx does, and then reports what it has become.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "as_user.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/cmocka.h"

static size_t count_descriptors(void) {
	size_t count = 0;
	DIR *directory = opendir("/proc/self/fd");
	while (directory && readdir(directory)) count++;
	if (directory) closedir(directory);
	return count - 3; /* ".", ".." and the directory itself */
}

static int report(char **argv) {
	uid_t real, effective, saved;
	gid_t groups[64];
	getresuid(&real, &effective, &saved);
	printf("uids %u %u %u back %d\n", real, effective, saved, setuid(0));
	printf("gid %u groups", getgid());
	for (int i = 0, count = getgroups(64, groups); i < count; i++) printf(" %u", groups[i]);
	printf("\ndescriptors %zu\narguments", count_descriptors());
	for (char **word = argv + 1; *word; word++) printf(" %s", *word);
	struct stat tty = {0};
	struct winsize size = {0};
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	fstat(STDOUT_FILENO, &tty);
	printf("\nterminal %s of %u, %u columns, foreground %d, controlling %d\n",
	       isatty(STDOUT_FILENO) ? ttyname(STDOUT_FILENO) : "none", tty.st_uid, size.ws_col,
	       tcgetpgrp(STDOUT_FILENO) == getpgrp(), open("/dev/tty", O_RDWR) >= 0);
	for (char **entry = environ; *entry; entry++) printf("env %s\n", *entry);
	fflush(stdout);
	return 7;
}

static int start_over(const char *name, char *const *argv, char **ret_text) {
	int ends[2], status;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		CLEANUP_STRINGS struct strings kept = {0};
		struct error error = ERROR_NONE;
		strings_add(&kept, "NAMED");
		strings_add(&kept, "SET=value");
		dup2(ends[1], STDOUT_FILENO);
		int r = as_user_start_over(name, &kept, false, argv, &error);
		dprintf(STDOUT_FILENO, "%s", error.message);
		_exit(-r);
	}
	close(ends[1]);
	assert_int_equal(file_read_fd(ends[0], "pipe", 65536, ret_text, NULL, NULL), 0);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static char *const arguments[] = {(char *)"sbx",       (char *)"--report", (char *)"--as-user",
				  (char *)"nobody",    (char *)"--",       (char *)"x",
				  (char *)"--as-user", (char *)"y",        NULL};

static void attack_k08_nothing_of_root_is_left(void **state) {
	(void)state;
	const struct passwd *nobody = getpwnam("nobody");
	if (geteuid() != 0 || !nobody) {
		skip();
		return;
	}
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *uids = string_format("uids %u %u %u back -1\ngid %u groups %u\n", nobody->pw_uid,
						nobody->pw_uid, nobody->pw_uid, nobody->pw_gid, nobody->pw_gid);
	int open_too = open("/dev/null", O_RDONLY); /* not close-on-exec: what a careless caller leaves */
	assert_int_equal(chdir("/"), 0);
	setenv("NAMED", "passed", 1);
	setenv("SET", "of root", 1);
	setenv("OPENAI_API_KEY", "secret", 1);
	setenv("XDG_CONFIG_HOME", "/root/.config", 1);
	setenv("LD_PRELOAD_NOT", "x", 1);
	setenv("LC_ALL", "C", 1);
	assert_int_equal(start_over("nobody", arguments, &text), 7);
	close(open_too);
	assert_true(string_starts(text, uids));
	assert_non_null(strstr(text, "\ndescriptors 3\n"));
	assert_non_null(strstr(text, "\narguments --report -- x --as-user y\n"));
	assert_non_null(strstr(text, "\nenv NAMED=passed\n"));
	assert_non_null(strstr(text, "\nenv LC_ALL=C\n"));
	assert_non_null(strstr(text, "\nenv USER=nobody\n"));
	static const char *const gone[] = {"OPENAI_API_KEY", "XDG_CONFIG_HOME", "LD_PRELOAD_NOT", "HOME=/root",
					   "SET=of root"};
	for (size_t i = 0; i < ARRAY_LENGTH(gone); i++) assert_null(strstr(text, gone[i]));
}

/* With a controlling terminal of root's: what is on its screen at the end. `bare`: 0, 1 and 2 are not that terminal. */
static int start_over_in_terminal(bool bare, char **ret_screen, char **ret_name) {
	struct string screen = {0};
	int master, ends[2], status;
	char block[512], name[64];
	struct winsize size = {.ws_col = 93, .ws_row = 24};
	assert_int_equal(pipe(ends), 0);
	pid_t child = forkpty(&master, name, NULL, &size);
	assert_true(child >= 0);
	if (child == 0) {
		CLEANUP_STRINGS struct strings kept = {0};
		struct error error = ERROR_NONE;
		int null = open("/dev/null", O_RDWR);
		if (bare) {
			dup2(null, STDIN_FILENO);
			dup2(ends[1], STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		close(ends[1]);
		as_user_start_over("nobody", &kept, true, arguments, &error);
		_exit(1);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(bare ? ends[0] : master, block, sizeof block)) > 0;)
		string_append_bytes(&screen, block, (size_t)got);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(master);
	close(ends[0]);
	*ret_screen = string_steal(&screen);
	*ret_name = string_copy(name);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void attack_k08_the_terminal_of_root_stays_roots(void **state) {
	(void)state;
	const struct passwd *nobody = getpwnam("nobody");
	if (geteuid() != 0 || !nobody) {
		skip();
		return;
	}
	assert_int_equal(chdir("/"), 0);
	CLEANUP_FREE char *screen = NULL;
	CLEANUP_FREE char *name = NULL;
	assert_int_equal(start_over_in_terminal(false, &screen, &name), 7);
	CLEANUP_FREE char *roots = string_format("terminal %s of", name);
	CLEANUP_FREE char *own = string_format(" of %u, 93 columns, foreground 1, controlling 1", nobody->pw_uid);
	assert_non_null(strstr(screen, "terminal /dev/"));
	assert_null(strstr(screen, roots));
	assert_non_null(strstr(screen, own));
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *other = NULL;
	assert_int_equal(start_over_in_terminal(true, &text, &other), 7);
	assert_non_null(strstr(text, "terminal none of "));
	assert_non_null(strstr(text, "controlling 1")); /* its own, which hangs up with root's */
}

static void who_cannot_be_become_is_refused(void **state) {
	(void)state;
	CLEANUP_FREE char *again = NULL;
	CLEANUP_FREE char *nobody = NULL;
	bool root = geteuid() == 0;
	assert_int_equal(start_over("root", arguments, &again), EPERM);
	assert_non_null(strstr(again, root ? "name an ordinary user" : "is for root"));
	assert_int_equal(start_over("no-such-user\x1b", arguments, &nobody), root ? ENOENT : EPERM);
	if (root) assert_non_null(strstr(nobody, "'no-such-user\\x1b'"));
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "--report") == 0) return report(argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attack_k08_nothing_of_root_is_left),
		cmocka_unit_test(attack_k08_the_terminal_of_root_stays_roots),
		cmocka_unit_test(who_cannot_be_become_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
