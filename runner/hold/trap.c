#include "trap.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "calls/call_table.h"
#include "interpreters.h"
#include "plan/lead.h"
#include "plan/point.h"
#include "sandbox/filter.h"

/* Reading */

static bool makes(const struct call *call, size_t which) {
	if (call->class == CALL_OPEN) return which == 0 && call->create && !call->nameless;
	return call->class == CALL_NAMES && call->makes[which];
}

/* A program is asked about by what it is, whatever it is called. */
static bool starts(const struct trap_rules *rules, const struct call *call, size_t which) {
	if (which != 0 || !(rules->wanted & TRAPS_PROGRAMS)) return false;
	if (call->class == CALL_EXECUTE) return true;
	return call->class == CALL_OPEN && !call->write && rules->curtain == 0; /* "ld.so PROGRAM" */
}

bool trap_may_start(const struct trap_rules *rules, int number) {
	const struct call_shape *shape = call_shape_of(number);
	return shape && (shape->class == CALL_EXECUTE || (shape->class == CALL_OPEN && rules->curtain == 0));
}

/* What the thread's own walk fails with; whatever else keeps us from seeing where it leads is a refusal. */
static int refusal(int error) {
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -EBADF:
		return -error;
	default:
		return EACCES;
	}
}

/* A link at the end of its path? */
static bool follows_last(const struct call *call, size_t which) {
	if (call->class == CALL_NAMES) return which == 0 && call->follows;
	return !call->exclusive && !call->straight;
}

/* What is there is changed by that path, or gets another name. */
static bool changes(const struct call *call, size_t which) {
	if (call->class == CALL_NAMES) return call->removes[which] || (which == 0 && call_links(call));
	return which == 0 && (call->class == CALL_CHANGE || (call->class == CALL_OPEN && call->write));
}

enum { LANDS_TRIES = 16, PLACE_TRIES = 8, PLACE_SAME = 1, NOWHERE_SAME = 2 };

/* A file that is replaced while it is looked at, or whose mount goes then (the host replaces a masked file), has
 * another name, or none. So a place other than the one that the path names has to be found again. */
static int find_surely(const struct lead *lead, const char *way, const char *named, char **ret_place,
		       bool *ret_by_object) {
	CLEANUP_FREE char *before = NULL;
	for (int tries = 0, same = 0; tries < PLACE_TRIES; tries++) {
		CLEANUP_FREE char *place = NULL;
		const int r = lead_find_how(lead, way, &place, ret_by_object);
		if (r < 0) return r;
		same = tries > 0 && string_equal(place, before) ? same + 1 : 0;
		if ((place && string_equal(place, named)) || same == (place ? PLACE_SAME : NOWHERE_SAME)) {
			*ret_place = STEAL(place);
			return 0;
		}
		free(before);
		before = STEAL(place);
	}
	return -EXDEV;
}

/* What a newer mount covers is changed by a descriptor of it (/proc/self/fd/5) all the same. */
static int find_covered(const struct lead *lead, struct call *call, size_t which, char **ret_place) {
	struct lead whole = *lead;
	bool by_object;
	whole.covered = true;
	const int r = lead_find_how(&whole, call->ways[which], ret_place, &by_object);
	call->covered[which] = *ret_place;
	return r;
}

/* A file that is there already, by a descriptor: open(2) follows such a link also where it may make a file. */
static bool is_of_object(const struct call *call, const char *place) {
	return call->class == CALL_OPEN && !call->exclusive && !call->nameless && place &&
	       path_is_below(place, "/proc");
}

static int find_place(const struct trap_rules *rules, pid_t thread, struct call *call, size_t which) {
	char *place = NULL;
	const bool made = makes(call, which);
	bool by_object = false, changed = !made && changes(call, which);
	if (!made && !starts(rules, call, which) && !changed) return 0;
	if (call->codes[which] != 0) return call->codes[which];
	if (!call->ways[which]) return 0; /* an address that is no path */
	struct lead lead = {.thread = thread,
			    .folder = call->folders[which],
			    .curtain = rules->curtain,
			    .last = follows_last(call, which),
			    .there = !made};
	int r = find_surely(&lead, call->ways[which], call->paths[which], &place, &by_object);
	if (r == 0 && made && is_of_object(call, place)) {
		free(STEAL(place));
		lead.there = true;
		changed = changes(call, which);
		r = find_surely(&lead, call->ways[which], call->paths[which], &place, &by_object);
	}
	if (r == 0 && !place && by_object && changed) r = find_covered(&lead, call, which, &place);
	if (r < 0) return refusal(r);
	if (!place && changed) return 0; /* by its name, then */
	call->by_object[which] = by_object;
	free(call->paths[which]);
	call->paths[which] = place;
	return 0;
}

