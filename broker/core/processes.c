/*
 * Theory of operation. The kernel lists a thread's children in /proc/PID/task/TID/children, and everything in a sandbox
 * descends from its process 1, which takes over whoever loses their parent. A list that is read while its processes run
 * may lack some of them (proc_pid_tid_children(5)), so what is found in one pass is a start: passes are repeated until
 * one finds nothing that runs, and the caller wants that more than once.
 *
 * A process is still when each of its threads is stopped, traced and stopped, or dead. A thread in uninterruptible
 * sleep (a call that waits for FUSE, a vfork), and one in a frozen control group, takes the signal when it wakes,
 * before it returns to the program (get_signal() in the kernel): so SIGSTOP pending for the process, or a stop that has
 * begun in another thread, is enough.
 *
 * A process that was stopped and is stopped may have run in between: for each time it leaves a processor the kernel
 * counts one (voluntary_ctxt_switches and its counterpart, proc_pid_status(5)), and a stopped one does so never.
 */
#include "processes.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/string.h"
#include "schema/limits.h"

enum {
	STAT_BYTES = 4096,
	STATUS_BYTES = 16 * 1024,
	LIST_BYTES = 1024 * 1024,
	ANCESTORS_MAX = 64,
	FIELD_THREADS = 20, /* of proc_pid_stat(5), which counts from 1 */
	FIELD_START = 22,
};

struct stat_line {
	char state;
	pid_t parent, group, session,
		foreground; /* the last: the terminal's process group there; -1: it has no terminal */
	int terminal;
	unsigned long long threads, start;
};

void processes_finish(struct processes *processes) {
	free(processes->items);
	*processes = (struct processes){0};
}

/* The name in it may be anything: what counts comes after the last bracket. */
static bool read_stat(const char *path, struct stat_line *ret_line) {
	CLEANUP_FREE char *text = NULL;
	if (file_read(path, STAT_BYTES, &text, NULL, NULL) < 0) return false;
	char *rest = strrchr(text, ')'), *word;
	*ret_line = (struct stat_line){0};
	if (!rest) return false;
	rest++;
	for (int field = 3; field <= FIELD_START && (word = strtok_r(rest, " ", &rest)); field++) {
		if (field == 3) ret_line->state = *word;
		if (field == 4) ret_line->parent = (pid_t)strtol(word, NULL, 10);
		if (field == 5) ret_line->group = (pid_t)strtol(word, NULL, 10);
		if (field == 6) ret_line->session = (pid_t)strtol(word, NULL, 10);
		if (field == 7) ret_line->terminal = (int)strtol(word, NULL, 10);
		if (field == 8) ret_line->foreground = (pid_t)strtol(word, NULL, 10);
		if (field == FIELD_THREADS) ret_line->threads = strtoull(word, NULL, 10);
		if (field == FIELD_START) ret_line->start = strtoull(word, NULL, 10);
	}
	return ret_line->start != 0;
}

static bool stat_of(pid_t pid, struct stat_line *ret_line) {
	CLEANUP_FREE char *path = string_format("/proc/%d/stat", (int)pid);
	return read_stat(path, ret_line);
}

bool process_is_below(pid_t process, pid_t ancestor) {
	struct stat_line line;
	for (int i = 0; i < ANCESTORS_MAX && process > 1 && stat_of(process, &line); i++) {
		if (line.parent == ancestor) return true;
		process = line.parent;
	}
	return false;
}

bool process_terminal(pid_t process, pid_t *ret_session, int *ret_device) {
	struct stat_line line;
	if (!stat_of(process, &line)) return false;
	*ret_session = line.session;
	*ret_device = line.terminal;
	return true;
}

pid_t process_terminal_session(pid_t process) {
	pid_t session;
	int device;
	return process_terminal(process, &session, &device) && device != 0 ? session : 0;
}

bool process_is_in_background(pid_t process) {
	struct stat_line line;
	return stat_of(process, &line) && line.terminal != 0 && line.group != line.foreground;
}

bool process_has_ended(int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) > 0;
}

/* Frozen */

static bool file_says(const char *folder, const char *group, const char *name, const char *word) {
	CLEANUP_FREE char *path = string_format("%s%s/%s", folder, group, name), *text = NULL;
	return file_read(path, STAT_BYTES, &text, NULL, NULL) == 0 && strstr(text, word);
}

/* A line of cgroups(7): "ID:CONTROLLERS:PATH"; version 2 has no controllers there, and its folder may be beside others.
 */
