#include "project_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "policy/source.h"
#include "schema/limits.h"

enum { REMEMBERED_MAX = 16 }; /* that nobody follows */

TAILQ_HEAD(project_file_list, project_file);

struct project_files {
	struct store *store;
	struct watch *watch;
	const char *home;
	struct project_file_list list; /* the one asked for last comes first */
};

struct project_files *project_files_new(struct store *store, struct watch *watch, const char *home) {
	struct project_files *files = mem_new(struct project_files);
	files->store = store;
	files->watch = watch;
	files->home = home;
	TAILQ_INIT(&files->list);
	return files;
}

static void drop_documents(struct project_file *file) {
	policy_document_unref(file->said);
	policy_document_unref(file->counting);
	policy_document_unref(file->enclosing);
	file->said = file->counting = file->enclosing = NULL;
	file->hash[0] = '\0';
	file->trusted = false;
}

/* One follower less. */
static void release(struct project_file *file) {
	if (!file || --file->followers > 0) return;
	watched_free(file->watched);
	file->watched = NULL;
}

static void file_free(struct project_file *file) {
	TAILQ_REMOVE(&file->files->list, file, link);
	release(file->outer);
	drop_documents(file);
	watched_free(file->watched);
	strings_finish(&file->errors);
	free(file->project);
	free(file->path);
	free(file->seen);
	free(file);
}

void project_files_free(struct project_files *files) {
	struct project_file *each;
	if (!files) return;
	TAILQ_FOREACH(each, &files->list, link) {
		each->outer = NULL; /* all go */
	}
	for (struct project_file *file = TAILQ_FIRST(&files->list), *next; file; file = next) {
		next = TAILQ_NEXT(file, link);
		file_free(file);
	}
	free(files);
}

/* Trust */

/* What can't be looked up isn't trusted. */
static bool is_trusted(const struct project_file *file) {
	struct store *store = file->files->store;
	if (!store) return false;
	sqlite3_stmt *find = store_statement(store, STORE_TRUST_FIND);
	store_bind_text(find, 1, file->project);
	store_bind_text(find, 2, file->hash);
	int step = sqlite3_step(find);
	struct error error = ERROR_NONE;
	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		store_error(store, &error, "looking up what is trusted");
		log_error("%s", error.message);
	}
	sqlite3_reset(find);
	return step == SQLITE_ROW;
}

/* True when another document counts. */
static bool judge(struct project_file *file) {
	struct policy_document *before = file->counting;
	bool trusted = file->said && is_trusted(file);
	if (before && trusted == file->trusted) return false;
	file->trusted = trusted;
	file->counting = NULL;
	if (file->said && (trusted || !policy_document_needs_trust(file->said)))
		file->counting = policy_document_ref(file->said);
	else if (file->said)
		file->counting = policy_document_untrusted(file->said);
	bool changed = file->counting != before;
	policy_document_unref(before);
	return changed;
}

/* Looking */

static void take_content(struct project_file *file, const char *text, size_t size) {
	char hash[HASH_HEX_SIZE];
	hash_hex(hash, text, size);
	if (file->said && strcmp(hash, file->hash) == 0) return;
	struct policy_document *document = policy_load(POLICY_LAYER_PROJECT, file->path, text, size, &file->errors);
	if (!document) return;
	drop_documents(file);
	file->said = document;
	CLEANUP_FREE char *root = path_parent(file->path);
	file->enclosing = policy_document_enclosing(document, root);
	memcpy(file->hash, hash, sizeof hash);
}

static bool is_foreign(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0 && status.st_uid != geteuid() && status.st_uid != 0;
}

static void look(struct project_file *file) {
	if (file->watched) watched_take(file->watched);
	CLEANUP_FREE char *root = path_parent(file->path);
	CLEANUP_FREE char *seen = policy_project_look(root);
	if (string_equal(seen, file->seen)) return;
	free(file->seen);
	file->seen = STEAL(seen);
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *told = string_copy(file->errors.count > 0 ? file->errors.items[0] : "");
	size_t size = 0;
	struct error error = ERROR_NONE;
	const struct policy_document *before = file->said;
	strings_finish(&file->errors);
	file->errors = (struct strings){0};
	file->foreign = is_foreign(file->path);
	int r = policy_project_read(root, &file->exists, &text, &size, &error);
	if (r < 0)
		strings_add(&file->errors, error.message);
	else if (text)
		take_content(file, text, size);
	else
		drop_documents(file);
	bool changed = file->said != before || strcmp(told, file->errors.count > 0 ? file->errors.items[0] : "") != 0;
	file->untold |= judge(file) || changed;
}

static void forget_some(struct project_files *files) {
	size_t idle = 0;
	for (struct project_file *file = TAILQ_FIRST(&files->list), *next; file; file = next) {
		next = TAILQ_NEXT(file, link);
		if (file->followers == 0 && ++idle > REMEMBERED_MAX) file_free(file);
	}
}

