#include "pending.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/string.h"
#include "regular.h"

enum { PENDING_STATUS_MAX = 16 * 1024, PENDING_CGROUP_MAX = 64 * 1024 };

static uint64_t bit(int number) {
	return UINT64_C(1) << (number - 1);
}

/* With a handler these interrupt. */
static const int meant_with_handler[] = {SIGHUP, SIGINT, SIGQUIT, SIGALRM, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};

/* What without a handler neither ends nor stops a process (signal(7)). */
static const int harmless[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};

static uint64_t set_of(const int *numbers, size_t count) {
	uint64_t set = 0;
	for (size_t i = 0; i < count; i++) set |= bit(numbers[i]);
	return set;
}

/* The text behind "\nNAME:\t". The name of the program, which is the tool's to choose, has its newlines escaped. */
static const char *field(const char *status, const char *name) {
	CLEANUP_FREE char *key = string_format("\n%s:\t", name);
	const char *found = strstr(status, key);
	return found ? found + strlen(key) : "";
}

static uint64_t signals(const char *status, const char *name) {
	return strtoull(field(status, name), NULL, 16);
}

enum pending pending_read(pid_t thread, bool *ret_alone) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", thread), *status = NULL;
	*ret_alone = false;
	if (regular_read(path, PENDING_STATUS_MAX, &status, NULL, NULL) < 0) return PENDING_GONE;
	const char *state = field(status, "State");
	if (*state == 'Z' || *state == 'X' || *state == '\0') return PENDING_GONE;
	*ret_alone = strtoul(field(status, "Threads"), NULL, 10) == 1;
	const uint64_t pending = (signals(status, "SigPnd") | signals(status, "ShdPnd"));
	if (pending & bit(SIGKILL)) return PENDING_MEANT;
	const uint64_t caught = signals(status, "SigCgt");
	const uint64_t comes = pending & ~signals(status, "SigBlk") & ~signals(status, "SigIgn");
	const uint64_t handled = comes & caught & set_of(meant_with_handler, ARRAY_LENGTH(meant_with_handler));
	const uint64_t standard = comes & ~caught & ~set_of(harmless, ARRAY_LENGTH(harmless));
	if (standard) return PENDING_MEANT;
	if (handled) return PENDING_HANDLED;
	return comes ? PENDING_OTHER : PENDING_NONE;
}

static bool is_set(const char *folder) {
	CLEANUP_FREE char *path = path_join(folder, "cgroup.freeze"), *text = NULL;
	return regular_read(path, 16, &text, NULL, NULL) == 0 && text[0] == '1';
}

bool pending_freeze(pid_t thread) {
	static const char top[] = "/sys/fs/cgroup";
	CLEANUP_FREE char *path = string_format("/proc/%d/cgroup", thread), *text = NULL, *at = NULL;
	if (regular_read(path, PENDING_CGROUP_MAX, &text, NULL, NULL) < 0) return false;
	char *line = string_starts(text, "0::/") ? text : strstr(text, "\n0::/");
	if (!line) return false;
	char *name = strstr(line, "0::/") + strlen("0::");
	name[strcspn(name, "\n")] = '\0';
	CLEANUP_FREE char *folder = string_format("%s%s", top, name);
	if (path_normalise(NULL, folder, &at, NULL) < 0) return false;
	while (path_is_below(at, top) && !string_equal(at, top)) {
		if (is_set(at)) return true;
		char *parent = path_parent(at);
		free(at);
		at = parent;
	}
	return false;
}
