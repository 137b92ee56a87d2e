#include "process.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regular.h"
#include "schema/limits.h"

enum { PROCESS_FILE_MAX = 16 * 1024 };

/* Without the newline that the kernel ends it with; NULL when it is gone. */
static char *name_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/comm", pid);
	char *name = NULL;
	size_t size = 0;
	if (regular_read(path, LIMIT_PROCESS, &name, &size, NULL) < 0) return NULL;
	if (size > 0 && name[size - 1] == '\n') name[size - 1] = '\0';
	return name;
}

struct place {
	pid_t process, parent; /* 0: it is gone */
};

static pid_t number_in(const char *status, const char *key) {
	const char *found = strstr(status, key);
	return found ? (pid_t)strtol(found + strlen(key), NULL, 10) : 0;
}

/* By /proc/TASK/status (proc_pid_status(5)). */
static struct place place_of(pid_t task) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", task), *status = NULL;
	if (regular_read(path, PROCESS_FILE_MAX, &status, NULL, NULL) < 0) return (struct place){0};
	return (struct place){.process = number_in(status, "\nTgid:\t"), .parent = number_in(status, "\nPPid:\t")};
}

char *process_link(pid_t task, const char *name) {
	CLEANUP_FREE char *link = string_format("/proc/%d/%s", task, name);
	char text[PATH_MAX];
	ssize_t size = readlink(link, text, sizeof text);
	return string_copy_bytes(text, size > 0 ? (size_t)size : 0);
}

char *process_name(pid_t pid) {
	char *name = name_of(pid);
	return name ? name : string_copy("?");
}

void process_describe(pid_t thread, pid_t init, char **ret_process, struct strings *ret_parents) {
	struct place place = place_of(thread);
	CLEANUP_FREE char *own = place.process > 0 ? name_of(place.process) : NULL;
	*ret_process = own ? string_format("%s (%d)", own, place.process) : NULL;
	*ret_parents = (struct strings){0};
	while (place.parent > 1 && place.parent != init && ret_parents->count < LIMIT_PARENTS) {
		char *name = name_of(place.parent);
		if (!name) return;
		strings_take(ret_parents, name);
		place = place_of(place.parent);
	}
}