static struct project_file *find(struct project_files *files, const char *path, const char *project) {
	struct project_file *file;
	TAILQ_FOREACH(file, &files->list, link) {
		if (strcmp(file->path, path) == 0 && strcmp(file->project, project) == 0) return file;
	}
	return NULL;
}

/* Is it the last folder in which a file is looked for? */
static bool is_outermost(const struct project_files *files, const char *root) {
	return strcmp(root, "/") == 0 || (files->home && strcmp(root, files->home) == 0) ||
	       path_depth(root) > LIMIT_ENCLOSING;
}

/* Those of the folders above, as they are now. */
static void look_outside(struct project_file *file, const char *root) {
	if (is_outermost(file->files, root)) return;
	CLEANUP_FREE char *parent = path_parent(root);
	struct project_file *outer = project_files_get(file->files, parent, parent);
	if (!file->outer) file->outer = project_file_follow(outer);
}

struct project_file *project_files_get(struct project_files *files, const char *root, const char *project) {
	CLEANUP_FREE char *path = path_join(root, POLICY_PROJECT_FILE);
	struct project_file *file = find(files, path, project);
	if (file) {
		TAILQ_REMOVE(&files->list, file, link);
	} else {
		file = mem_new(struct project_file);
		file->files = files;
		file->project = string_copy(project);
		file->path = STEAL(path);
	}
	TAILQ_INSERT_HEAD(&files->list, file, link);
	file->followers++; /* it stays */
	look(file);
	look_outside(file, root);
	file->followers--;
	forget_some(files);
	return file;
}

struct project_file *project_file_follow(struct project_file *file) {
	if (file->followers++ == 0) {
		file->watched = watch_file(file->files->watch, file->path);
		/* What happened between the look and the watch is seen by another look. */
		look(file);
		file->untold = false;
	}
	return file;
}

void project_file_leave(struct project_file *file) {
	if (!file) return;
	release(file);
	forget_some(file->files);
}

bool project_files_look(struct project_files *files, bool stirred_only, project_file_changed *each, void *context) {
	bool changed = false;
	struct project_file *file;
	TAILQ_FOREACH(file, &files->list, link) {
		if (!file->watched) continue;
		if (!stirred_only || watched_is_stirred(file->watched)) look(file);
		if (!file->untold) continue;
		file->untold = false;
		changed = true;
		if (each) each(context, file);
	}
	return changed;
}

const struct project_file *project_file_outer(const struct project_file *file) {
	const struct project_file *outer = file->outer;
	while (outer && (outer->foreign || !outer->exists)) outer = outer->outer;
	return outer;
}

static int check_alone(const struct project_file *file, struct error *error) {
	if (file->errors.count == 0) return 0;
	return error_set(
		error, EINVAL,
		"%s (what it denies can't be known, so nothing begins in this project until the file is mended "
		"or moved away: `sbx policy check %s`)",
		file->errors.items[0], file->path);
}

int project_file_check(const struct project_file *file, struct error *error) {
	CLEANUP_FREE char *root = path_parent(file->path);
	int r = check_alone(file, error);
	if (r == 0 && path_depth(root) > LIMIT_ENCLOSING)
		r = error_set(error, E2BIG, "the project %s lies more than %d folders deep", root, LIMIT_ENCLOSING);
	for (const struct project_file *outer = file; r == 0 && (outer = project_file_outer(outer));)
		r = check_alone(outer, error);
	return r;
}

bool project_file_needs_trust(const struct project_file *file) {
	return file->said && file->said != file->counting;
}

/* Changing trust */

int project_file_trust(struct project_file *file, const char *hash, int64_t now_ms, struct error *error) {
	struct store *store = file->files->store;
	if (!file->exists) return error_set(error, ENOENT, "there is no %s", file->path);
	int r = project_file_check(file, error);
	if (r < 0) return r;
	if (strcmp(hash, file->hash) != 0)
		return error_set(error, ESTALE, "%s has changed since it was shown: look at it again", file->path);
	sqlite3_stmt *insert = store_statement(store, STORE_TRUST_INSERT);
	store_bind_text(insert, 1, file->project);
	store_bind_text(insert, 2, file->hash);
	store_bind_integer(insert, 3, now_ms);
	return store_run(store, insert, error, "recording trust");
}

int project_file_forget(struct project_file *file, struct error *error) {
	struct store *store = file->files->store;
	sqlite3_stmt *delete = store_statement(store, STORE_TRUST_DELETE);
	store_bind_text(delete, 1, file->project);
	return store_run(store, delete, error, "taking back trust");
}

void project_files_judge(struct project_files *files, const char *project) {
	struct project_file *file;
	TAILQ_FOREACH(file, &files->list, link) {
		if (strcmp(file->project, project) == 0) judge(file);
	}
}