static bool group_is_frozen(char *line) {
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group) return false;
	*group++ = '\0';
	controllers++;
	if (strcmp(controllers, "freezer") == 0)
		return file_says("/sys/fs/cgroup/freezer", group, "freezer.state", "FROZEN");
	return *controllers == '\0' && (file_says("/sys/fs/cgroup", group, "cgroup.events", "frozen 1") ||
					file_says("/sys/fs/cgroup/unified", group, "cgroup.events", "frozen 1"));
}

static bool is_frozen(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/cgroup", (int)pid), *text = NULL;
	if (file_read(path, STATUS_BYTES, &text, NULL, NULL) < 0) return false;
	for (char *rest = text, *line; (line = strtok_r(rest, "\n", &rest));)
		if (group_is_frozen(line)) return true;
	return false;
}

bool process_is_stopped(pid_t process) {
	struct stat_line line;
	return stat_of(process, &line) && (line.state == 'T' || line.state == 't');
}

bool process_is_halted(pid_t process) {
	return process_is_stopped(process) || is_frozen(process);
}

/* Threads */

struct threads {
	bool stopping; /* one has stopped, or SIGSTOP waits for the first that can take it */
	bool moving;   /* one hasn't stopped */
	bool awake;    /* and it isn't in uninterruptible sleep */
};

static void look_at_thread(struct threads *threads, char state) {
	threads->stopping |= state == 'T';
	if (strchr("TtZXx", state)) return;
	threads->moving = true;
	threads->awake |= state != 'D';
}

bool process_has_moving(pid_t process) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task", (int)process);
	DIR *folder = opendir(path);
	struct threads threads = {.moving = !folder};
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat_line line;
		if (entry->d_name[0] == '.') continue;
		CLEANUP_FREE char *stat = string_format("%s/%s/stat", path, entry->d_name);
		look_at_thread(&threads, read_stat(stat, &line) ? line.state : 'R');
	}
	if (folder) closedir(folder);
	return threads.moving && !is_frozen(process);
}

static bool stop_is_pending(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", (int)pid), *text = NULL;
	if (file_read(path, STATUS_BYTES, &text, NULL, NULL) < 0) return false;
	const char *line = strstr(text, "\nShdPnd:");
	return line && (strtoull(line + strlen("\nShdPnd:"), NULL, 16) >> (SIGSTOP - 1) & 1);
}

static bool is_still(pid_t pid, struct threads threads) {
	if (!threads.moving) return true;
	if (!threads.stopping && !stop_is_pending(pid)) return false;
	return !threads.awake || is_frozen(pid);
}

/* The walk: a list that grows while it is gone through, parents before children. */

struct walk {
	struct processes found;
	bool complete; /* nobody went away, and nothing was too much, while it was read */
};

/* A child is one while its parent, who is known, still has that number. */
static void walk_add(struct walk *walk, pid_t pid, const struct process_seen *parent) {
	struct processes *found = &walk->found;
	struct stat_line own, above;
	if (found->count == LIMIT_PROCESSES || !stat_of(pid, &own) || own.parent != parent->pid ||
	    !stat_of(parent->pid, &above) || above.start != parent->start) {
		walk->complete = false;
		return;
	}
	found->items = array_grow(found->items, found->count, sizeof *found->items);
	found->items[found->count++] = (struct process_seen){.pid = pid, .parent = own.parent, .start = own.start};
}

static void walk_add_children(struct walk *walk, const struct process_seen *parent, const char *thread) {
	const struct process_seen own = *parent; /* the list may move */
	CLEANUP_FREE char *path = string_format("/proc/%d/task/%s/children", (int)own.pid, thread), *text = NULL;
	if (file_read(path, LIST_BYTES, &text, NULL, NULL) < 0) {
		walk->complete = false;
		return;
	}
	for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));)
		walk_add(walk, (pid_t)strtol(word, NULL, 10), &own);
}

static void look_at_threads(struct walk *walk, const struct process_seen *process, struct threads *threads) {
	const struct process_seen own = *process;
	CLEANUP_FREE char *path = string_format("/proc/%d/task", (int)own.pid);
	DIR *folder = opendir(path);
	if (!folder) walk->complete = false;
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat_line line;
		if (entry->d_name[0] == '.') continue;
		CLEANUP_FREE char *stat = string_format("%s/%s/stat", path, entry->d_name);
		if (read_stat(stat, &line))
			look_at_thread(threads, line.state);
		else
			walk->complete = false;
		walk_add_children(walk, &own, entry->d_name);
	}
	if (folder) closedir(folder);
}

