#include "policy/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "document.h"
#include "schema/limits.h"
#include "schema/upstream.h"

static const char user_name[] = "policy.yaml", admin_name[] = "sbx.yaml";

struct reader_of_files {
	const struct policy_source *source;
	struct policy_document *const *others;
	size_t other_count;
	struct policy_reading *reading;
};

void policy_reading_finish(struct policy_reading *reading) {
	strings_finish(&reading->paths);
	strings_finish(&reading->errors);
	strings_finish(&reading->warnings);
	for (size_t i = 0; i < reading->count; i++) policy_document_unref(reading->documents[i]);
	free(reading->documents);
	*reading = (struct policy_reading){0};
}

/* Which files */

/* The names in policy.d, sorted; one more than LIMIT_POLICY_FILES when there are too many. */
static void list_parts(int folder, struct strings *names) {
	int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	DIR *entries = copy < 0 ? NULL : mem_expect(fdopendir(copy));
	if (!entries) {
		fd_close(copy);
		return;
	}
	for (const struct dirent *entry; names->count <= LIMIT_POLICY_FILES && (entry = readdir(entries));)
		if (string_ends(entry->d_name, ".yaml") && entry->d_name[0] != '.') strings_add(names, entry->d_name);
	closedir(entries);
	strings_sort(names);
}

/* Reading */

void policy_source_check_place(const char *folder, const char *path, const struct policy_document *document,
			       struct strings *errors) {
	CLEANUP_FREE char *main = path_join(folder, admin_name);
	if (document->stack_count > 0 && strcmp(path, main) != 0)
		strings_addf(errors, "%s: \"stack\" can't be set here, expected it in %s alone", path, main);
}

/* Each may build on those before it. */
static void parse(struct reader_of_files *reader, const char *path, const char *text, size_t size) {
	struct policy_reading *reading = reader->reading;
	size_t count = 0;
	CLEANUP_FREE struct policy_document **before =
		mem_alloc(reader->other_count + reading->count + 1, sizeof(void *));
	for (size_t i = 0; i < reader->other_count; i++) before[count++] = reader->others[i];
	for (size_t i = 0; i < reading->count; i++) before[count++] = reading->documents[i];
	struct policy_document *document =
		policy_load_among(before, count, reader->source->layer, path, text, size, &reading->errors);
	if (!document) return;
	policy_source_check_place(reader->source->folder, path, document, &reading->errors);
	reading->documents = array_grow(reading->documents, reading->count, sizeof(void *));
	reading->documents[reading->count++] = document;
}

static void add_to_hash(struct policy_reading *reading, const char *name, const char *content, size_t size) {
	char hash[HASH_HEX_SIZE];
	hash_hex(hash, content, size);
	CLEANUP_FREE char *line = string_format("%s %s\n", hash, name);
	hash_hex_two(reading->hash, reading->hash, strlen(reading->hash), line, strlen(line));
}

static bool has_password(const struct policy_document *document) {
	bool has = document->upstream && upstream_has_password(document->upstream);
	for (size_t i = 0; i < document->profile_count && !has; i++)
		has = document->profiles[i].upstream && upstream_has_password(document->profiles[i].upstream);
	return has;
}

/* What was parsed last, from that file. */
static void warn_of_password(struct policy_reading *reading, int fd, const char *path) {
	struct stat status;
	if (!has_password(reading->documents[reading->count - 1]) || fstat(fd, &status) < 0) return;
	if (status.st_mode & 0077)
		strings_addf(&reading->warnings,
			     "%s: others than its owner may read the password of `upstream`: chmod 0600 it", path);
}

static void read_file(struct reader_of_files *reader, int folder, const char *path, const struct file_demand *demand) {
	struct policy_reading *reading = reader->reading;
	struct error error = ERROR_NONE;
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	CLEANUP_FD int fd = file_open_demanded(folder, path_name(path), path, demand, &error);
	if (fd == -ENOENT) return;
	strings_add(&reading->paths, path);
	if (fd < 0 || file_read_fd(fd, path, LIMIT_POLICY, &text, &size, &error) < 0)
		strings_addf(&reading->errors, "%s%s%s", string_starts(error.message, path) ? "" : path,
			     string_starts(error.message, path) ? "" : ": ", error.message);
	else {
		add_to_hash(reading, path, text, size);
		size_t before = reading->count;
		parse(reader, path, text, size);
		if (reading->count > before) warn_of_password(reading, fd, path);
	}
}

/* -1 without an error where there is none. */
static int open_folder(struct reader_of_files *reader, int at, const char *name, const char *path) {
	const struct file_demand demand = {
		.kind = S_IFDIR, .owner = reader->source->owner, .or_root = true, .never = 0022};
	struct error error = ERROR_NONE;
	int fd = file_open_demanded(at, name, path, &demand, &error);
	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR) strings_add(&reader->reading->errors, error.message);
	return fd < 0 ? -1 : fd;
}