/* The places of names that are made, of files that are changed and of programs, behind whatever links the tool has laid
 * on the way there. 0, or the error of the call: a call whose way can't be seen makes, changes and starts nothing. */
static int find_places(const struct trap_rules *rules, pid_t thread, struct call *call) {
	int code = 0;
	for (size_t i = 0; i < CALL_PATHS && code == 0; i++) code = find_place(rules, thread, call, i);
	return code;
}

/* The nodes of a curtain stand for programs that are asked about, whatever a call's way looks like. */
static void forget_place(struct trap *trap) {
	free(trap->call.paths[0]);
	trap->call.paths[0] = NULL;
	trap->code = 0;
}

/* Of a file without a name by the way that leads there. */
static void find_interpreters(const struct trap_rules *rules, struct trap *trap) {
	const struct call *call = &trap->call;
	const struct lead lead = {.thread = trap->thread,
				  .folder = call->paths[0] ? AT_FDCWD : call->folders[0],
				  .curtain = rules->curtain};
	const char *path = call->paths[0] ? call->paths[0] : call->ways[0];
	const int r = path ? interpreters_find(&lead, path, &trap->programs) : 0;
	if (r < 0)
		trap->code = EACCES;
	else
		trap->lacking = r;
}

/* Going on would be to another socket or address than the one that was looked at: without somebody who carries it out
 * it is refused. True: it was one of these. */
static bool read_socket(const struct trap_rules *rules, struct socket_caller *caller, struct trap *trap) {
	enum socket_call_kind kind;
	if (!socket_call_kind(trap->raw.number, &kind)) return false;
	if (rules->sockets)
		trap->socket = socket_take(caller, kind, trap->thread, trap->raw.arguments, &trap->taken);
	else if (kind == SOCKET_CALL_CONNECT || kind == SOCKET_CALL_SEND)
		trap->code = EACCES;
	return trap->socket || trap->code != 0;
}

void trap_read(const struct trap_rules *rules, struct socket_caller *caller, const struct seccomp_notif *received,
	       struct trap *ret_trap) {
	const struct seccomp_data *data = &received->data;
	*ret_trap = (struct trap){.id = received->id,
				  .thread = (pid_t)received->pid,
				  .raw = {.number = data->nr},
				  .call = {.class = CALL_OTHER}};
	static_assert(sizeof ret_trap->raw.arguments == sizeof data->args, "all arguments");
	memcpy(ret_trap->raw.arguments, data->args, sizeof data->args);
	if (read_socket(rules, caller, ret_trap)) return;
	struct call *call = &ret_trap->call;
	const struct call_shape *shape = call_shape_of(ret_trap->raw.number);
	if (shape && shape->class == CALL_EXECUTE && !(rules->wanted & (TRAPS_PROGRAMS | TRAPS_OPENS))) return;
	call_read_ways(ret_trap->thread, &ret_trap->raw, call);
}

/* Of a single path, which isn't a link's or an old name's, and whatever an open reads is the curtain's to ask about. */
static bool is_simple(const struct trap_rules *rules, const struct trap *trap) {
	const struct call *call = &trap->call;
	const bool changes = call->class == CALL_OPEN || call->class == CALL_CHANGE ||
			     (call->class == CALL_NAMES && !call->makes[1]);
	if (!changes || call->brings || call->set_id || (rules->wanted & TRAPS_OPENS)) return false;
	return !trap->socket && trap->code == 0 && call->codes[0] == 0 && call->ways[0];
}

