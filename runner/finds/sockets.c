#include "sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "calls/regular.h"

enum { SOCKETS_FOLDERS_MAX = 2000, SOCKETS_ENTRIES_MAX = 50 * 1000, SOCKETS_LIST_MAX = 4 * 1024 * 1024 };

struct search {
	struct strings folders; /* those looked at, then those to look at */
	struct strings *sockets;
	size_t entries; /* that may still be looked at */
	bool whole;
};

static unsigned char type_of(int folder, const struct dirent *entry) {
	struct stat status;
	if (entry->d_type != DT_UNKNOWN) return entry->d_type;
	if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) return DT_UNKNOWN;
	return (unsigned char)IFTODT(status.st_mode);
}

static bool is_fresh(const char *path) {
	static const char *const fresh[] = {"/proc", "/sys", "/dev", "/run", "/tmp"};
	for (size_t i = 0; i < ARRAY_LENGTH(fresh); i++)
		if (string_equal(path, fresh[i])) return true;
	return false;
}

static void search_entry(struct search *search, int folder, const char *path, const struct dirent *entry) {
	if (string_equal(entry->d_name, ".") || string_equal(entry->d_name, "..")) return;
	unsigned char type = type_of(folder, entry);
	if (type != DT_SOCK && type != DT_DIR) return;
	CLEANUP_FREE char *below = path_join(path, entry->d_name);
	if (type == DT_SOCK)
		strings_add(search->sockets, below);
	else if (search->folders.count >= SOCKETS_FOLDERS_MAX)
		search->whole = false;
	else if (!is_fresh(below))
		strings_add(&search->folders, below);
}

/* One that can't be read can still be passed through, by who knows a name in it. */
static void search_folder(struct search *search, const char *path) {
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : mem_expect(fdopendir(fd));
	if (!stream) {
		fd_close(fd);
		return;
	}
	for (const struct dirent *entry; search->entries > 0 && (entry = readdir(stream)); search->entries--)
		search_entry(search, fd, path, entry);
	closedir(stream);
}

bool sockets_find(const struct strings *trees, struct strings *sockets) {
	struct search search = {.sockets = sockets, .entries = SOCKETS_ENTRIES_MAX, .whole = true};
	for (size_t i = 0; i < trees->count; i++) strings_add(&search.folders, trees->items[i]);
	for (size_t i = 0; i < search.folders.count && search.entries > 0; i++) {
		CLEANUP_FREE char *path = string_copy(search.folders.items[i]); /* the list grows */
		search_folder(&search, path);
	}
	strings_finish(&search.folders);
	return search.whole && search.entries > 0;
}

bool socket_is_at(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* "Num RefCount Protocol Flags Type St Inode Path", numbers but Inode hexadecimal, Path to the end of the line. */
static const char *datagram_path(char *line) {
	enum { TYPE = 4, BEFORE_PATH = 7 };
	unsigned long type = 0;
	char *at = line;
	for (int field = 0; field < BEFORE_PATH; field++) {
		at += strspn(at, " ");
		if (field == TYPE) type = strtoul(at, NULL, 16);
		at += strcspn(at, " ");
	}
	return type == SOCK_DGRAM && at[0] == ' ' && at[1] == '/' ? at + 1 : NULL;
}

void sockets_list_datagrams(struct strings *sockets) {
	CLEANUP_FREE char *text = NULL;
	if (regular_read("/proc/self/net/unix", SOCKETS_LIST_MAX, &text, NULL, NULL) < 0) return;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) {
		const char *path = datagram_path(line);
		CLEANUP_FREE char *normal = NULL;
		if (path && path_normalise(NULL, path, &normal, NULL) == 0) strings_add(sockets, normal);
	}
}
