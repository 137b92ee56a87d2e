#include "runner/project.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/string.h"
#include "git/git.h"

void project_finish(struct project *project) {
	free(project->project);
	free(project->root);
	*project = (struct project){0};
}

static int directory_real(const char *directory, const char *path, char **ret_real, struct error *error) {
	CLEANUP_FREE char *normal = NULL;
	CLEANUP_FREE char *joined = path[0] == '/' ? string_copy(path) : path_join(directory, path);
	int r = path_normalise(NULL, joined, &normal, error);
	if (r < 0) return r;
	/* not `normal`: the text of "link/.." is not where the kernel ends up */
	CLEANUP_FREE char *real = mem_expect(realpath(joined, NULL));
	if (!real) return error_errno(error, "%s", path);
	struct stat status;
	if (stat(real, &status) < 0) return error_errno(error, "%s", path);
	if (!S_ISDIR(status.st_mode)) return error_set(error, ENOTDIR, "%s is not a directory", path);
	*ret_real = STEAL(real);
	return 0;
}

/* $HOME, what holds it, and / are projects only when the user says so. */
static int too_wide(const char *root, const char *home, struct error *error) {
	CLEANUP_FREE char *real_home = mem_expect(realpath(home, NULL));
	if (!path_is_below(real_home ? real_home : home, root)) return 0;
	return error_set(error, EPERM,
			 "the project would be %s: change to a project's directory, or say it with --project %s", root,
			 root);
}

int project_find(const char *asked, const char *directory, const char *home, struct project *ret_project,
		 struct error *error) {
	CLEANUP_FREE char *start = NULL;
	int r = directory_real(directory, asked ? asked : ".", &start, error);
	if (r < 0) return error_prefix(error, "project");

	CLEANUP_GIT_LAYOUT struct git_layout layout = {0};
	git_find(start, home, &layout);
	/* a repository that is the whole home directory (dotfiles) doesn't make every folder in it one project */
	bool whole = !asked && layout.top && too_wide(layout.top, home, NULL) == 0;
	CLEANUP_FREE char *root = string_copy(whole ? layout.top : start);
	if (!asked && (r = too_wide(root, home, error)) < 0) return r;

	bool linked = layout.linked && string_equal(layout.top, root) && too_wide(layout.main, home, NULL) == 0;
	ret_project->project = linked ? string_copy(layout.main) : string_copy(root);
	ret_project->root = STEAL(root);
	return 0;
}
