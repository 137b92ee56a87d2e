/*
 * Theory of operation. One that waits is in one of these states:
 *
 *     ASKED ──verdict──► PLACING (allowed, of what a view shows: until live has carried it out) ──► told
 *       │                   └ it isn't there: no
 *       └ denied, or nothing that a view shows ──► told
 *
 * PLACING can't be called off (live_when): who hangs up meanwhile leaves it without a `done`.
 */
#include "ahead.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/resolved.h"
#include "base/string.h"
#include "calls/process.h"
#include "schema/pattern.h"

struct waiting {
	struct waiting *next;
	struct ahead *ahead;
	uint64_t ticket;
	uint64_t check;   /* the session's; 0: it is answered */
	struct need need; /* of files and programs */
	char *path;       /* need.path, also of a socket; or NULL */
	char *name;       /* that is made in `path`; or NULL */
	bool noted;
	json_t *allowed; /* the reply when it is in force */
	struct permission permission;
	char *target;
	inside_done *done; /* NULL: nobody waits any more */
	void *argument;
};

struct ahead {
	struct ahead_options options;
	struct live *live;
	struct inside_door *door;
	int listener; /* until there is a door */
	struct waiting *list;
	uint64_t last_ticket;
};

static void waiting_free(struct waiting *waiting) {
	if (waiting->noted) live_forget(waiting->ahead->live, waiting->path);
	if (waiting->name) live_forget(waiting->ahead->live, waiting->name);
	json_decref(waiting->allowed);
	free(waiting->path);
	free(waiting->name);
	free(waiting->target);
	free(waiting);
}

static void waiting_take(struct waiting *waiting) {
	for (struct waiting **at = &waiting->ahead->list; *at; at = &(*at)->next) {
		if (*at != waiting) continue;
		*at = waiting->next;
		return;
	}
}

/* Takes the reply over. */
static void waiting_tell(struct waiting *waiting, json_t *reply) {
	waiting_take(waiting);
	if (waiting->done)
		waiting->done(waiting->argument, reply);
	else
		json_decref(reply);
	waiting_free(waiting);
}

/* Placing */

static bool has_of_host(const struct plan *plan, const char *folder) {
	for (size_t i = 0; i < plan->count; i++) {
		const enum show show = plan_show(plan, plan->mounts[i].path);
		if ((show == SHOW_READ || show == SHOW_WRITE) && path_is_below(plan->mounts[i].path, folder))
			return true;
	}
	return false;
}

/* The plan is what counts, and what is the sandbox's own at a path isn't what was asked for. But a folder that stays
 * the sandbox's own when it is allowed (the home) has the host's names mounted in it, each by itself. */
static bool is_shown(const struct waiting *waiting) {
	const struct live *live = waiting->ahead->live;
	const struct need *need = &waiting->need;
	if (!live_gives(live, need)) return false;
	if (plan_show(live_plan(live), need->path) != SHOW_FRESH) return true;
	return need->permission == PERMISSION_FS_READ && live_rules_give(live, need) &&
	       has_of_host(live_plan(live), need->path);
}

static void on_placed(void *argument) {
	struct waiting *waiting = argument;
	json_t *reply = waiting->allowed;
	waiting->allowed = NULL;
	if (permission_is_of_files(&waiting->permission) && !is_shown(waiting)) {
		json_decref(reply);
		reply = inside_reply_no("absent", "allowed, but there is nothing that can be shown");
	}
	waiting_tell(waiting, reply);
}

/* Asking */

static void add_denied(const struct waiting *waiting, const struct verdict *verdict) {
	const struct ahead_options *options = &waiting->ahead->options;
	const struct permission *permission = &waiting->permission;
	if (permission->kind == PERMISSION_NET_ACCESS && options->gate)
		gate_add_denied(options->gate, waiting->target, verdict);
	else
		denied_add_named(&options->denied[permission->kind],
				 permission->kind == PERMISSION_CUSTOM ? permission->name : NULL, waiting->target,
				 verdict);
}