/* Its threads' states, and then its children, of whom a stopped process makes no more. */
static struct threads walk_look(struct walk *walk, const struct process_seen *process) {
	CLEANUP_FREE char *name = string_format("%d", (int)process->pid);
	struct threads threads = {0};
	struct stat_line line;
	if (!stat_of(process->pid, &line) || line.start != process->start) {
		walk->complete = false;
		return threads;
	}
	if (line.threads > 1) {
		look_at_threads(walk, process, &threads);
		return threads;
	}
	look_at_thread(&threads, line.state);
	if (line.state != 'Z' && line.state != 'X') walk_add_children(walk, process, name);
	return threads;
}

static struct walk walk_begin(pid_t first) {
	struct walk walk = {.complete = true};
	struct stat_line line;
	if (!stat_of(first, &line)) {
		walk.complete = false;
		return walk;
	}
	walk.found.items = array_grow(NULL, 0, sizeof *walk.found.items);
	walk.found.items[walk.found.count++] =
		(struct process_seen){.pid = first, .parent = line.parent, .start = line.start};
	return walk;
}

/* Signals */

static uint64_t number_after(const char *text, const char *key) {
	const char *line = strstr(text, key);
	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static uint64_t runs_of_thread(pid_t pid, const char *thread) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task/%s/status", (int)pid, thread), *text = NULL;
	if (file_read(path, STATUS_BYTES, &text, NULL, NULL) < 0) return 0;
	return number_after(text, "\nvoluntary_ctxt_switches:") + number_after(text, "\nnonvoluntary_ctxt_switches:");
}

static uint64_t runs_of(pid_t pid) {
	CLEANUP_FREE char *path = string_format("/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	uint64_t runs = 0;
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.') runs += runs_of_thread(pid, entry->d_name);
	if (folder) closedir(folder);
	return runs;
}

static bool send_signal(const struct process_seen *process, int number) {
	struct stat_line line;
	CLEANUP_FD int held = (int)syscall(SYS_pidfd_open, process->pid, 0U);
	return held >= 0 && stat_of(process->pid, &line) && line.start == process->start &&
	       syscall(SYS_pidfd_send_signal, held, number, NULL, 0U) == 0;
}

static const struct process_seen *find(const struct processes *list, const struct process_seen *process) {
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == process->pid && list->items[i].start == process->start)
			return &list->items[i];
	return NULL;
}

static void stop(const struct process_seen *process, struct processes *stopped) {
	if (!send_signal(process, SIGSTOP) || find(stopped, process)) return;
	stopped->items = array_grow(stopped->items, stopped->count, sizeof *stopped->items);
	stopped->items[stopped->count++] = *process;
}

static bool went_on(const struct process_seen *process, const struct processes *seen) {
	const struct process_seen *before = find(seen, process);
	return before && before->runs != 0 && before->runs != process->runs;
}

enum processes_stand processes_stop(pid_t first, struct processes *stopped, struct processes *seen) {
	struct walk walk = walk_begin(first);
	bool still = true, ran = false;
	for (size_t i = 0; i < walk.found.count; i++) {
		struct process_seen process = walk.found.items[i];
		const struct threads threads = walk_look(&walk, &process);
		if (!threads.moving) process.runs = walk.found.items[i].runs = runs_of(process.pid);
		ran |= went_on(&process, seen);
		if (is_still(process.pid, threads)) continue;
		stop(&process, stopped);
		/* It may have stopped by now, or sleep where it stops when it wakes. */
		still = false;
	}
	still &= walk.complete;
	processes_finish(seen);
	*seen = walk.found;
	return ran ? PROCESSES_WENT_ON : still ? PROCESSES_STAND : PROCESSES_RUN;
}

void processes_continue(struct processes *stopped) {
	for (size_t i = stopped->count; i > 0; i--) send_signal(&stopped->items[i - 1], SIGCONT);
	processes_finish(stopped);
}

void processes_list(pid_t first, struct processes *ret_list) {
	struct walk walk = walk_begin(first);
	for (size_t i = 0; i < walk.found.count; i++) {
		const struct process_seen process = walk.found.items[i];
		walk_look(&walk, &process);
	}
	*ret_list = walk.found;
}

bool process_is_foreign(pid_t process) {
	CLEANUP_FREE char *path = string_format("/proc/%d/status", (int)process), *text = NULL;
	if (file_read(path, STATUS_BYTES, &text, NULL, NULL) < 0 || !strstr(text, "\nUid:")) return false;
	return number_after(text, "\nUid:") != getuid();
}

size_t processes_count(pid_t first) {
	struct processes list;
	processes_list(first, &list);
	const size_t count = list.count > 0 ? list.count - 1 : 0;
	processes_finish(&list);
	return count;
}
