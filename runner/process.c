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

/* A number of /proc/PID/status (proc_pid_status(5)), 0 when it is gone. */
static pid_t number_of(pid_t pid, const char *field) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", pid), *status = NULL;
	CLEANUP_FREE char *key = string_format("\n%s:\t", field);
	if (regular_read(path, PROCESS_FILE_MAX, &status, NULL, NULL) < 0) return 0;
	const char *found = strstr(status, key);
	return found ? (pid_t)strtol(found + strlen(key), NULL, 10) : 0;
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
	pid_t pid = number_of(thread, "Tgid");
	CLEANUP_FREE char *own = pid > 0 ? name_of(pid) : NULL;
	*ret_process = own ? string_format("%s (%d)", own, pid) : NULL;
	*ret_parents = (struct strings){0};
	while (pid > 0 && ret_parents->count < LIMIT_PARENTS) {
		pid = number_of(pid, "PPid");
		char *name = pid > 1 && pid != init ? name_of(pid) : NULL;
		if (!name) return;
		strings_take(ret_parents, name);
	}
}
