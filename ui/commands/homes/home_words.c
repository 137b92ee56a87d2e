#include "home_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/text.h"
#include "policy/policy.h"
#include "runner/home_list.h"
#include "runner/homes.h"
#include "ui/human.h"
#include "ui/words.h"

static int check_profile(const char *profile, struct error *error) {
	if (policy_is_profile_name(profile)) return 0;
	CLEANUP_FREE char *shown = text_visible_cut(profile, 40);
	return error_set(error, EINVAL,
			 "'%s' can't be a profile's name: 'sbx home' lists those that have a home of their own", shown);
}

static char *words_of(const char *profile, const char *project) {
	CLEANUP_FREE char *path = project ? human_path(project) : NULL;
	CLEANUP_FREE char *shown = path ? text_visible(path) : NULL;
	return string_format("%s's own home%s%s", profile, shown ? " in " : "", shown ? shown : "");
}

/* The home of one project isn't that of all, and which of them a profile has its policy says. */
static int cannot_open(const struct own_home *own, const char *project, struct error *error) {
	if (errno != ENOENT) return error_prefix(error, "%s", own->words);
	return error_set(error, ENOENT, "there is no %s: 'sbx home' lists those that there are%s", own->words,
			 project ? "" : "; one that is for a project is named with --project DIR");
}

int own_home_open(const char *profile, const char *project, struct own_home *ret_home, struct error *error) {
	const char *home = home_directory();
	CLEANUP_FREE char *path = NULL;
	ret_home->fd = -1;
	int r = home ? check_profile(profile, error) : error_set(error, ENOENT, "you have no home directory: set HOME");
	if (r == 0 && project) r = words_past_project(project, &path, error);
	if (r < 0) return r;
	ret_home->folder = homes_place(path ? VIEW_HOME_PROJECT : VIEW_HOME_OWN, home, profile, path);
	ret_home->words = words_of(profile, path);
	ret_home->fd = home_open(ret_home->folder, error);
	if (ret_home->fd >= 0) return 0;
	errno = -ret_home->fd;
	return cannot_open(ret_home, project, error);
}

void own_home_finish(struct own_home *own) {
	if (own->folder) fd_close(own->fd);
	free(own->folder);
	free(own->words);
	*own = (struct own_home){0};
}

/* What was typed before the question was there is thrown away. */
int home_ask(const char *question, const char *otherwise, struct error *error) {
	char line[16] = "";
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(error, EPERM, "there is no terminal to ask at: look at it first, then say %s",
				 otherwise);
	tcflush(STDIN_FILENO, TCIFLUSH);
	printf("%s [y/N] ", question);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin)) line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, "y") == 0 || strcmp(line, "Y") == 0 || strcmp(line, "yes") == 0;
}