static void on_verdict(void *argument, const struct verdict *verdict) {
	struct waiting *waiting = argument;
	struct ahead *ahead = waiting->ahead;
	waiting->check = 0;
	json_t *reply = inside_reply_verdict(verdict);
	if (verdict->effect == EFFECT_ALLOW && waiting->path && !verdict->once) {
		waiting->allowed = reply;
		live_when(ahead->live, on_placed, waiting);
		return;
	}
	if (verdict->effect != EFFECT_ALLOW) add_denied(waiting, verdict);
	waiting_tell(waiting, reply);
}

static void on_described(void *argument, const json_t *described) {
	struct waiting *waiting = argument;
	waiting->check = 0;
	waiting_tell(waiting,
		     described ? inside_reply_description(described) : inside_reply_error("sbx can't tell it now"));
}

/* What no question would help. */
static const char *refusal(const struct ahead *ahead, const struct inside_message *message) {
	if (message->kind != INSIDE_REQUEST) return NULL;
	if (message->permission.kind == PERMISSION_ENV_READ)
		return "a variable is given when the sandbox starts, and not later";
	if (message->permission.kind == PERMISSION_NET_ACCESS && !ahead->options.has_network)
		return "this sandbox has no network";
	return NULL;
}

/* A rule may ask about it by a pattern, of which the view has nothing but the text. */
static bool is_meant_by_pattern(const struct view *view, const char *path) {
	const struct permission permission = permission_of(PERMISSION_FS_READ);
	const struct pattern_scope scope = {.uid = getuid(), .relative_anywhere = true};
	bool meant = false;
	for (size_t i = 0; i < view->path_count && !meant; i++) {
		CLEANUP_PATTERN struct pattern *pattern = NULL;
		meant = view->paths[i].pattern &&
			pattern_compile(&permission, view->paths[i].path, &scope, &pattern, NULL) == 0 &&
			pattern_match(pattern, path, NULL);
	}
	return meant;
}

/* What is asked about is what lies there now, whatever comes to its place before the answer. */
static void note(struct waiting *waiting) {
	struct live *live = waiting->ahead->live;
	bool ask_write = false;
	const enum view_mode mode = sight_rule(live_view(live), waiting->path, &ask_write);
	const bool program =
		waiting->permission.kind == PERMISSION_PROC_SPAWN && live_sight(live, waiting->path).program;
	/* Looking would tell by its time what is there: also denials are patterns. So it may be a folder. */
	waiting->need.folder = mode == VIEW_ABSENT && is_meant_by_pattern(live_view(live), waiting->path);
	if (mode != VIEW_ASK && !ask_write && !program) return;
	live_note(live, waiting->path);
	waiting->noted = true;
	waiting->need.folder = live_noted_folder(live, waiting->path);
	waiting->need.by_folder =
		waiting->permission.kind == PERMISSION_FS_WRITE && live_noted_missing(live, waiting->path);
}

/* What isn't there is made in its folder, and that is what is asked about, as for the call that makes it. */
static void ask_by_folder(struct waiting *waiting) {
	if (!waiting->need.by_folder) return;
	waiting->name = waiting->path;
	waiting->path = path_parent(waiting->name);
	waiting->need.path = waiting->path;
	live_note(waiting->ahead->live, waiting->path);
}

/* A question names the file itself, past the host's links, as it does for the call that uses it: what the user saw is
 * what is given. Only where there may be a question, for looking tells by its time what is there. */
static void follow_links(struct waiting *waiting) {
	bool ask_write = false;
	const enum view_mode mode = sight_rule(live_view(waiting->ahead->live), waiting->path, &ask_write);
	char *there = mode == VIEW_ASK || ask_write ? resolved_path(waiting->path) : NULL;
	if (!there) return;
	free(waiting->path);
	waiting->path = there;
}

static void find_path(struct waiting *waiting, const struct inside_message *message) {
	const struct live *live = waiting->ahead->live;
	if (!permission_is_of_path(&waiting->permission)) return;
	waiting->path = live_resolve(live, message->target, true);
	if (permission_is_of_files(&waiting->permission)) follow_links(waiting);
	waiting->need = (struct need){.permission = waiting->permission.kind, .path = waiting->path};
	if (waiting->permission.kind == PERMISSION_IPC_CONNECT) return;
	note(waiting);
	ask_by_folder(waiting);
}

/* In every sandbox these are new and its own, whatever rules say of the host's: where the plan shows nothing else
 * there, it is all the same to the tool. */
