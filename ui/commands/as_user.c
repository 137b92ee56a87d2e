#include "as_user.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "relay.h"

static const char *const kept[] = {"TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "TZ", "PATH", "SBX_DEBUG"};

static bool is_kept(const char *entry, size_t size, const struct strings *named) {
	if (size > 3 && memcmp(entry, "LC_", 3) == 0) return true;
	for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
		if (strlen(kept[i]) == size && memcmp(kept[i], entry, size) == 0) return true;
	/* "--env K" names a variable of the caller; "--env K=V" brings its own value. */
	for (size_t i = 0; i < named->count; i++)
		if (strlen(named->items[i]) == size && memcmp(named->items[i], entry, size) == 0) return true;
	return false;
}

static void build_environment(const struct passwd *account, const struct strings *named, struct strings *ret) {
	for (char **entry = environ; *entry; entry++) {
		const char *equals = strchr(*entry, '=');
		if (equals && is_kept(*entry, (size_t)(equals - *entry), named)) strings_add(ret, *entry);
	}
	strings_addf(ret, "HOME=%s", account->pw_dir);
	strings_addf(ret, "USER=%s", account->pw_name);
	strings_addf(ret, "LOGNAME=%s", account->pw_name);
	strings_addf(ret, "SHELL=%s", *account->pw_shell ? account->pw_shell : "/bin/sh");
	/* pam_systemd's place; sbx itself checks whose it is before it uses it. */
	CLEANUP_FREE char *runtime = string_format("/run/user/%u", account->pw_uid);
	if (access(runtime, F_OK) == 0) strings_addf(ret, "XDG_RUNTIME_DIR=%s", runtime);
}

/* The command line without --as-user. It ends where the command to run begins, which may have one of its own. */
static void build_arguments(char *const *argv, struct strings *ret) {
	bool taken = false;
	for (size_t i = 0; argv[i]; i++) {
		if (!taken && strcmp(argv[i], "--as-user") == 0 && argv[i + 1]) {
			taken = true;
			i++;
		} else if (!taken && string_starts(argv[i], "--as-user=")) {
			taken = true;
		} else {
			strings_add(ret, argv[i]);
		}
	}
}

static int become(const struct passwd *account, struct error *error) {
	uid_t uid = account->pw_uid;
	gid_t gid = account->pw_gid;
	/* Not traced by the user's other processes while there is still something of root's in memory; exec ends it. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return error_errno(error, "hiding from the user's processes");
	if (initgroups(account->pw_name, gid) < 0)
		return error_errno(error, "taking the groups of %s", account->pw_name);
	if (setresgid(gid, gid, gid) < 0) return error_errno(error, "becoming %s", account->pw_name);
	if (setresuid(uid, uid, uid) < 0) return error_errno(error, "becoming %s", account->pw_name);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return error_errno(error, "dropping capabilities");
	if (geteuid() != uid || getegid() != gid || setuid(0) == 0)
		return error_set(error, EPERM, "becoming %s did not work: root could be had back", account->pw_name);
	return 0;
}

static int enter_directory(const struct passwd *account, bool elsewhere, struct error *error) {
	if (access(".", R_OK | X_OK) == 0) return 0;
	if (elsewhere && chdir(account->pw_dir) == 0) return 0;
	return error_set(error, EACCES,
			 "%s may not read the current directory: cd to one that is theirs, or name one with --cwd",
			 account->pw_name);
}

int as_user_start_over(const char *name, const struct strings *kept_variables, bool elsewhere, char *const *argv,
		       struct error *error) {
	CLEANUP_FREE char *shown = text_visible_cut(name, 40);
	if (geteuid() != 0)
		return error_set(error, EPERM, "--as-user is for root: you are user %u already, leave it out",
				 geteuid());
	const struct passwd *account = getpwnam(name);
	if (!account) return error_set(error, ENOENT, "--as-user: there is no user '%s'", shown);
	if (account->pw_uid == 0)
		return error_set(error, EPERM, "--as-user: '%s' is root (user 0) again: name an ordinary user", shown);
	CLEANUP_STRINGS struct strings environment = {0};
	CLEANUP_STRINGS struct strings arguments = {0};
	build_environment(account, kept_variables, &environment);
	build_arguments(argv, &arguments);
	int r = relay_start(account->pw_uid, error);
	if (r < 0) return r;
	if (close_range(STDERR_FILENO + 1, UINT_MAX, 0) < 0) return error_errno(error, "closing what root had open");
	r = become(account, error);
	if (r == 0) r = enter_directory(account, elsewhere, error);
	if (r < 0) return r;
	if (!arguments.items || !environment.items) return error_set(error, EINVAL, "an empty command line");
	execve("/proc/self/exe", arguments.items, environment.items);
	return error_errno(error, "starting sbx over as %s (may they read where sbx is installed?)", shown);
}
