#include "held_broker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/log.h"
#include "base/path.h"
#include "base/string.h"
#include "calls/call.h"
#include "calls/process.h"
#include "schema/home.h"
#include "schema/limits.h"
#include "walking.h"

static bool is_own(const struct held_broker *broker, const char *folder) {
	const struct mount *mount = plan_at(live_plan(broker->live), folder);
	if (mount) return mount->kind == MOUNT_FRESH || mount->kind == MOUNT_OWN;
	return broker->scene->own_home && home_has_folder(broker->scene->home, folder);
}

/* Of the sandbox's own folders ($HOME) the time of the last listing is known, of one that lasts that of the first
 * (homes_unread); above one there is nothing of the curtain's to walk through, which would wait for us. */
static bool on_listed(void *context, const char *folder, int64_t within_ms) {
	const struct held_broker *broker = context;
	struct stat status;
	struct timespec now;
	CLEANUP_FREE char *path = string_format("/proc/%d/root%s", broker->init, folder);
	if (!is_own(broker, folder) || fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0)
		return false;
	const struct timespec listed = status.st_atim;
	const int64_t age_ms = (now.tv_sec - listed.tv_sec) * 1000 + (now.tv_nsec - listed.tv_nsec) / 1000000;
	return S_ISDIR(status.st_mode) && age_ms <= within_ms;
}

/* By which rules know it; of a program with several such names the one that the call has, or the command. */
static char *name_of(const struct held_broker *broker, pid_t thread, const struct need *need) {
	CLEANUP_FREE char *used = NULL, *started = NULL;
	if (need->permission == PERMISSION_PROC_SPAWN && thread > 0) started = call_started(broker->promptly, thread);
	if (started) used = live_resolve(broker->live, started, false);
	return live_name(broker->live, need, used ? used : broker->scene->command.path);
}

/* What git's files name is not in the view: no rule speaks of it. */
static bool is_masked(const struct held_broker *broker, const struct need *need) {
	const struct strings *protect = &broker->scene->finds.protect;
	return need->permission == PERMISSION_FS_WRITE &&
	       path_is_below_any(need->path, (const char *const *)protect->items, protect->count);
}

static uint64_t on_check(void *context, pid_t thread, const struct need *need,
			 void (*done)(void *argument, const struct verdict *verdict), void *argument) {
	struct held_broker *broker = context;
	CLEANUP_FREE char *process = NULL, *walk = NULL, *path = name_of(broker, thread, need);
	CLEANUP_STRINGS struct strings parents = {0};
	process_describe(NULL, thread, broker->init, &process, &parents);
	const struct walking_world world = {.promptly = broker->promptly, .context = broker, .listed = on_listed};
	if (need->permission == PERMISSION_FS_READ) walk = walking_tree(thread, need->path, &world);
	const bool linked = need->permission == PERMISSION_PROC_SPAWN && !string_equal(path, need->path);
	struct need named = *need;
	named.path = path;
	const struct session_call call = {.need = &named,
					  .process = process,
					  .parents = &parents,
					  .masked = is_masked(broker, need),
					  .walk = walk,
					  .name = linked ? need->path : need->name};
	return session_check_call(broker->session, &call, done, argument);
}

static char *on_name(void *context, pid_t thread, const struct need *need) {
	const struct held_broker *broker = context;
	return need->by_folder ? call_name_in(broker->promptly, thread, need->path) : NULL;
}

static void on_cancel(void *context, uint64_t check) {
	struct held_broker *broker = context;
	session_cancel(broker->session, check);
}

static bool on_give(void *context, const struct need *need) {
	struct held_broker *broker = context;
	const bool known = given_add(&broker->scene->finds.given, need->path);
	if (known)
		live_judge_again(broker->live, false);
	else if (!broker->full)
		log_warning("more than %d files were opened by grants of patterns: grant the folders that they are in",
			    LIMIT_GIVEN);
	broker->full |= !known;
	return known;
}

/* A folder that many programs share is one of the sandbox's home, with a node for each name that the user's has: many
 * users have hundreds, so it is one node until somebody looks into it. */
static bool on_unfolds(void *context, const struct need *need) {
	struct held_broker *broker = context;
	const struct scene *scene = broker->scene;
	for (size_t i = HOME_FOLDER_COUNT; scene->own_home && i-- > 1;) { /* what lies in another first */
		CLEANUP_FREE char *folder = string_format("%s%s", scene->home, home_folders[i]);
		if (!path_is_below(need->path, folder)) continue;
		const struct mount *mount = plan_at(live_plan(broker->live), folder);
		if (!mount || mount->kind != MOUNT_CURTAIN) continue;
		if (!ask_nodes_unfold(&broker->scene->nodes, folder)) return false;
		live_refresh_now(broker->live);
		return true;
	}
	return false;
}

static void on_refused(void *context, const struct need *need, const struct verdict *verdict) {
	struct held_broker *broker = context;
	CLEANUP_FREE char *path = name_of(broker, 0, need);
	denied_add(&broker->denied[need->permission], path, verdict);
	if (need->brought) denied_mark_brought(&broker->denied[need->permission], path);
}

void held_broker_answer(struct held_broker *broker, struct held_options *options) {
	options->check = on_check;
	options->cancel = on_cancel;
	options->name = on_name;
	options->give = on_give;
	options->unfolds = on_unfolds;
	options->refused = on_refused;
	options->context = broker;
}