static bool is_own(const struct waiting *waiting) {
	static const char *const places[] = {"/tmp", "/run", "/proc", "/dev"};
	if (!permission_is_of_files(&waiting->permission)) return false;
	if (!path_is_below_any(waiting->path, places, ARRAY_LENGTH(places))) return false;
	const enum show show = plan_show(live_plan(waiting->ahead->live), waiting->path);
	return show == SHOW_FRESH || show == SHOW_PROC || show == SHOW_DEV;
}

static uint64_t ask(struct waiting *waiting, const struct inside_wish *wish) {
	const struct inside_message *message = wish->message;
	find_path(waiting, message);
	if (is_own(waiting)) {
		waiting_tell(waiting, inside_reply_yes("own", "that is the sandbox's own: nobody has to be asked"));
		return 0;
	}
	waiting->target = string_copy(waiting->path ? waiting->path : message->target);
	const struct session_wish question = {.permission = message->permission.name,
					      .target = waiting->target,
					      .process = wish->process,
					      .parents = wish->parents,
					      .reason = message->reason,
					      .name = waiting->name,
					      .folder = waiting->need.folder,
					      .by_folder = waiting->need.by_folder};
	return session_check(waiting->ahead->options.session, &question, on_verdict, waiting);
}

static uint64_t on_serve(void *context, const struct inside_wish *wish, inside_done *done, void *argument) {
	struct ahead *ahead = context;
	const struct inside_message *message = wish->message;
	const char *no = refusal(ahead, message);
	if (no) {
		done(argument, inside_reply_no("rule", no));
		return 0;
	}
	struct waiting *waiting = mem_new(struct waiting);
	const uint64_t ticket = ++ahead->last_ticket;
	*waiting = (struct waiting){.next = ahead->list,
				    .ahead = ahead,
				    .ticket = ticket,
				    .permission = message->permission,
				    .done = done,
				    .argument = argument};
	ahead->list = waiting;
	const uint64_t check = message->kind == INSIDE_DESCRIBE
				       ? session_describe(ahead->options.session, on_described, waiting)
				       : ask(waiting, wish);
	if (check == 0) return 0; /* told, and gone */
	waiting->check = check;
	return ticket;
}

static void on_cancel(void *context, uint64_t ticket) {
	struct ahead *ahead = context;
	struct waiting *waiting = ahead->list;
	while (waiting && waiting->ticket != ticket) waiting = waiting->next;
	if (!waiting) return;
	waiting->done = NULL;
	if (waiting->check == 0) return; /* it is being placed */
	session_cancel(ahead->options.session, waiting->check);
	waiting_take(waiting);
	waiting_free(waiting);
}

/* The door */

static bool on_caller(void *context, pid_t process, char **ret_process, struct strings *ret_parents) {
	const struct ahead *ahead = context;
	if (!process_is_in(process, ahead->options.init)) return false;
	process_describe(NULL, process, ahead->options.init, ret_process, ret_parents);
	return true;
}

struct ahead *ahead_new(const struct ahead_options *options) {
	struct ahead *ahead = mem_new(struct ahead);
	*ahead = (struct ahead){.options = *options, .listener = -1};
	return ahead;
}

static void on_listener(void *argument, int code, const char *text, int *fds, size_t fd_count) {
	struct ahead *ahead = argument;
	(void)text; /* portal_wait has it */
	if (code == 0 && fd_count == 1) ahead->listener = fds[0];
}

void ahead_open(struct ahead *ahead, struct portal *portal) {
	portal_listen_path(portal, INSIDE_DOOR, SOCK_SEQPACKET, on_listener, ahead);
}

int ahead_begin(struct ahead *ahead, struct live *live, struct error *error) {
	const struct inside_door_options options = {.base = ahead->options.base,
						    .caller = on_caller,
						    .serve = on_serve,
						    .cancel = on_cancel,
						    .context = ahead};
	ahead->live = live;
	return inside_door_new(fd_steal(&ahead->listener), &options, &ahead->door, error);
}

void ahead_free(struct ahead *ahead) {
	if (!ahead) return;
	inside_door_free(ahead->door); /* calls off what waits */
	for (struct waiting *waiting = ahead->list, *next; waiting; waiting = next) {
		next = waiting->next;
		waiting_free(waiting);
	}
	fd_close(ahead->listener);
	free(ahead);
}
