#include "answers.h"

#include "base/log.h"
#include "base/memory.h"

static struct sight on_sight(void *context, const char *path) {
	const struct answers *answers = context;
	return live_sight(answers->live, path);
}

static uint64_t on_hold(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	const struct answers *answers = context;
	struct need looked_at = *need;
	looked_at.unfolds = need->permission == PERMISSION_FS_READ || need->permission == PERMISSION_FS_WRITE;
	live_once_asked(answers->live, thread, need->path);
	return held_add(answers->held, thread, &looked_at, done, argument);
}

/* What is there once is there for the call that it was allowed to. */
static struct sight on_trap_sight(void *context, const char *path) {
	const struct answers *answers = context;
	CLEANUP_FREE char *resolved = live_resolve(answers->live, path, false); /* past what a link leads to */
	struct sight sight = live_sight(answers->live, resolved);
	bool once = !answers->traps_opens && live_is_once(answers->live, resolved);
	if (once && sight.mode == VIEW_ASK) sight.mode = VIEW_READ;
	sight.ask_write |= once;
	return sight;
}

static const char *on_mask_below(void *context, const char *folder) {
	const struct answers *answers = context;
	return live_mask_below(answers->live, folder);
}

static void on_called(void *context, pid_t thread) {
	const struct answers *answers = context;
	live_once_over(answers->live, thread);
}

static uint64_t on_trap(void *context, pid_t thread, const struct need *need, held_done *done, void *argument) {
	const struct answers *answers = context;
	/* /bin/curl is asked about by the name that a rule and the curtain know */
	const bool last = need->permission == PERMISSION_PROC_SPAWN;
	CLEANUP_FREE char *path = live_resolve(answers->live, need->path, last);
	struct need resolved = *need;
	resolved.path = path;
	uint64_t ticket = held_add(answers->held, thread, &resolved, done, argument);
	held_watch(answers->held, ticket);
	return ticket;
}

static void on_interrupted(void *context, uint64_t ticket) {
	const struct answers *answers = context;
	held_interrupted(answers->held, ticket);
}

static void on_drop(void *context, uint64_t ticket) {
	const struct answers *answers = context;
	held_drop(answers->held, ticket);
}

static bool on_behind(void *context) {
	const struct answers *answers = context;
	/* The order counts: a message is being read until keeper_ended has been called for it. */
	return session_is_reading(answers->session) || withdrawn_is_awaited(answers->withdrawn);
}

static void on_carried_out(void *context, void (*done)(void *argument), void *argument) {
	const struct answers *answers = context;
	withdrawn_when(answers->withdrawn, done, argument);
}

static void on_remake(void *context, void (*done)(void *argument), void *argument) {
	const struct answers *answers = context;
	live_refresh_now(answers->live);
	live_when(answers->live, done, argument);
}

static void on_curtain_ended(void *context) {
	struct answers *answers = context;
	log_warning("the curtain's connection was ended from outside: what is hidden can't be asked for any more");
	curtain_free(answers->curtain);
	answers->curtain = NULL;
}

void answers_for_curtain(struct answers *answers, struct curtain_options *options) {
	options->sight = on_sight;
	options->hold = on_hold;
	options->interrupted = on_interrupted;
	options->drop = on_drop;
	options->ended = on_curtain_ended;
	options->context = answers;
}

void answers_for_traps(struct answers *answers, struct traps_options *options) {
	options->called = on_called;
	options->sight = on_trap_sight;
	options->mask_below = on_mask_below;
	options->hold = on_trap;
	options->drop = on_drop;
	options->clearance = session_clearance(answers->session);
	options->behind = on_behind;
	options->carried_out = on_carried_out;
	options->remake = on_remake;
	options->context = answers;
}

/* In the readers. */
static struct sight glance(void *context, const char *path) {
	CLEANUP_FREE char *resolved = sights_resolve(context, path, false);
	return sights_at(context, resolved);
}

static bool is_plain(void *context, const char *path) {
	return sights_plain(context, path);
}

void answers_show(struct traps *traps, const struct sights *sights) {
	const struct traps_view view = {.seen = glance, .plain = is_plain, .context = (void *)sights};
	traps_see(traps, sights ? &view : NULL);
}
