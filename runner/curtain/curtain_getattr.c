/*
 * Theory of operation. GETATTR says of a call no more than that it came by. Which call it is, is read from the thread
 * (call.h): its number and flags can be believed, the paths that it names only word a question.
 *
 *   stat, access, chdir … of this very object: held. On their way through it: told its type.
 *   An open that makes a name in this folder: held here, when no lock can be held (curtain_caller.h); the CREATE that
 *   would follow comes with the folder's lock, and after its ESTALE do_filp_open() walks again only once, which then
 *   must not end in another ESTALE. bind(2) doesn't walk again at all. What other calls change comes back as a wish.
 *   Of O_PATH and AT_STATX_DONT_SYNC the object itself hears nothing, and inotify_add_watch(2) doesn't walk again once
 *   it is there: held at the folder above it.
 *   An open or execution of a file: told its type; the OPEN that follows knows the flags for sure, and is held.
 *   What can't be read, or may have the object's own lock: told its type.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/path.h"
#include "curtain_private.h"

static bool names(const struct call *call, const char *path) {
	for (size_t i = 0; i < CALL_PATHS; i++)
		if (call->paths[i] && strcmp(call->paths[i], path) == 0) return true;
	return false;
}

/* The path that the call names in `folder`; NULL: none. */
static const char *named_in(const struct call *call, const char *folder) {
	for (size_t i = 0; i < CALL_PATHS; i++) {
		if (!call->paths[i]) continue;
		CLEANUP_FREE char *parent = path_parent(call->paths[i]);
		if (strcmp(parent, folder) == 0 && strcmp(call->paths[i], folder) != 0) return call->paths[i];
	}
	return NULL;
}

static bool is_call(const struct call *call, const char *name) {
	return call->name && strcmp(call->name, name) == 0;
}

/* No path is walked, so none can be walked again. */
static bool is_by_descriptor(const struct call *call, const struct call_raw *raw) {
	return is_call(call, "fstat") || (is_call(call, "newfstatat") && (raw->arguments[3] & AT_EMPTY_PATH)) ||
	       (is_call(call, "statx") && (raw->arguments[2] & AT_EMPTY_PATH));
}

/* The object itself won't be asked, or only when it is too late to walk again. */
static bool is_quiet(const struct call *call, const struct call_raw *raw) {
	return call->quiet || (is_call(call, "statx") && (raw->arguments[2] & AT_STATX_DONT_SYNC)) ||
	       is_call(call, "inotify_add_watch");
}

static enum view_mode mode_at(const struct curtain *curtain, const char *path) {
	return curtain->options.sight(curtain->options.context, path).mode;
}

static void hold(struct exchange *exchange, enum permission_kind permission, const char *path, bool by_folder) {
	const struct need need = {.permission = permission, .path = path, .by_folder = by_folder};
	exchange_hold(exchange, &need);
}

/* Let it by. Calls that may lock the folder later are remembered. */
static void pass(struct exchange *exchange, const struct call_raw *raw, enum call_class class) {
	if (!raw || class == CALL_OPEN || class == CALL_NAMES) {
		struct caller *caller = callers_get(exchange->curtain->callers, exchange->thread, raw);
		caller_pass(caller, exchange->node);
	}
	exchange_tell(exchange, NULL);
}

/* What the call names in the folder is to be made, or is there and would not be asked; else it isn't held here. */
static void looked_inside(void *argument, int code, const struct stat *status, struct host_names *list) {
	struct exchange *exchange = argument;
	struct call_raw raw;
	(void)status;
	(void)list;
	if (!exchange->name && code == -ENOENT) {
		hold(exchange, PERMISSION_FS_WRITE, exchange->path, true);
	} else if (exchange->name && code == 0) {
		hold(exchange, PERMISSION_FS_READ, exchange->name, false);
	} else {
		const bool good = call_raw_read(exchange->thread, &raw) == 0;
		pass(exchange, good ? &raw : NULL, CALL_OPEN);
	}
}

/* The folder is walked through to something that the sandbox has, or that no rule asks about. */
static bool is_no_question(const struct curtain *curtain, const struct call *call, const char *folder) {
	for (size_t i = 0; i < CALL_PATHS; i++)
		if (call->paths[i] && path_is_below(call->paths[i], folder) &&
		    mode_at(curtain, call->paths[i]) != VIEW_ASK)
			return true;
	return false;
}

static void decide_folder(struct exchange *exchange, struct node *node, const struct call_raw *raw,
			  const struct call *call) {
	struct curtain *curtain = exchange->curtain;
	const bool asked = mode_at(curtain, exchange->path) != VIEW_ABSENT;
	const char *inside = named_in(call, exchange->path);
	const bool locks = call->class == CALL_OPEN || call->class == CALL_NAMES;
	struct caller *caller =
		locks || call->class == CALL_CHANGE ? callers_get(curtain->callers, exchange->thread, raw) : NULL;

	if (caller && caller->wish.folder == node->number && caller->wish.told == node->told) {
		bool by_folder;
		CLEANUP_FREE char *path = caller_ask(caller, &by_folder);
		hold(exchange, PERMISSION_FS_WRITE, path, by_folder);
		return;
	}
	if (is_no_question(curtain, call, exchange->path)) node_warm(node);
	if (locks && !caller_is_unlocked(caller, node)) {
		exchange_tell(exchange, NULL);
		return;
	}
	if (inside && is_quiet(call, raw) && mode_at(curtain, inside) == VIEW_ASK) {
		exchange->name = string_copy(inside);
		host_look(curtain->host, inside, looked_inside, exchange);
	} else if (asked && call->nameless && names(call, exchange->path)) {
		hold(exchange, PERMISSION_FS_WRITE, exchange->path, true);
	} else if (asked && inside && (call->create || is_call(call, "bind"))) {
		host_look(curtain->host, inside, looked_inside, exchange);
	} else if (asked && call->class == CALL_LOOK && !is_call(call, "fchdir") && names(call, exchange->path)) {
		exchange->by_descriptor = is_by_descriptor(call, raw);
		hold(exchange, PERMISSION_FS_READ, exchange->path, false);
	} else {
		pass(exchange, raw, call->class);
	}
}

static void decide_file(struct exchange *exchange, const struct call_raw *raw, const struct call *call) {
	if (call->class == CALL_LOOK) {
		exchange->by_descriptor = is_by_descriptor(call, raw);
		hold(exchange, PERMISSION_FS_READ, exchange->path, false);
	} else if (is_call(call, "truncate")) {
		hold(exchange, PERMISSION_FS_WRITE, exchange->path, false);
	} else {
		exchange_tell(exchange, NULL);
	}
}

static void decide(struct exchange *exchange, const struct call_raw *raw) {
	struct node *node = nodes_find(exchange->curtain->nodes, exchange->node);
	if (!node) {
		exchange_refuse(exchange, -ESTALE);
	} else if (!raw) {
		pass(exchange, NULL, CALL_OTHER);
	} else {
		CLEANUP_CALL struct call call;
		call_read_promptly(exchange->curtain->options.promptly, exchange->thread, raw, &call);
		if (S_ISDIR(node->type))
			decide_folder(exchange, node, raw, &call);
		else
			decide_file(exchange, raw, &call);
	}
}

void getattr_decide(struct exchange *exchange) {
	exchange_with_call(exchange, decide);
}
