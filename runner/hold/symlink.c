/*
 * Theory of operation. What a link leads to may change after it is made, as names of its text can become other folders,
 * or links. Within the tree that the tool writes that doesn't matter: a relative text whose `..` all come first leads
 * from its folder up so many times, and down by names from there; whatever link lies on that way was judged itself. So
 * such a text stays within the tree for as long as its folder stays as deep (links.h: what is moved). A `..` behind a
 * name takes back whatever that name has become, also a link that leads up: it is asked about. So is the name of a mask
 * behind another name, which may become a link to the folder that the mask is in.
 *
 * Outside the tree a file is judged by what the user may do with it. A folder isn't, for its names are chosen later, by
 * other links (`d -> /home`, `l -> d/u/.bashrc`): only those of the system's own trees are silent.
 */
#include "symlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"
#include "git/git.h"
#include "plan/lead.h"

/* Reading */

/* Up to a folder that is above `known`, too: that one is none. */
static bool is_in_git(const char *folder, const char *known) {
	CLEANUP_FREE char *above = string_copy(folder);
	while (above[1] && !path_is_below(known, above)) {
		if (string_equal(path_name(above), ".git") || git_is_repository(above)) return true;
		char *parent = path_parent(above);
		free(above);
		above = parent;
	}
	return false;
}

bool symlink_folder_is_git(const char *folder) {
	return is_in_git(folder, "/");
}

/* A git directory, or what may be a folder in one: by another link git's own files could be named behind it. What
 * git-annex keeps there are files. */
static bool leads_into_git(const char *folder, const char *real) {
	struct stat status;
	if (!is_in_git(real, folder) || strstr(real, "/.git/annex/objects/")) return false;
	return lstat(real, &status) < 0 || S_ISDIR(status.st_mode);
}

/* `git init` tries whether links can be made (setup.c, create_default_files: "tXXXXXX" -> "testing"). */
static bool is_gits_trial(const char *place, const char *text) {
	const char *name = path_name(place);
	return string_equal(text, "testing") && name[0] == 't' && strlen(name) == strlen("tXXXXXX");
}

static bool is_twisted(const char *text) {
	bool named = false;
	for (const char *at = text; *at;) {
		const size_t size = strcspn(at, "/");
		const bool up = size == 2 && strncmp(at, "..", 2) == 0, here = size == 0 || (size == 1 && *at == '.');
		if (up && named) return true;
		named |= !up && !here;
		at += size + (at[size] == '/');
	}
	return false;
}

/* No link lies on the way, or nothing does: it is what its text says. */
static bool is_plain(const char *path) {
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	return fd >= 0 || errno == ENOENT || errno == ENOTDIR;
}

static char *real_path(const char *path) {
	const struct lead lead = {.thread = getpid(), .folder = AT_FDCWD, .last = true, .there = true};
	char *real = NULL;
	if (is_plain(path)) return string_copy(path);
	return lead_find(&lead, path, &real) < 0 ? NULL : real;
}

/* Whose owner could give himself the right. */
static bool may_write(const char *path, const struct stat *status) {
	if (access(path, W_OK) == 0) return true;
	return errno != EROFS && status->st_uid == geteuid();
}

/* What is below a folder is whatever another link says. */
static bool is_systems_folder(const char *path) {
	static const char *const trees[] = {"/usr", "/etc", "/opt", "/nix/store", "/gnu/store"};
	return path_is_below_any(path, trees, ARRAY_LENGTH(trees));
}

/* Written to by everybody, and nothing of it stays. */
static bool is_bottomless(const char *path) {
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
	for (size_t i = 0; i < ARRAY_LENGTH(devices); i++)
		if (string_equal(path, devices[i])) return true;
	return false;
}

/* What is in these depends on who looks. */
static bool is_kernels(const char *path) {
	static const char *const trees[] = {"/proc", "/sys", "/dev"};
	return path_is_below_any(path, trees, ARRAY_LENGTH(trees));
}

