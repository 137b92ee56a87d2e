#include "interpreters.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/binfmts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "lead.h"
#include "process.h"

enum {
	INTERPRETERS_MAX = 5, /* the kernel's own nesting of #! lines, execve(2) */
	INTERPRETERS_SEGMENTS_MAX = 64,
	INTERPRETERS_PATH_MAX = 4096,
};

union head {
	char text[BINPRM_BUF_SIZE]; /* as far as the kernel looks for a #! line */
	ElfW(Ehdr) elf;
};

/* Of a regular file alone; *ret_real is what it is called behind all links. */
static int open_regular(pid_t thread, const char *path, char **ret_real) {
	const struct lead lead = {.thread = thread, .last = true, .there = true};
	CLEANUP_FREE char *real = NULL;
	char name[32];
	struct stat status;
	if (lead_find(&lead, path, &real) < 0) return -1;
	CLEANUP_FREE char *inside = string_format("/proc/%d/root%s", thread, real);
	CLEANUP_FD int place = open(inside, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0 || fstat(place, &status) < 0 || !S_ISREG(status.st_mode)) return -1;
	*ret_real = STEAL(real);
	snprintf(name, sizeof name, "/proc/self/fd/%d", place);
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

/* Not rooted: it is looked for in the thread's folder. */
static char *from_root(pid_t thread, char *path) {
	CLEANUP_FREE char *name = path;
	if (path[0] == '/') return STEAL(name);
	CLEANUP_FREE char *folder = process_link(thread, "cwd");
	return folder[0] == '/' ? path_join(folder, name) : NULL;
}

static void add(struct strings *paths, const char *path) {
	if (!strings_contain(paths, path)) strings_add(paths, path);
}

void interpreters_find(pid_t thread, const char *path, struct strings *ret_paths) {
	CLEANUP_FREE char *at = string_copy(path);
	bool last = false;
	for (int depth = 0; at && depth <= INTERPRETERS_MAX; depth++) {
		CLEANUP_FREE char *real = NULL, *normal = NULL;
		CLEANUP_FD int fd = open_regular(thread, at, &real);
		if (!real) return;
		if (path_normalise(NULL, at, &normal, NULL) == 0) add(ret_paths, normal);
		add(ret_paths, real);
		free(at);
		at = fd < 0 || last ? NULL : interpreter_of(fd, &last);
		if (at) at = from_root(thread, at);
	}
}