static void read_parts(struct reader_of_files *reader, int folder, const struct file_demand *demand) {
	CLEANUP_FREE char *path = path_join(reader->source->folder, POLICY_PARTS_FOLDER);
	CLEANUP_FD int parts = open_folder(reader, folder, POLICY_PARTS_FOLDER, path);
	CLEANUP_STRINGS struct strings names = {0};
	if (parts < 0) return;
	list_parts(parts, &names);
	if (names.count > LIMIT_POLICY_FILES) {
		strings_addf(&reader->reading->errors, "%s has more than %d files", path, LIMIT_POLICY_FILES);
		return;
	}
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP_FREE char *file = path_join(path, names.items[i]);
		read_file(reader, parts, file, demand);
	}
}

static void read_files(struct reader_of_files *reader) {
	const struct policy_source *source = reader->source;
	bool admin = source->layer == POLICY_LAYER_ADMIN;
	/* That the user's group can write the user's own file is the user's affair. */
	const struct file_demand demand = {
		.kind = S_IFREG, .owner = source->owner, .or_root = true, .never = admin ? 0022 : 0002};
	CLEANUP_FD int folder = open_folder(reader, AT_FDCWD, source->folder, source->folder);
	CLEANUP_FREE char *main = path_join(source->folder, admin ? admin_name : user_name);
	if (folder < 0) return;
	read_file(reader, folder, main, &demand);
	if (admin) read_parts(reader, folder, &demand);
}

void policy_source_read(const struct policy_source *source, struct policy_document *const *others, size_t other_count,
			struct policy_reading *ret_reading) {
	*ret_reading = (struct policy_reading){0};
	struct reader_of_files reader = {source, others, other_count, ret_reading};
	read_files(&reader);
	for (size_t i = 0; i < ret_reading->errors.count; i++)
		add_to_hash(ret_reading, "", ret_reading->errors.items[i], strlen(ret_reading->errors.items[i]));
}

int policy_project_read(const char *root, bool *ret_exists, char **ret_text, size_t *ret_size, struct error *error) {
	const struct file_demand demand = {.kind = S_IFREG, .owner = geteuid(), .or_root = true};
	CLEANUP_FREE char *path = path_join(root, POLICY_PROJECT_FILE);
	CLEANUP_FD int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*ret_exists = false;
	if (folder < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : error_errno(error, "%s", path);
	CLEANUP_FD int fd = file_open_demanded(folder, POLICY_PROJECT_FILE, path, &demand, error);
	if (fd == -ENOENT) return 0;
	*ret_exists = true;
	return fd < 0 ? fd : file_read_fd(fd, path, LIMIT_PROJECT_FILE, ret_text, ret_size, error);
}

/* Looking */

/* Which folder it is and who may write it, not what is in it. */
static bool look_at(struct string *seen, const char *path, struct stat *ret_status) {
	if (lstat(path, ret_status) < 0) {
		string_appendf(seen, "%s: %d\n", path, errno);
		return false;
	}
	string_appendf(seen, "%s: %llu:%llu %o %u\n", path, (unsigned long long)ret_status->st_dev,
		       (unsigned long long)ret_status->st_ino, ret_status->st_mode, ret_status->st_uid);
	return true;
}

static void look_at_file(struct string *seen, const char *path) {
	struct stat status;
	if (!look_at(seen, path, &status)) return;
	string_appendf(seen, "  %lld %lld.%09ld %lld.%09ld\n", (long long)status.st_size,
		       (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec, (long long)status.st_ctim.tv_sec,
		       status.st_ctim.tv_nsec);
}

static void look_at_parts(struct string *seen, const char *path) {
	struct stat status;
	CLEANUP_STRINGS struct strings names = {0};
	CLEANUP_FD int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	look_at(seen, path, &status);
	if (folder >= 0) list_parts(folder, &names);
	for (size_t i = 0; i < names.count; i++) {
		CLEANUP_FREE char *file = path_join(path, names.items[i]);
		look_at_file(seen, file);
	}
}

char *policy_source_look(const struct policy_source *source) {
	bool admin = source->layer == POLICY_LAYER_ADMIN;
	CLEANUP_FREE char *main = path_join(source->folder, admin ? admin_name : user_name);
	CLEANUP_FREE char *parts = path_join(source->folder, POLICY_PARTS_FOLDER);
	struct string seen = {0};
	struct stat status;
	look_at(&seen, source->folder, &status);
	look_at_file(&seen, main);
	if (admin) look_at_parts(&seen, parts);
	return string_steal(&seen);
}

char *policy_project_look(const char *root) {
	CLEANUP_FREE char *path = path_join(root, POLICY_PROJECT_FILE);
	struct string seen = {0};
	look_at_file(&seen, path);
	return string_steal(&seen);
}