static bool is_writable(const char *path) {
	struct stat status;
	if (is_kernels(path)) return !is_bottomless(path);
	if (lstat(path, &status) == 0) {
		if (may_write(path, &status)) return true;
		return S_ISDIR(status.st_mode) && !is_systems_folder(path);
	}
	if (errno != ENOENT) return errno != EACCES && errno != ENOTDIR;
	CLEANUP_FREE char *folder = path_parent(path);
	if (lstat(folder, &status) < 0) return errno != ENOENT && errno != EACCES && errno != ENOTDIR;
	return may_write(folder, &status);
}

void symlink_read(const char *place, const char *text, struct symlink *ret_link) {
	CLEANUP_FREE char *folder = path_parent(place);
	*ret_link = (struct symlink){.place = string_copy(place),
				     .text = string_copy(text),
				     .twisted = is_twisted(text),
				     .git = symlink_folder_is_git(folder) && !is_gits_trial(place, text)};
	if (path_normalise(folder, text, &ret_link->target, NULL) < 0)
		ret_link->target = string_copy("/");
	else
		ret_link->real =
			is_kernels(ret_link->target) ? string_copy(ret_link->target) : real_path(ret_link->target);
	ret_link->git |= ret_link->real && leads_into_git(folder, ret_link->real);
	ret_link->writable = !ret_link->real || is_writable(ret_link->real);
}

void symlink_finish(struct symlink *link) {
	free(link->place);
	free(link->from);
	free(link->text);
	free(link->target);
	free(link->real);
	*link = (struct symlink){.place = NULL};
}

/* Judging */

static bool is_tree(const struct sight *sight) {
	return sight->hosts && sight->mode == VIEW_WRITE;
}

/* May the tool write it? */
static bool is_open(const struct sight *sight) {
	return is_tree(sight) && !sight->masked_missing && !sight->masked_name;
}

/* The folder that both are in, or the one that the other is in. */
static char *common_folder(const char *one, const char *other) {
	char *folder = path_parent(one);
	while (!path_is_below(other, folder)) {
		char *parent = path_parent(folder);
		free(folder);
		folder = parent;
	}
	return folder;
}

struct judge {
	struct sight (*sight)(void *context, const char *path);
	void *context;
};

/* Does it lead to a place in the same tree? */
static bool stays(const struct judge *judge, const char *place, const char *target) {
	CLEANUP_FREE char *common = common_folder(place, target);
	const struct sight around = judge->sight(judge->context, common);
	return is_tree(&around);
}

/* A name of the text that may come to be a mask's, once what stands before it is a link (`d/.envrc`, and `d -> .`). */
static bool may_name_mask(const struct judge *judge, const char *folder, const char *text) {
	bool behind = false;
	for (const char *at = text; *at;) {
		const size_t size = strcspn(at, "/");
		CLEANUP_FREE char *name = string_copy_bytes(at, size);
		const bool named = size > 0 && !path_is_dots(name);
		CLEANUP_FREE char *path = path_join(folder, named ? name : "x");
		if (named && behind && judge->sight(judge->context, path).mask_name) return true;
		behind |= named;
		at += size + (at[size] == '/');
	}
	return false;
}

const char *symlink_asks(const struct symlink *link, struct sight (*sight)(void *context, const char *path),
			 void *context) {
	const struct judge judge = {sight, context};
	CLEANUP_FREE char *folder = path_parent(link->place);
	const struct sight around = sight(context, folder);
	const char *leads = link->real ? link->real : link->target;
	if (!*link->text) return NULL;
	if (sight(context, link->place).lost) return leads; /* it is made on the host (host_make.h) */
	if (!is_tree(&around)) return NULL;
	/* out of the sandbox's own folders the kernel moves nothing (EXDEV) */
	if (link->from && !sight(context, link->from).hosts) return NULL;
	if (link->git || link->twisted || !link->real) return leads;
	if (!stays(&judge, link->place, link->real)) return link->writable ? leads : NULL;
	const struct sight there = sight(context, link->real);
	return is_open(&there) && !may_name_mask(&judge, folder, link->text) ? NULL : leads;
}
