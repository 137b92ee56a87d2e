#include "interpreters.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/binfmts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "plan/lead.h"

enum {
	INTERPRETERS_MAX = 5, /* the kernel's own nesting of #! lines, execve(2) */
	INTERPRETERS_SEGMENTS_MAX = 64,
	INTERPRETERS_PATH_MAX = 4096,
};

union head {
	char text[BINPRM_BUF_SIZE]; /* as far as the kernel looks for a #! line */
	ElfW(Ehdr) elf;
};

/* Of a regular file that may be executed: 0, *ret_real is what it is called behind all links, NULL where it has no name
 * (lead.h), and *ret_fd -1 where it can't be read and isn't the tool's to make so, or lies in the curtain. Of anything
 * else what execve(2) fails with, and negative as interpreters_find. */
static int open_program(const struct lead *lead, const char *path, char **ret_real, int *ret_fd) {
	CLEANUP_FREE char *real = NULL;
	CLEANUP_FD int place = -1;
	char name[32];
	struct stat status;
	int r = lead_open(lead, path, &place, &real);
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -ENAMETOOLONG) return -r;
	if (lead->curtain != 0 && (r == -ESTALE || (r == 0 && lead_device(place) == lead->curtain))) return 0;
	if (r < 0) return r;
	if (fstat(place, &status) < 0) return -errno;
	if (!S_ISREG(status.st_mode) || faccessat(place, "", X_OK, AT_EMPTY_PATH) < 0) return EACCES;
	snprintf(name, sizeof name, "/proc/self/fd/%d", place);
	*ret_fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*ret_fd < 0 && (errno != EACCES || status.st_uid == getuid())) return -errno;
	*ret_real = STEAL(real);
	return 0;
}

static char *of_script(const union head *head, size_t size) {
	CLEANUP_FREE char *line = string_copy_bytes(head->text + 2, size - 2);
	line[strcspn(line, "\r\n")] = '\0';
	char *name = line + strspn(line, " \t");
	name[strcspn(name, " \t")] = '\0';
	return name[0] ? string_copy(name) : NULL;
}

static char *of_elf(int fd, const union head *head) {
	char text[INTERPRETERS_PATH_MAX];
	for (unsigned i = 0; i < head->elf.e_phnum && i < INTERPRETERS_SEGMENTS_MAX; i++) {
		ElfW(Phdr) segment;
		const off_t at = (off_t)(head->elf.e_phoff + i * sizeof segment);
		if (pread(fd, &segment, sizeof segment, at) != sizeof segment) return NULL;
		if (segment.p_type != PT_INTERP) continue;
		const size_t size = segment.p_filesz < sizeof text ? segment.p_filesz : sizeof text;
		if (pread(fd, text, size, (off_t)segment.p_offset) != (ssize_t)size) return NULL;
		return memchr(text, '\0', size) && text[0] ? string_copy(text) : NULL;
	}
	return NULL;
}

static char *interpreter_of(int fd, bool *ret_last) {
	union head head = {0};
	const ssize_t size = pread(fd, &head, sizeof head, 0);
	if (size > 2 && memcmp(head.text, "#!", 2) == 0) return of_script(&head, (size_t)size);
	if (size < (ssize_t)sizeof head.elf || memcmp(head.elf.e_ident, ELFMAG, SELFMAG) != 0) return NULL;
	*ret_last = true; /* its own is mapped, not executed */
	return of_elf(fd, &head);
}

static void add(struct strings *paths, const char *path) {
	if (!strings_contain(paths, path)) strings_add(paths, path);
}

int interpreters_find(const struct lead *first, const char *path, struct strings *ret_paths) {
	struct lead lead = *first;
	lead.last = true;
	CLEANUP_FREE char *at = string_copy(path);
	bool last = false;
	for (int depth = 0; at && depth <= INTERPRETERS_MAX; depth++) {
		CLEANUP_FREE char *real = NULL, *normal = NULL;
		CLEANUP_FD int fd = -1;
		int r = open_program(&lead, at, &real, &fd);
		if (r > 0 && last) return 0; /* a loader, which who registers formats (binfmt_misc) may do without */
		if (r != 0) return r;
		if (path_normalise(NULL, at, &normal, NULL) == 0) add(ret_paths, normal);
		if (real) add(ret_paths, real);
		free(at);
		at = fd < 0 || last ? NULL : interpreter_of(fd, &last);
		lead.folder = AT_FDCWD; /* where one that isn't absolute is looked for */
	}
	return 0;
}