bool trap_glance(const struct trap_rules *rules, struct trap *trap) {
	struct call *call = &trap->call;
	const struct lead lead = {.thread = trap->thread,
				  .folder = call->folders[0],
				  .curtain = rules->curtain,
				  .still = rules->still,
				  .last = follows_last(call, 0)};
	return is_simple(rules, trap) && lead_straight(&lead, rules->root, call->ways[0], &call->paths[0]) == 0;
}

void trap_place(const struct trap_rules *rules, struct trap *trap) {
	struct call *call = &trap->call;
	if (trap->socket || trap->code != 0) return;
	for (size_t i = 0; i < CALL_PATHS; i++) call_join(trap->thread, call, i);
	const bool judged = call->class == CALL_EXECUTE && (rules->wanted & TRAPS_PROGRAMS);
	if (judged) trap->named = string_copy_or_null(call->paths[0]);
	trap->code = find_places(rules, trap->thread, call);
	if (trap->code == 0) trap->links = links_read(trap->thread, call, rules->curtain);
	if (!judged) return;
	if (trap->code == 0) find_interpreters(rules, trap);
	if (trap->code != 0 && rules->curtain != 0 && !(rules->wanted & TRAPS_DENIALS)) forget_place(trap);
}

/* Judging */

struct judge {
	const struct trap_rules *rules;
	const struct trap *trap;
	const struct trap_view *view;
};

static struct sight look(void *context, const char *path) {
	const struct judge *judge = context;
	return judge->view->sight(judge->view->context, path);
}

static const char *mask_below(void *context, const char *folder) {
	const struct judge *judge = context;
	return judge->view->mask_below(judge->view->context, folder);
}

/* Of a path that somebody will be asked about. Links aren't followed, so at most a folder of the tool's is looked at
 * by another name; what comes of it is the order of choices in the question. */
static bool host_has(void *context, const char *path) {
	struct stat status;
	(void)context;
	return lstat(path, &status) == 0;
}

static bool host_lacks(void *context, const char *path) {
	if (!host_has(context, path)) return true;
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd >= 0 ? mem_expect(fdopendir(fd)) : NULL;
	bool empty = stream;
	for (const struct dirent *entry; empty && (entry = readdir(stream));) empty = path_is_dots(entry->d_name);
	if (stream) closedir(stream);
	return empty;
}

/* By no server of a file system, also not by our own: this may be the loop. What can't be told isn't let go on. */
static bool look_straight(int at, const char *name, struct statx *ret_status) {
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	return statx(at, name, flags, STATX_TYPE | STATX_MODE, ret_status) == 0;
}

