#include "curtain_mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/string.h"

enum { MOUNTINFO_BYTES_MAX = 8 * 1024 * 1024 };

struct mounts {
	int fd;             /* /proc/self/mountinfo; -1: can't be read, everything is far */
	struct strings far; /* mount points */
};

static const char *const local_types[] = {
	"bcachefs", "btrfs", "cgroup",  "cgroup2",  "devpts", "devtmpfs", "erofs", "exfat",  "ext2",  "ext3",
	"ext4",     "f2fs",  "hfsplus", "iso9660",  "jfs",    "mqueue",   "msdos", "nilfs2", "ntfs3", "overlay",
	"proc",     "ramfs", "rootfs",  "squashfs", "sysfs",  "tmpfs",    "udf",   "vfat",   "xfs",   "zfs",
};

static bool is_local_type(const char *type) {
	for (size_t i = 0; i < ARRAY_LENGTH(local_types); i++)
		if (strcmp(type, local_types[i]) == 0) return true;
	return false;
}

/* Space, tab, newline and backslash are \ooo (proc_pid_mountinfo(5)). */
static char *unescape(const char *text) {
	CLEANUP_STRING struct string out = {0};
	while (*text) {
		if (text[0] == '\\' && text[1] && text[2] && text[3]) {
			string_append_char(&out, (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0')));
			text += 4;
		} else {
			string_append_char(&out, *text++);
		}
	}
	return string_steal(&out);
}

/* "36 35 98:0 /root /point options [optional …] - type source options" */
static void add_line(struct mounts *mounts, char *line) {
	enum { FIELD_POINT = 4 };
	char *rest = line, *field = NULL;
	char *tail = strstr(line, " - ");
	if (!tail) return;
	*tail = '\0';
	for (int i = 0; i <= FIELD_POINT && (field = strsep(&rest, " ")); i++) continue;
	char *after = tail + strlen(" - ");
	const char *type = strsep(&after, " ");
	if (field && !is_local_type(type)) strings_take(&mounts->far, unescape(field));
}

static bool changed(const struct mounts *mounts) {
	struct pollfd look = {.fd = mounts->fd, .events = POLLPRI};
	return poll(&look, 1, 0) > 0 && (look.revents & (POLLPRI | POLLERR));
}

static void read_all(struct mounts *mounts) {
	CLEANUP_FREE char *text = NULL;
	strings_finish(&mounts->far);
	mounts->far = (struct strings){0};
	if (mounts->fd < 0 || lseek(mounts->fd, 0, SEEK_SET) < 0 ||
	    file_read_fd(mounts->fd, "/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &text, NULL, NULL) < 0) {
		strings_add(&mounts->far, "/");
		return;
	}
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) add_line(mounts, line);
}

struct mounts *mounts_new(void) {
	struct mounts *mounts = mem_new(struct mounts);
	mounts->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	read_all(mounts);
	return mounts;
}

void mounts_free(struct mounts *mounts) {
	if (!mounts) return;
	fd_close(mounts->fd);
	strings_finish(&mounts->far);
	free(mounts);
}

bool mounts_is_far(struct mounts *mounts, const char *path) {
	if (changed(mounts)) read_all(mounts);
	return path_is_below_any(path, (const char *const *)mounts->far.items, mounts->far.count);
}
