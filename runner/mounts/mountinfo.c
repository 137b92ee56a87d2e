#include "mountinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"

/* It writes space, tab, newline and backslash as \ooo. */
static char *unescape(const char *text, size_t size) {
	struct string out = {0};
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\\' && i + 3 < size) {
			string_append_char(&out, (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
							(text[i + 3] - '0')));
			i += 3;
		} else {
			string_append_char(&out, text[i]);
		}
	}
	return string_steal(&out);
}

/* show_path of fs/d_path.c; what lies in a name is an escape or a single slash. */
#define DELETED "//deleted"

/* 36 35 98:0 /root /point options… */
static void add_line(struct mountinfo *info, char *line) {
	char *fields[6], *rest = line;
	unsigned long long id, parent;
	for (size_t i = 0; i < ARRAY_LENGTH(fields); i++)
		if (!(fields[i] = strtok_r(rest, " ", &rest))) return;
	if (string_to_u64(fields[0], &id) < 0 || string_to_u64(fields[1], &parent) < 0) return;
	char *end;
	const unsigned major = (unsigned)strtoul(fields[2], &end, 10);
	if (*end != ':') return;
	info->entries = array_grow(info->entries, info->count, sizeof *info->entries);
	info->entries[info->count++] = (struct mountinfo_entry){
		.id = id,
		.parent = parent,
		.device = makedev(major, (unsigned)strtoul(end + 1, NULL, 10)),
		.root = unescape(fields[3], strlen(fields[3])),
		.point = unescape(fields[4], strlen(fields[4])),
		.read_only = string_starts(fields[5], "ro"), /* show_mountinfo of fs/proc_namespace.c */
		.deleted = string_ends(fields[3], DELETED)};
}

static int compare(const void *a, const void *b) {
	const struct mountinfo_entry *one = a, *two = b;
	return one->id < two->id ? -1 : one->id > two->id;
}

int mountinfo_read(int fd, struct mountinfo *ret_info) {
	CLEANUP_FREE char *text = NULL;
	if (lseek(fd, 0, SEEK_SET) < 0) return -errno;
	int r = file_read_fd(fd, "mountinfo", MOUNTINFO_MAX, &text, NULL, NULL);
	if (r < 0) return r;
	struct mountinfo info = {0};
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));) add_line(&info, line);
	if (info.count > 0) qsort(info.entries, info.count, sizeof *info.entries, compare);
	*ret_info = info;
	return 0;
}

void mountinfo_finish(struct mountinfo *info) {
	for (size_t i = 0; i < info->count; i++) {
		free(info->entries[i].root);
		free(info->entries[i].point);
	}
	free(info->entries);
	*info = (struct mountinfo){0};
}

const struct mountinfo_entry *mountinfo_find(const struct mountinfo *info, uint64_t id) {
	const struct mountinfo_entry key = {.id = id};
	if (info->count == 0) return NULL;
	return bsearch(&key, info->entries, info->count, sizeof *info->entries, compare);
}

uint64_t mountinfo_parent(const struct mountinfo *info, uint64_t id) {
	const struct mountinfo_entry *entry = mountinfo_find(info, id);
	return entry && entry->parent != id ? entry->parent : 0;
}

bool mountinfo_is_below(const struct mountinfo *info, uint64_t id, uint64_t top) {
	for (size_t i = 0; i < info->count && id != 0 && id != top; i++) id = mountinfo_parent(info, id);
	return id == top;
}