static bool lands(void *context, const char *path) {
	const struct judge *judge = context;
	CLEANUP_FREE char *folder = path_parent(path);
	CLEANUP_FD int root = judge->rules->root < 0 ? lead_root(judge->trap->thread) : -1;
	const int top = root < 0 ? judge->rules->root : root;
	CLEANUP_FD int at = -1;
	struct statx status;
	errno = EAGAIN; /* as while a mount is made */
	for (int tries = 0; tries < LANDS_TRIES && at < 0 && errno == EAGAIN; tries++)
		at = file_reach_cached(top, folder[1] ? folder + 1 : ".", O_DIRECTORY);
	if (at < 0) return errno != ENOENT && errno != ENOTDIR;
	if (judge->rules->curtain != 0 && lead_device(at) == judge->rules->curtain) return false;
	if (look_straight(at, path_name(path), &status)) return false;
	if (errno != ENOENT || !look_straight(at, ".", &status)) return true;
	return point_has_mode(status.stx_mode, 0) || (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool was_made(void *context, const char *path) {
	const struct judge *judge = context;
	return judge->view->made && host_made_has(judge->view->made, path);
}

/* What can't be told is asked about; a node of the curtain is not asked what it stands for. */
static bool is_program(void *context, const char *path) {
	const struct judge *judge = context;
	const dev_t curtain = judge->rules->curtain;
	const struct lead lead = {.thread = judge->trap->thread, .folder = AT_FDCWD, .curtain = curtain, .last = true};
	CLEANUP_FREE char *real = NULL;
	CLEANUP_FD int fd = -1;
	struct stat status;
	if (judge->trap->call.class == CALL_EXECUTE && curtain == 0) return judge->trap->lacking == 0;
	const int r = lead_open(&lead, path, &fd, &real);
	if (r < 0) return refusal(r) == EACCES;
	if (curtain != 0 && lead_device(fd) == curtain) return true;
	return fstat(fd, &status) < 0 || (S_ISREG(status.st_mode) && faccessat(fd, "", X_OK, AT_EMPTY_PATH) == 0);
}

static void find_programs(void *context, const char *path, struct strings *ret_paths) {
	const struct judge *judge = context;
	(void)path;
	for (size_t i = 0; i < judge->trap->programs.count; i++) strings_add(ret_paths, judge->trap->programs.items[i]);
}

/* Something that is shown, or that a curtain would show: neither tells more of the host than a name. */
static bool would_be_asked(const struct judge *judge, const struct sight *sight) {
	const bool hidden = judge->rules->wanted & TRAPS_OPENS;
	return (sight->mode == VIEW_READ && sight->ask_write) ||
	       (hidden && (sight->mode == VIEW_ASK || sight->own_or_asked));
}

/*
 * An editor asks access(2) whether a file may be written, long before it writes, without a curtain even before it opens
 * the file, and takes "no" as final. Where a write would be asked about, it may be; the question comes with the write.
 * No link is followed, so that nothing is learned of what can't be asked for.
 */
static bool may_be_written(struct judge *judge) {
	const struct call *call = &judge->trap->call;
	const char *path = call->paths[0];
	if (call->class != CALL_LOOK || !call->write || !path) return false;
	const struct sight sight = look(judge, path);
	if (!would_be_asked(judge, &sight)) return false;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	CLEANUP_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	return fd >= 0 && faccessat(fd, "", W_OK, AT_EMPTY_PATH) == 0;
}

/* A rule for a name holds for a link of that name, too, wherever it lies and leads by now. One that denies it decides,
 * whatever else would be asked about. A program that is asked about itself, by a node of the curtain or as one of the
 * needs, is no further question; what no way was found to is asked about by its node (forget_place). */
static void judge_link(struct judge *judge, struct call_needs *needs) {
	const struct trap *trap = judge->trap;
	if (!trap->named || trap->lacking != 0) return;
	const struct sight sight = look(judge, trap->named);
	const char *program = trap->call.paths[0];
	const bool leads = !string_equal(trap->named, program);
	if (!leads && needs->count > 0) return;
	if (sight.denied)
		needs->count = 0;
	else if (!sight.program || !leads || !program || look(judge, program).program ||
		 !is_program(judge, trap->named))
		return;
	if (needs->count < NEEDS_MAX)
		needs->items[needs->count++] = (struct need){PERMISSION_PROC_SPAWN, .path = trap->named};
}

enum trap_end trap_judge(const struct trap_rules *rules, const struct trap *trap, const struct trap_view *view,
			 struct call_needs *ret_needs) {
	struct judge judge = {.rules = rules, .trap = trap, .view = view};
	const struct call_world world = {.sight = look,
					 .exists = host_has,
					 .vacant = host_lacks,
					 .lands = lands,
					 .made = was_made,
					 .mask_below = view->mask_below ? mask_below : NULL,
					 .is_program = is_program,
					 .programs = find_programs,
					 .context = &judge};
	*ret_needs = (struct call_needs){.count = 0};
	if (may_be_written(&judge)) return TRAP_SAYS_YES;
	call_needs_find(&trap->call, rules->wanted, &world, ret_needs);
	if (ret_needs->code != 0) return TRAP_FAILS;
	judge_link(&judge, ret_needs);
	if (ret_needs->count > 0) return TRAP_NEEDS;
	ret_needs->code = trap->lacking;
	if (ret_needs->code != 0) return TRAP_FAILS;
	return ret_needs->made ? TRAP_MAKES : TRAP_GOES_ON;
}

void trap_finish(struct trap *trap) {
	if (trap->socket) socket_taken_finish(&trap->taken);
	call_finish(&trap->call);
	free(trap->named);
	strings_finish(&trap->programs);
	links_free(trap->links);
}
